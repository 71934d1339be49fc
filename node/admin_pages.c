/* admin_pages.c - see admin_pages.h.
 *
 *     GET /api/v1/info      version, pid's socket, folders, memory plan
 *     GET /api/v1/status    the ring as this node sees it, the store, all counts
 *     GET /metrics          the counts for Prometheus
 *     GET /health/live      200 while the loop turns
 *     GET /health/ready     200 when clients are served, else 503 and what it waits for
 *
 * Over TCP the Host must be an address, localhost or the configured name, so that a page in
 * somebody's browser cannot be made to ask us under its own name.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/admin_pages.h"

static void page_text(struct buf *out, int status, const char *text)
{
    http_answer(out, status, "text/plain; charset=utf-8", bytes_text(text));
}

static bool host_is_known(const struct shard *s, const char *host)
{
    struct io_addr ignored;
    char bare[256];
    size_t n = strlen(host);
    if (n >= 2 && host[0] == '[' && host[n - 1] == ']')
        snprintf(bare, sizeof bare, "%.*s", (int)(n - 2), host + 1);
    else
        snprintf(bare, sizeof bare, "%s", host);
    return bare[0] == 0 || strcmp(bare, "localhost") == 0 ||
           strcmp(bare, s->config->admin_address) == 0 || io_addr_parse(bare, 0, &ignored);
}

void admin_socket_path(const struct shard *s, char *out, size_t room)
{
    snprintf(out, room, "%s/rondo.sock", s->config->data_file_directories.items[0]);
}

/* ---- pages ---- */

static void info_memory(const struct shard *s, struct json *j)
{
    const struct memory_plan *p = &s->plan;
    uint64_t n = (uint64_t)io_shards(s->io);
    json_open(j, "memory", '{');
    json_unsigned(j, "limit", p->limit_bytes * n);
    json_unsigned(j, "memtables", p->memtables_bytes * n);
    json_unsigned(j, "chunk_cache", p->chunk_cache_bytes * n);
    json_unsigned(j, "samples", p->samples_bytes * n);
    json_unsigned(j, "requests", p->requests_bytes * n);
    json_unsigned(j, "connections", p->connections_bytes * n);
    json_unsigned(j, "prepared", p->prepared_bytes * n);
    json_unsigned(j, "peers", p->peers_bytes * n);
    json_unsigned(j, "compaction", p->compaction_bytes * n);
    json_unsigned(j, "not_planned", p->unplanned_bytes * n);
    json_close(j);
}

static void page_info(struct shard *s, const struct counts *counts, struct buf *body)
{
    struct json j = json_into(body);
    char socket[512];
    (void)counts;
    admin_socket_path(s, socket, sizeof socket);
    json_open(&j, NULL, '{');
    json_text(&j, "version", RONDO_VERSION);
    json_text(&j, "release", RONDO_RELEASE);
    if (s->process->pid)
        json_number(&j, "pid", s->process->pid);
    json_text(&j, "cluster", s->config->cluster_name);
    json_text(&j, "socket", socket);
    json_text(&j, "data", s->config->data_file_directories.items[0]);
    json_text(&j, "commitlog", s->config->commitlog_directory);
    json_number(&j, "shards", io_shards(s->io));
    json_number(&j, "uptime_seconds", (io_wall(s->io) - s->started_wall_us) / 1000000);
    info_memory(s, &j);
    json_close(&j);
}

static void status_node(struct shard *s, const struct node *n, struct json *j)
{
    char text[UUID_TEXT_BYTES], address[IO_ADDR_TEXT_BYTES];
    const struct ring *ring = cluster_ring(s->cluster);
    uint64_t tokens = 0;
    for (size_t i = 0; i < ring->tokens_count; i++)
        tokens += ring->tokens[i].node == n->number;
    json_open(j, NULL, '{');
    json_unsigned(j, "node", n->number);
    uuid_print(&n->host_id, text);
    json_text(j, "host_id", text);
    io_addr_print(&n->internode, address);
    json_text(j, "address", address);
    io_addr_print(&n->native, address);
    json_text(j, "native", address);
    struct io_addr admin = n->native; /* nodes keep the same admin_port beside their CQL port */
    admin.port = (uint16_t)s->config->admin_port;
    io_addr_print(n->number == cluster_self(s->cluster) ? &s->process->admin : &admin, address);
    json_text(j, "admin", admin.port ? address : NULL);
    json_text(j, "data_center", n->data_center);
    json_text(j, "rack", n->rack);
    json_unsigned(j, "tokens", tokens);
    json_double(j, "ownership", ring_ownership(ring, n->number));
    json_bool(j, "up", cluster_is_up(s->cluster, n->number));
    json_close(j);
}

static void status_store(struct shard *s, const struct counts *c, struct json *j)
{
    static const char *const modes[] = { [CONFIG_SYNC_GROUP] = "group",
                                         [CONFIG_SYNC_BATCH] = "batch",
                                         [CONFIG_SYNC_PERIODIC] = "periodic" };
    json_open(j, "store", '{');
    json_unsigned(j, "memtable_bytes", c->values[COUNT_memtable_bytes]);
    json_unsigned(j, "memtable_bytes_max", c->values[COUNT_memtable_bytes_max]);
    json_unsigned(j, "commitlog_bytes", c->values[COUNT_commitlog_bytes]);
    json_unsigned(j, "partitions", c->values[COUNT_partitions]);
    json_text(j, "refusal", s->store ? store_refusal(s->store) : "not open yet");
    json_text(j, "commitlog_sync", modes[s->config->commitlog_sync]);
    json_close(j);
}

static void page_status(struct shard *s, const struct counts *counts, struct buf *body)
{
    struct json j = json_into(body);
    const struct ring *ring = cluster_ring(s->cluster);
    char id[UUID_TEXT_BYTES];
    json_open(&j, NULL, '{');
    json_text(&j, "cluster", s->config->cluster_name);
    uuid_print(&ring->cluster_id, id);
    json_text(&j, "cluster_id", id);
    json_unsigned(&j, "epoch", cluster_epoch(s->cluster));
    uuid_print(&s->catalog.version, id);
    json_text(&j, "schema_version", id);
    json_unsigned(&j, "node", cluster_self(s->cluster));
    json_text(&j, "release", RONDO_RELEASE);
    json_text(&j, "version", RONDO_VERSION);
    json_open(&j, "nodes", '[');
    for (size_t i = 0; i < ring->nodes_count; i++)
        status_node(s, &ring->nodes[i], &j);
    json_close(&j);
    status_store(s, counts, &j);
    json_open(&j, "counts", '{');
    counts_json(counts, &j);
    json_close(&j);
    json_close(&j);
}

static void page_metrics(struct shard *s, const struct counts *counts, struct buf *body)
{
    (void)s;
    counts_metrics(counts, body);
}

static const struct {
    const char *path, *type;
    void (*write)(struct shard *, const struct counts *, struct buf *body);
} pages[] = {
    { "/api/v1/info", "application/json", page_info },
    { "/api/v1/status", "application/json", page_status },
    { "/metrics", "text/plain; version=0.0.4; charset=utf-8", page_metrics },
};

static void page_ready(struct shard *s, struct buf *out)
{
    const char *refusal = s->store ? store_refusal(s->store) : NULL;
    if (!s->is_serving)
        page_text(out, 503, "not serving clients yet\n");
    else if (refusal)
        page_text(out, 200, "serving; writes are refused, see /api/v1/status\n");
    else
        page_text(out, 200, "serving\n");
}

void admin_page(struct shard *s, const struct http_request *r, bool is_tcp,
                const struct counts *counts, struct buf *out)
{
    struct arena arena = { 0 };
    struct buf body = buf_in(&arena);
    bool is_get = strcmp(r->method, "GET") == 0;
    size_t i = 0;
    while (i < array_count(pages) && strcmp(pages[i].path, r->path) != 0)
        i++;
    if (is_tcp && (!host_is_known(s, r->host) || (r->has_origin && !is_get))) {
        page_text(out, 403, "ask by address: this Host or Origin is not known here\n");
    } else if (!is_get) {
        page_text(out, is_tcp ? 403 : 405,
                  is_tcp ? "only reading is open over TCP\n" : "operations are not there yet\n");
    } else if (strcmp(r->path, "/health/live") == 0) {
        page_text(out, 200, "alive\n");
    } else if (strcmp(r->path, "/health/ready") == 0) {
        page_ready(s, out);
    } else if (i == array_count(pages)) {
        page_text(out, 404,
                  "no such page; there are /api/v1/info, /api/v1/status, /metrics, "
                  "/health/live, /health/ready\n");
    } else {
        pages[i].write(s, counts, &body);
        http_answer(out, 200, pages[i].type, buf_bytes(&body));
    }
    arena_deinit(&arena);
}

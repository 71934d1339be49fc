/* admin_pages.c - see admin_pages.h.
 *
 *     GET /api/v1/info      version, pid's socket, folders, memory plan
 *     GET /api/v1/status    the ring as this node sees it, the store, all counts
 *     GET /api/v1/gossip    what this node has heard of every node
 *     GET /api/v1/ops       operations that run or have ended; /api/v1/ops/<id>: one
 *     POST /api/v1/ops/<verb>   begins one (operation.h); over the Unix socket alone
 *     GET /api/v1/tables    what there is of every table; tables/<keyspace>, .../<table>
 *     GET /api/v1/writes    where the mutations are that were sent, target by target; what is owed
 *     GET /api/v1/snapshots all snapshots on disk
 *     GET /api/v1/compactions   what runs, what is due on each level and why; .../history: what ran
 *     GET /api/v1/divergence    for how long writes may be missing on a replica, and why
 *     GET /api/v1/hints     what is kept for nodes that missed it, by target and table
 *     GET /metrics          the counts for Prometheus
 *     GET /health/live      200 while the loop turns
 *     GET /health/ready     200 when clients are served, else 503 and what it waits for
 *
 * Over TCP the Host must be an address, localhost or the configured name, so that a page in
 * somebody's browser cannot be made to ask us under its own name.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/admin_pages.h"

#include "node/compactions.h"
#include "node/divergence.h"
#include "node/gossip_view.h"
#include "node/hinting.h"
#include "node/owing.h"
#include "node/snapshot.h"
#include "node/tables.h"

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

/* ---- what every shard says ---- */

struct said {
    struct counts counts;
    const char *refusal; /* why writes would be refused; NULL: they would not */
    const char **damages;
    size_t damages_count;
};

static void ask_counts(struct errand *e)
{
    struct said *said = arena_new(&e->arena, struct said);
    struct shard *s = e->shard;
    e->result = said;
    counts_take(s, &said->counts);
    if (!s->store)
        return;
    const char *refusal = store_refusal(s->store);
    said->refusal = refusal ? arena_text(&e->arena, bytes_text(refusal)) : NULL;
    said->damages_count = store_damages(s->store, &e->arena, &said->damages);
}

static const struct errand_kind errand_counts = { .begin = ask_counts };

static const struct said *said_of(const struct errands *errands, int shard)
{
    return errands->each[shard].result;
}

static void counts_sum(const struct errands *errands, struct counts *sum)
{
    *sum = said_of(errands, 0)->counts;
    for (int i = 1; i < errands->count; i++)
        counts_add(sum, &said_of(errands, i)->counts);
}

static const char *first_refusal(const struct shard *s, const struct errands *errands)
{
    const char *refusal = s->store ? NULL : "not open yet";
    for (int i = 0; i < errands->count && !refusal; i++)
        refusal = said_of(errands, i)->refusal;
    return refusal;
}

/* ---- pages ---- */

/* Beside their filters. */
static uint64_t used_by_samples(const struct counts *c)
{
    return c->values[COUNT_sample_bytes] + c->values[COUNT_file_bytes];
}

static uint64_t used_by_files(const struct counts *c)
{
    return c->values[COUNT_filter_bytes] + used_by_samples(c);
}

/* Of disjoint parts. */
static void info_used(const struct counts *c, struct json *j)
{
    json_open(j, "memory_used", '{');
    json_unsigned(j, "memtables", c->values[COUNT_memtable_bytes]);
    json_unsigned(j, "chunk_cache", c->values[COUNT_chunk_cache_bytes]);
    json_unsigned(j, "filters", c->values[COUNT_filter_bytes]);
    json_unsigned(j, "samples", used_by_samples(c));
    json_unsigned(j, "requests", c->values[COUNT_request_bytes]);
    json_unsigned(j, "connections", c->values[COUNT_connection_bytes]);
    json_unsigned(j, "prepared", c->values[COUNT_prepared_bytes]);
    json_unsigned(j, "peers", c->values[COUNT_peer_bytes]);
    json_close(j);
}

static void info_memory(const struct shard *s, struct json *j)
{
    const struct memory_plan *p = &s->plan;
    uint64_t n = (uint64_t)io_shards(s->io);
    json_open(j, "memory", '{');
    json_unsigned(j, "limit", p->limit_bytes * n);
    json_unsigned(j, "memtables", p->memtables_bytes * n);
    json_unsigned(j, "chunk_cache", p->chunk_cache_bytes * n);
    json_unsigned(j, "filters_and_samples", p->samples_bytes * n);
    json_unsigned(j, "requests", p->requests_bytes * n);
    json_unsigned(j, "connections", p->connections_bytes * n);
    json_unsigned(j, "prepared", p->prepared_bytes * n);
    json_unsigned(j, "peers", p->peers_bytes * n);
    json_unsigned(j, "compaction", p->compaction_bytes * n);
    json_unsigned(j, "not_planned", p->unplanned_bytes * n);
    json_close(j);
}

/* Whole, for who asks from another folder. */
static void json_path(const struct shard *s, struct json *j, const char *name, const char *path)
{
    char whole[1024];
    bool is_relative = path[0] != '/' && s->process->folder;
    snprintf(whole, sizeof whole, "%s%s%s", is_relative ? s->process->folder : "",
             is_relative ? "/" : "", path);
    json_text(j, name, whole);
}

static void page_info(struct shard *s, const struct errands *errands, struct buf *body)
{
    struct json j = json_into(body);
    char socket[512];
    struct counts counts;
    counts_sum(errands, &counts);
    admin_socket_path(s, socket, sizeof socket);
    json_open(&j, NULL, '{');
    json_text(&j, "version", RONDO_VERSION);
    json_text(&j, "release", RONDO_RELEASE);
    if (s->process->pid)
        json_number(&j, "pid", s->process->pid);
    json_text(&j, "cluster", s->config->cluster_name);
    json_path(s, &j, "socket", socket);
    json_path(s, &j, "data", s->config->data_file_directories.items[0]);
    json_path(s, &j, "commitlog", s->config->commitlog_directory);
    json_number(&j, "shards", io_shards(s->io));
    json_number(&j, "uptime_seconds", (io_wall(s->io) - s->started_wall_us) / 1000000);
    gossip_clock_json(s, &j);
    info_memory(s, &j);
    info_used(&counts, &j);
    if (used_by_files(&counts) > s->plan.samples_bytes * (uint64_t)io_shards(s->io))
        json_text(&j, "memory_warning",
                  "filters and index samples of open files take more than "
                  "their part of memory_limit");
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
    gossip_node_json(s, n->number, j);
    json_close(j);
}

static void status_store(struct shard *s, const struct errands *errands, const struct counts *c,
                         struct json *j)
{
    static const char *const modes[] = { [CONFIG_SYNC_GROUP] = "group",
                                         [CONFIG_SYNC_BATCH] = "batch",
                                         [CONFIG_SYNC_PERIODIC] = "periodic" };
    json_open(j, "store", '{');
    json_unsigned(j, "memtable_bytes", c->values[COUNT_memtable_bytes]);
    json_unsigned(j, "memtable_bytes_max", c->values[COUNT_memtable_bytes_max]);
    json_unsigned(j, "commitlog_bytes", c->values[COUNT_commitlog_bytes]);
    json_unsigned(j, "partitions", c->values[COUNT_partitions]);
    json_unsigned(j, "flushing_bytes", c->values[COUNT_flushing_bytes]);
    json_unsigned(j, "sstables", c->values[COUNT_sstables]);
    json_unsigned(j, "sstable_bytes", c->values[COUNT_sstable_bytes]);
    json_text(j, "refusal", first_refusal(s, errands));
    json_text(j, "commitlog_sync", modes[s->config->commitlog_sync]);
    json_open(j, "damaged", '[');
    for (int i = 0; i < errands->count; i++)
        for (size_t k = 0; k < said_of(errands, i)->damages_count; k++)
            json_text(j, NULL, said_of(errands, i)->damages[k]);
    json_close(j);
    json_close(j);
}

static void page_status(struct shard *s, const struct errands *errands, struct buf *body)
{
    struct counts counts;
    struct json j = json_into(body);
    const struct ring *ring = cluster_ring(s->cluster);
    char id[UUID_TEXT_BYTES];
    counts_sum(errands, &counts);
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
    gossip_clock_json(s, &j);
    json_open(&j, "nodes", '[');
    for (size_t i = 0; i < ring->nodes_count; i++)
        status_node(s, &ring->nodes[i], &j);
    json_close(&j);
    status_store(s, errands, &counts, &j);
    json_open(&j, "counts", '{');
    counts_json(&counts, &j);
    json_close(&j);
    json_close(&j);
}

static void page_metrics(struct shard *s, const struct errands *errands, struct buf *body)
{
    struct counts counts;
    (void)s;
    counts_sum(errands, &counts);
    counts_metrics(&counts, body);
}

static void page_snapshots(struct shard *s, const struct errands *errands, struct buf *body)
{
    (void)s;
    snapshots_json(errands->each[0].result, body);
}

static bool all_told(const struct errands *errands)
{
    struct report failed;
    return errands_result(errands, &failed) == OK;
}

static void page_compactions(struct shard *s, const struct errands *errands, struct buf *body)
{
    if (all_told(errands))
        compactions_json(s, errands, body);
}

static void page_history(struct shard *s, const struct errands *errands, struct buf *body)
{
    (void)s;
    if (all_told(errands))
        compaction_history_json(errands, body);
}

static void page_writes(struct shard *s, const struct errands *errands, struct buf *body)
{
    if (all_told(errands))
        owing_json(s, errands, body);
}

static void page_hints(struct shard *s, const struct errands *errands, struct buf *body)
{
    hinting_json(s, errands, body);
}

static void page_divergence(struct shard *s, const struct errands *errands, struct buf *body)
{
    if (all_told(errands))
        divergence_json(s, errands, body);
}

static const struct page { /* nothing written: a shard cannot tell */
    const char *path, *type;
    const struct errand_kind *asks;
    void (*write)(struct shard *, const struct errands *, struct buf *body);
} pages[] = {
    { "/api/v1/info", "application/json", &errand_counts, page_info },
    { "/api/v1/status", "application/json", &errand_counts, page_status },
    { "/api/v1/writes", "application/json", &errand_missing, page_writes },
    { "/api/v1/gossip", "application/json", &errand_gossip, gossip_json },
    { "/api/v1/hints", "application/json", &errand_missing, page_hints },
    { "/api/v1/divergence", "application/json", &errand_missing, page_divergence },
    { "/api/v1/snapshots", "application/json", &errand_snapshots, page_snapshots },
    { "/api/v1/compactions", "application/json", &errand_compactions, page_compactions },
    { "/api/v1/compactions/history", "application/json", &errand_compaction_history, page_history },
    { "/metrics", "text/plain; version=0.0.4; charset=utf-8", &errand_counts, page_metrics },
};

static const struct page *page_find(const char *path)
{
    for (size_t i = 0; i < array_count(pages); i++)
        if (strcmp(pages[i].path, path) == 0)
            return &pages[i];
    return NULL;
}

/* "/api/v1/ops" with the prefix "/api/v1/ops": ""; with more behind a slash: that; else NULL. */
static const char *path_rest(const char *path, const char *prefix)
{
    size_t n = strlen(prefix);
    if (strncmp(path, prefix, n) != 0 || (path[n] && path[n] != '/'))
        return NULL;
    return path[n] ? path + n + 1 : path + n;
}

static const char tables_path[] = "/api/v1/tables", ops_path[] = "/api/v1/ops";

/* `rest`: "", "keyspace", "keyspace/table". */
static void page_tables(const struct admin_question *q, const char *rest, struct buf *out)
{
    struct arena arena = { 0 };
    struct buf body = buf_in(&arena);
    size_t n = strcspn(rest, "/");
    const char *keyspace = n ? arena_text(&arena, bytes_of((const uint8_t *)rest, n)) : NULL;
    const char *table = rest[n] ? rest + n + 1 : NULL;
    if (!all_told(q->errands))
        page_text(out, 503, "a shard cannot tell now\n");
    else if (!tables_json(q->shard, q->errands, keyspace, table, &body))
        page_text(out, 404, "there is no such table\n");
    else
        http_answer(out, 200, "application/json", buf_bytes(&body));
    arena_deinit(&arena);
}

/* ---- who may ask what ---- */

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

static void page_post(const struct admin_question *q, struct buf *out)
{
    const char *word = path_rest(q->request->path, ops_path);
    if (q->is_tcp)
        page_text(out, 403,
                  "only reading is open over TCP; operations are for the socket in the data "
                  "folder, which /api/v1/info names\n");
    else if (strcmp(q->request->method, "POST") != 0 || !word)
        page_text(out, 405, "only POST /api/v1/ops/<verb> does something\n");
    else
        operations_post(q->operations, word, buf_bytes(&q->request->body), out);
}

static void page_get(const struct admin_question *q, struct buf *out)
{
    const char *path = q->request->path;
    const char *word = path_rest(path, ops_path), *tables = path_rest(path, tables_path);
    const struct page *page = page_find(path);
    struct buf body = { 0 };
    if (strcmp(path, "/health/live") == 0) {
        page_text(out, 200, "alive\n");
    } else if (strcmp(path, "/health/ready") == 0) {
        page_ready(q->shard, out);
    } else if (word) {
        operations_get(q->operations, word, out);
    } else if (tables) {
        page_tables(q, tables, out);
    } else if (!page) {
        page_text(out, 404,
                  "no such page; there are /api/v1/info, /api/v1/status, /api/v1/ops, "
                  "/api/v1/gossip, /api/v1/writes, /api/v1/divergence, "
                  "/api/v1/hints, "
                  "/api/v1/tables, /api/v1/compactions, /api/v1/compactions/history, "
                  "/api/v1/snapshots, /metrics, "
                  "/health/live, /health/ready\n");
    } else {
        page->write(q->shard, q->errands, &body);
        if (body.size)
            http_answer(out, 200, page->type, buf_bytes(&body));
        else
            page_text(out, 503, "a shard cannot tell now\n");
    }
    buf_deinit(&body);
}

static bool is_get(const struct admin_question *q)
{
    return strcmp(q->request->method, "GET") == 0;
}

static bool is_stranger(const struct admin_question *q)
{
    const struct http_request *r = q->request;
    return q->is_tcp && (!host_is_known(q->shard, r->host) || (r->has_origin && !is_get(q)));
}

const struct errand_kind *admin_page_asks(const struct admin_question *q)
{
    const struct page *page = page_find(q->request->path);
    if (!is_get(q) || is_stranger(q))
        return NULL;
    if (path_rest(q->request->path, tables_path))
        return &errand_tables;
    return page ? page->asks : NULL;
}

void admin_page(const struct admin_question *q, struct buf *out)
{
    if (is_stranger(q))
        page_text(out, 403, "ask by address: this Host or Origin is not known here\n");
    else if (is_get(q))
        page_get(q, out);
    else
        page_post(q, out);
}

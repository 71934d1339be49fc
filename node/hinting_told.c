/* hinting_told.c - what a node tells of its hints: GET /api/v1/hints, which `rondo hints` prints,
 * and system_views.pending_hints (Cassandra 5's columns).
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/hinting.h"
#include "node/system_make.h"

/* ---- the page ---- */

static void json_node(const struct shard *s, struct json *j, const char *name, unsigned number,
                      const struct uuid *host_id)
{
    char text[IO_ADDR_TEXT_BYTES + UUID_TEXT_BYTES];
    if (number)
        io_addr_print(&cluster_ring(s->cluster)->nodes[number - 1].native, text);
    else
        uuid_print(host_id, text);
    json_text(j, name, text);
}

/* "keyspace.table"; the id of one that has gone; "?" for hints that cannot be read any more. */
static void json_table(struct shard *s, struct json *j, const struct uuid *id)
{
    const struct table *t = catalog_table_by_id(&s->catalog, id);
    char text[256];
    if (t)
        snprintf(text, sizeof text, "%s.%s", t->keyspace, t->name);
    else if (uuid_is_zero(id))
        snprintf(text, sizeof text, "?");
    else
        uuid_print(id, text);
    json_text(j, "table", text);
}

static void json_book(struct shard *s, struct json *j, const struct hint_book *b)
{
    const struct ring *ring = cluster_ring(s->cluster);
    unsigned self = cluster_self(s->cluster);
    json_open(j, NULL, '{');
    json_node(s, j, "node", self, &ring->nodes[self - 1].host_id);
    json_node(s, j, "target", b->target, &b->host_id);
    json_table(s, j, &b->table);
    json_unsigned(j, "written", b->written);
    json_unsigned(j, "delivered", b->delivered);
    json_unsigned(j, "pending", b->pending);
    json_unsigned(j, "expired", b->expired);
    json_open(j, "dropped", '{');
    for (size_t i = 0; i < HINT_DROPS_COUNT; i++)
        if (b->dropped[i])
            json_unsigned(j, hint_drop_text((enum hint_drop)i), b->dropped[i]);
    json_close(j);
    json_number(j, "oldest_us", b->oldest_us);
    json_close(j);
}

void hinting_json(struct shard *s, const struct errands *errands, struct buf *body)
{
    struct arena arena = { 0 };
    struct json j = json_into(body);
    const struct hints_counts *first = &missing_of(errands, 0)->hints;
    struct missing_hints books = missing_hints(errands, &arena);
    uint64_t bytes = 0, rate = 0, refused = 0;
    for (int i = 0; i < errands->count; i++) {
        const struct hints_counts *c = &missing_of(errands, i)->hints;
        bytes += c->bytes;
        refused += c->refused;
        rate += c->bytes_per_second;
    }
    json_open(&j, NULL, '{');
    json_text(&j, "handoff", !first->is_kept ? "off" : first->is_on ? "running" : "paused");
    json_unsigned(&j, "bytes", bytes);
    json_unsigned(&j, "refused", refused);
    json_unsigned(&j, "bytes_per_second", rate); /* to one target; 0: no limit */
    json_open(&j, "targets", '[');
    for (size_t i = 0; i < books.count; i++)
        json_book(s, &j, &books.list[i]);
    json_close(&j);
    json_close(&j);
    arena_deinit(&arena);
}

/* ---- the system table ---- */

/* All tables of one target. */
static struct hint_book target_sum(const struct missing_hints *books, const struct uuid *host_id)
{
    struct hint_book all = { 0 };
    for (size_t i = 0; i < books->count; i++)
        if (uuid_equal(&books->list[i].host_id, host_id)) {
            uint64_t files = u64_max(all.files, books->list[i].files);
            missing_add_book(&all, &books->list[i]);
            all.files = files;
        }
    return all;
}

/* A row for each member that something is pending for. */
void make_pending_hints(struct shard *s, struct system_rows *r)
{
    const struct ring *ring = cluster_ring(s->cluster);
    struct arena arena = { 0 };
    struct missing_hints books = missing_hints(r->said, &arena);
    for (size_t i = 0; i < ring->nodes_count; i++) {
        const struct node *n = &ring->nodes[i];
        struct hint_book all = target_sum(&books, &n->host_id);
        if (all.pending == 0)
            continue;
        rows_begin(r);
        rows_uuid(r, "host_id", &n->host_id);
        rows_inet(r, "address", &n->internode);
        rows_text(r, "dc", n->data_center);
        rows_int(r, "files", (int32_t)all.files);
        rows_bigint(r, "newest", all.newest_us / 1000);
        rows_bigint(r, "oldest", all.oldest_us / 1000);
        rows_int(r, "port", n->internode.port);
        rows_text(r, "rack", n->rack);
        rows_text(r, "status", cluster_is_up(s->cluster, n->number) ? "UP" : "DOWN");
        rows_end(r);
    }
    arena_deinit(&arena);
}

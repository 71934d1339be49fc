/* hinting_told.c - what a node tells of its hints: GET /api/v1/hints, which `rondo hints` prints,
 * and system_views.pending_hints (Cassandra 5's columns).
 *
 *     each shard: its books ──home──> added up by target and table
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "node/hinting.h"
#include "node/system_make.h"

struct hinting_told { /* by one shard */
    struct hints_counts counts;
    size_t count, room;
    struct hint_book *books;
    struct arena *arena;
};

/* ---- on each shard ---- */

static void told_add(void *context, const struct hint_book *book)
{
    struct hinting_told *t = context;
    if (t->count == t->room) {
        struct hint_book *more = arena_array(t->arena, struct hint_book, 2 * t->room + 8);
        if (t->count)
            memcpy(more, t->books, t->count * sizeof *more);
        t->books = more;
        t->room = 2 * t->room + 8;
    }
    t->books[t->count++] = *book;
}

static void told_begin(struct errand *e)
{
    struct hinting_told *t = arena_new(&e->arena, struct hinting_told);
    t->arena = &e->arena;
    e->result = t;
    if (!e->shard->hints)
        return;
    hints_counts(e->shard->hints, &t->counts);
    hints_each(e->shard->hints, told_add, t);
}

const struct errand_kind errand_hints = { .begin = told_begin };

static const struct hinting_told *told_of(const struct errands *errands, int shard)
{
    return errands->each[shard].result;
}

/* ---- added up ---- */

struct sums {
    struct map by_key; /* target and table: the first 32 bytes of a sum */
    struct arena arena;
    size_t count;
    struct hint_sum {
        struct uuid host_id, table;
        struct hint_book book;
    } * *sums; /* in the order in which they were met */
};

static void book_sum(struct hint_book *into, const struct hint_book *b)
{
    into->written += b->written;
    into->delivered += b->delivered;
    into->pending += b->pending;
    into->expired += b->expired;
    into->files += b->files;
    for (size_t i = 0; i < HINT_DROPS_COUNT; i++)
        into->dropped[i] += b->dropped[i];
    if (b->oldest_us && (!into->oldest_us || b->oldest_us < into->oldest_us))
        into->oldest_us = b->oldest_us;
    if (b->newest_us > into->newest_us)
        into->newest_us = b->newest_us;
}

static void sums_take(struct sums *s, const struct hint_book *b)
{
    struct hint_sum key = { .host_id = b->host_id, .table = b->table };
    struct hint_sum *sum = map_get(&s->by_key, bytes_of(&key, 2 * sizeof(struct uuid)));
    if (!sum) {
        sum = arena_new(&s->arena, struct hint_sum);
        *sum = key;
        sum->book.target = b->target;
        map_put(&s->by_key, bytes_of(sum, 2 * sizeof(struct uuid)), sum);
        s->sums[s->count++] = sum;
    }
    book_sum(&sum->book, b);
}

static void sums_make(struct sums *s, const struct errands *errands)
{
    size_t most = 1;
    *s = (struct sums){ 0 };
    for (int i = 0; i < errands->count; i++)
        most += told_of(errands, i)->count;
    s->sums = arena_alloc(&s->arena, most * sizeof(struct hint_sum *));
    for (int i = 0; i < errands->count; i++)
        for (size_t k = 0; k < told_of(errands, i)->count; k++)
            sums_take(s, &told_of(errands, i)->books[k]);
}

static void sums_free(struct sums *s)
{
    map_deinit(&s->by_key);
    arena_deinit(&s->arena);
}

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

static void json_sum(struct shard *s, struct json *j, const struct hint_sum *sum)
{
    const struct hint_book *b = &sum->book;
    const struct ring *ring = cluster_ring(s->cluster);
    unsigned self = cluster_self(s->cluster);
    json_open(j, NULL, '{');
    json_node(s, j, "node", self, &ring->nodes[self - 1].host_id);
    json_node(s, j, "target", b->target, &sum->host_id);
    json_table(s, j, &sum->table);
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
    struct sums sums;
    struct json j = json_into(body);
    const struct hints_counts *first = &told_of(errands, 0)->counts;
    uint64_t bytes = 0, rate = 0, refused = 0;
    sums_make(&sums, errands);
    for (int i = 0; i < errands->count; i++) {
        bytes += told_of(errands, i)->counts.bytes;
        refused += told_of(errands, i)->counts.refused;
        rate += told_of(errands, i)->counts.bytes_per_second;
    }
    json_open(&j, NULL, '{');
    json_text(&j, "handoff", !first->is_kept ? "off" : first->is_on ? "running" : "paused");
    json_unsigned(&j, "bytes", bytes);
    json_unsigned(&j, "refused", refused);
    json_unsigned(&j, "bytes_per_second", rate); /* to one target; 0: no limit */
    json_open(&j, "targets", '[');
    for (size_t i = 0; i < sums.count; i++)
        json_sum(s, &j, sums.sums[i]);
    json_close(&j);
    json_close(&j);
    sums_free(&sums);
}

/* ---- the system table ---- */

/* All tables of one target. */
static struct hint_book target_sum(const struct sums *sums, const struct uuid *host_id)
{
    struct hint_book all = { 0 };
    for (size_t i = 0; i < sums->count; i++)
        if (uuid_equal(&sums->sums[i]->host_id, host_id)) {
            uint64_t files = u64_max(all.files, sums->sums[i]->book.files);
            book_sum(&all, &sums->sums[i]->book);
            all.files = files;
        }
    return all;
}

/* A row for each member that something is pending for. */
void make_pending_hints(struct shard *s, struct system_rows *r)
{
    const struct ring *ring = cluster_ring(s->cluster);
    struct sums sums;
    sums_make(&sums, r->said);
    for (size_t i = 0; i < ring->nodes_count; i++) {
        const struct node *n = &ring->nodes[i];
        struct hint_book all = target_sum(&sums, &n->host_id);
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
    sums_free(&sums);
}

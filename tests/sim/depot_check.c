/* depot_check.c - see depot.h: what must be so, row by row and file by file.
 *
 * A file is known when it is
 *   - a segment or a spare of a shard's commit log: together they have the bytes that the log says
 *   - a component of an SSTable that some shard has open, or a floor of a table
 *   - in a snapshot that may be there; and that one has every file which its manifest and the TOCs
 *     name, and the Data.db that their Digests tell
 *   - in the folder of a table that was dropped, and the start has said so
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/mem.h"
#include "store/folder.h"
#include "tests/sim/depot.h"

#include <stdlib.h>

/* ---- rows ---- */

struct look {
    struct read_sink sink;
    struct depot *depot;
    int table;
    uint32_t partition;
};

static void look_partition(struct read_sink *sink, struct bytes key, int64_t token,
                           struct deletion deletion)
{
    struct look *look = owner_of(sink, struct look, sink);
    look->partition = get_be32(key.data);
    if (!deletion_is_none(deletion) || token != key_token(key))
        depot_fail(look->depot, "table %s has a deletion that nobody wrote",
                   depot_table_name(look->table));
}

static void look_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    const struct look *look = owner_of(sink, struct look, sink);
    struct depot *d = look->depot;
    uint32_t i = get_be32(row_clustering(row, 0).data);
    uint32_t n = get_be32(row_clustering(row, 1).data);
    struct depot_mutation *x = &d->mutations[i];
    bool is_known = i < (uint32_t)d->tried && x->table == look->table &&
                    x->partition == look->partition && n < depot_rows_of((int)i);
    if (is_known && !is_live && x->is_deleted)
        return;
    is_known &= is_live && row->cells_count == (x->is_wide ? 2u : 1u) &&
                bytes_equal(row->cells[0].value, depot_value_of((int)i)) &&
                (!x->is_wide || get_be32(row->cells[1].value.data) == i);
    if (!is_known)
        depot_fail(d, "table %s has a row (%u, %u) that nobody wrote so",
                   depot_table_name(look->table), i, n);
    x->seen++;
}

static enum err look_at(struct depot_shard *s, int table)
{
    struct depot *d = s->depot;
    struct look look = { { look_partition, look_row, read_ignore_range }, d, table, 0 };
    struct read_outcome outcome = { 0 };
    struct uuid id = uuid_named(bytes_text(depot_table_name(table)));
    struct read read = { .table = id, .is_range = true, .after = INT64_MIN, .upto = INT64_MAX };
    read.rows_limit = 50, read.bytes_limit = 100000, read.now_seconds = 1;
    struct arena arena = { 0 };
    enum err e;
    do {
        struct io_req req = { 0 };
        uint64_t patience = d->patience_ns;
        read.from = outcome.last;
        sim_act(s->io);
        store_read_start(s->store, &req, &s->op, &read, &arena, &look.sink, &outcome);
        d->patience_ns = 0;
        e = depot_await(d, &req);
        d->patience_ns = patience;
    } while (e == OK && outcome.has_more);
    sim_act(s->io);
    arena_deinit(&arena);
    sim_act(NULL);
    return e;
}

/* What was at stake in a TRUNCATE is there as a whole, or gone as a whole. */
static void check_stake(struct depot *d)
{
    unsigned there = 0, gone = 0;
    for (int i = 0; i < d->tried; i++) {
        const struct depot_mutation *x = &d->mutations[i];
        there += x->fate == AT_STAKE && x->seen > 0;
        gone += x->fate == AT_STAKE && x->seen == 0;
    }
    if (there && gone)
        depot_fail(d, "half truncated: %u mutations are gone, %u there", gone, there);
}

static void check_mutation(struct depot *d, int i, bool may_miss, bool is_restart)
{
    struct depot_mutation *x = &d->mutations[i];
    bool is_there = x->seen > 0;
    if (x->victim >= 0)
        return;
    if (is_there && x->seen != depot_rows_of(i) && !may_miss)
        depot_fail(d, "mutation %d has %u rows of %u", i, x->seen, depot_rows_of(i));
    if (is_there && x->fate == GONE)
        depot_fail(d, "mutation %d of table %s was truncated or deleted, and is there", i,
                   depot_table_name(x->table));
    if (!is_there && x->fate == THERE && !may_miss)
        depot_fail(d, "mutation %d of table %s was acknowledged, and is gone", i,
                   depot_table_name(x->table));
    if (is_restart)
        x->fate = is_there ? THERE : GONE;
}

void depot_check_rows(struct depot *d, bool is_hurt, bool is_restart)
{
    bool may_miss = false;
    for (int i = 0; i < d->tried; i++)
        d->mutations[i].seen = 0;
    for (int t = 0; t < DEPOT_TABLES; t++)
        for (int i = 0; i < d->shards_count; i++) {
            enum err e = look_at(&d->shards[i], t);
            bool is_gone = d->tables[t] == TABLE_DROPPED;
            if (e == ERR_STOPPED)
                return;
            if (is_gone ? e != ERR_NOT_FOUND : e != OK && !is_hurt)
                depot_fail(d, "shard %d reads table %s: %s", i, depot_table_name(t), err_name(e));
            may_miss |= e != OK && !is_gone;
        }
    if (!may_miss && d->truncating < 0)
        check_stake(d);
    if (!may_miss && is_restart)
        check_stake(d);
    for (int i = 0; i < d->tried; i++)
        check_mutation(d, i, may_miss, is_restart);
    if (is_restart)
        d->truncating = -1;
}

/* ---- files ---- */

struct inventory {
    struct depot *depot;
    struct arena arena; /* of `open` */
    struct store_files open[DEPOT_TABLES][DEPOT_SHARDS_MAX];
    unsigned floors[DEPOT_TABLES];
    uint64_t log_bytes[DEPOT_SHARDS_MAX];
    bool has_tag[DEPOT_TAGS];
    bool has_strays; /* files of a dropped table, outside of its snapshots */
};

static bool inventory_has(const struct inventory *v, int table, const char *name)
{
    struct sstable_name parsed;
    enum sstable_component component;
    if (sstable_name_parse(name, &parsed, &component, NULL) != OK)
        return false;
    for (int i = 0; i < v->depot->shards_count; i++)
        for (size_t k = 0; k < v->open[table][i].count; k++)
            if (strcmp(v->open[table][i].names[k].id, parsed.id) == 0)
                return true;
    return false;
}

/* "3/17.log" */
static bool is_of_log(struct inventory *v, const char *path, uint64_t size)
{
    char *end;
    unsigned long shard = strtoul(path, &end, 10);
    if (end == path || *end != '/' || shard >= (unsigned long)v->depot->shards_count)
        return false;
    v->log_bytes[shard] += size;
    return strstr(end, ".log") || strstr(end, ".spare");
}

static int tag_of(const struct inventory *v, int table, const char *path)
{
    for (int tag = 0; tag < DEPOT_TAGS; tag++) {
        size_t n = strlen(depot_tag_name(tag));
        bool is_it = strncmp(path, depot_tag_name(tag), n) == 0 && path[n] == '/';
        if (is_it && depot_tag_table(tag) == table && v->depot->tags[tag] != TAG_NONE)
            return tag;
    }
    return -1;
}

static bool is_of_table(struct inventory *v, int table, const char *name)
{
    static const char snapshots[] = "snapshots/";
    if (strncmp(name, snapshots, sizeof snapshots - 1) == 0) {
        int tag = tag_of(v, table, name + sizeof snapshots - 1);
        if (tag >= 0)
            v->has_tag[tag] = true;
        return tag >= 0;
    }
    if (strchr(name, '/'))
        return false;
    if (v->depot->tables[table] == TABLE_DROPPED)
        return v->has_strays = true;
    if (strncmp(name, "floor-", 6) == 0)
        return ++v->floors[table] <= 1 + DEPOT_SHARDS_MAX; /* each shard makes its own */
    return inventory_has(v, table, name);
}

static void visit(void *context, const char *path, uint64_t size)
{
    struct inventory *v = context;
    static const char log[] = "/commitlog/", data[] = "/data/depot/";
    bool is_known =
        strncmp(path, log, sizeof log - 1) == 0 && is_of_log(v, path + sizeof log - 1, size);
    if (strncmp(path, data, sizeof data - 1) == 0) {
        const char *folder = path + sizeof data - 1;
        const char *name = strchr(folder, '/');
        for (int t = 0; name && t < DEPOT_TABLES; t++)
            if (folder[0] == depot_table_name(t)[0])
                is_known = is_of_table(v, t, name + 1);
    }
    if (!is_known)
        depot_fail(v->depot, "%s (%llu bytes) belongs to nothing", path, (unsigned long long)size);
}

static void inventory_take(struct inventory *v)
{
    struct depot *d = v->depot;
    for (int t = 0; t < DEPOT_TABLES; t++)
        for (int i = 0; i < d->shards_count; i++) {
            struct uuid id = uuid_named(bytes_text(depot_table_name(t)));
            store_files(d->shards[i].store, &id, &v->arena, &v->open[t][i]);
        }
}

/* ---- snapshots ---- */

static struct bytes file_in(struct depot *d, const char *folder, const char *name)
{
    char path[400];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    ensure(n > 0 && (size_t)n < sizeof path);
    return sim_file(d->sim, 0, path);
}

/* Every component is there, and its Data.db is the one that it was. */
static void check_sstable(struct depot *d, const char *folder, const char *data)
{
    struct sstable_name name;
    enum sstable_component component;
    char file[SSTABLE_NAME_BYTES];
    uint32_t digest;
    if (sstable_name_parse(data, &name, &component, NULL) != OK)
        depot_fail(d, "%s: the manifest names %s", folder, data);
    uint32_t crc = crc32_of(0, file_in(d, folder, data));
    sstable_name_print(&name, COMPONENT_DIGEST, file);
    if (!sstable_digest_decode(file_in(d, folder, file), &digest) || digest != crc)
        depot_fail(d, "%s: %s is not what its Digest says", folder, data);
    sstable_name_print(&name, COMPONENT_TOC, file);
    unsigned components = sstable_toc_decode(file_in(d, folder, file));
    for (unsigned c = 0; c < COMPONENT_COUNT; c++) {
        sstable_name_print(&name, (enum sstable_component)c, file);
        if (components & 1u << c && !file_in(d, folder, file).data)
            depot_fail(d, "%s: %s is missing", folder, file);
    }
}

static void check_snapshot(struct depot *d, int tag)
{
    struct arena arena = { 0 };
    struct table *t = depot_table(&d->shards[0], depot_tag_table(tag));
    char folder[300];
    int n = snprintf(folder, sizeof folder, "%s/snapshots/%s", folder_path(&arena, "/data", t),
                     depot_tag_name(tag));
    ensure(n > 0 && (size_t)n < sizeof folder);
    if (!file_in(d, folder, "schema.cql").data || !file_in(d, folder, "manifest.json").data)
        depot_fail(d, "%s has no manifest or no schema", folder);
    char *manifest = arena_text(&arena, file_in(d, folder, "manifest.json"));
    char *end = strchr(manifest, ']');
    unsigned files = 0;
    for (char *at = strstr(manifest, "nb-"); at && at < end; at = strstr(at, "nb-"), files++) {
        char *quote = strchr(at, '"');
        *quote = 0;
        check_sstable(d, folder, at);
        at = quote + 1;
    }
    if (files != d->tag_files[tag])
        depot_fail(d, "%s has %u SSTables of %zu", folder, files, d->tag_files[tag]);
    arena_deinit(&arena);
}

void depot_check_files(struct depot *d)
{
    struct inventory v = { .depot = d };
    inventory_take(&v);
    sim_files(d->sim, 0, visit, &v);
    for (int i = 0; i < d->shards_count; i++) {
        struct store_counts counts;
        store_counts(d->shards[i].store, &counts);
        if (v.log_bytes[i] != counts.commitlog.disk_bytes)
            depot_fail(d, "the commit log of shard %d has %llu bytes, and says %llu", i,
                       (unsigned long long)v.log_bytes[i],
                       (unsigned long long)counts.commitlog.disk_bytes);
        if (counts.sstables_damaged)
            depot_fail(d, "shard %d has set an SSTable aside", i);
    }
    if (v.has_strays != (d->recovered.unknown_folders > 0))
        depot_fail(d, "%llu folders of unknown tables were told of",
                   (unsigned long long)d->recovered.unknown_folders);
    for (int tag = 0; tag < DEPOT_TAGS; tag++) {
        if (d->tags[tag] == TAG_THERE && !v.has_tag[tag])
            depot_fail(d, "the snapshot '%s' was made, and is gone", depot_tag_name(tag));
        if (v.has_tag[tag])
            check_snapshot(d, tag);
        d->tags[tag] = v.has_tag[tag] ? TAG_THERE : TAG_NONE;
    }
    arena_deinit(&v.arena);
}

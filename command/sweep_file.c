/* sweep_file.c - a sweep as its file says it (config/sweeps/).
 *
 *     title: the RUM curve
 *     table: ../stand.yaml                   or the block that such a file has
 *     on: engine                             or ring-1, ring-3: a fresh ring of so many nodes
 *     rows: 200000
 *     documents_per_register: 100            instead of the table's
 *     load: { flushes: 59 }
 *     update: { rows: 100000, flushes: 6, columns: [status, amount] }
 *     scale: 0.06                            of all sizes in bytes that strategies know
 *     stops: [59, 61, 65]                    after so many flushes
 *     reads: { warm: 2000, cold: 200 }       at each stop
 *     settings:
 *       - name: UCS T4
 *         compaction: { class: UnifiedCompactionStrategy, scaling_parameters: T4 }
 *         compression: { class: LZ4Compressor, chunk_length_in_kb: 16 }
 *         bloom_filter_fp_chance: 0.01
 *         partition: register                or document
 *
 * What a setting may say is in sweep_setting.c.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/hash.h"
#include "base/prng.h"
#include "command/sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { FILE_BYTES_MAX = 1 << 20, FLUSHES_MAX = 100000, DOCUMENTS_MAX = 1000000 };
static const uint64_t rows_max = 10000000000;

struct reading {
    struct sweep *sweep;
    struct arena *arena;
    struct config_tree tree;
    uint64_t rows; /* asked for; 0: as the file says */
};

/* ---- values ---- */

/* A whole number that may be missing. */
static enum err read_whole(struct reading *r, const struct config_node *block, const char *name,
                           uint64_t least, uint64_t most, uint64_t *out)
{
    const struct config_node *node = config_tree_member(block, name);
    return node ? config_tree_whole(&r->tree, node, least, most, out) : OK;
}

static enum err read_scale(struct reading *r)
{
    const struct config_node *node = config_tree_member(r->tree.root, "scale");
    r->sweep->scale = 1;
    return node ? config_tree_fraction(&r->tree, node, 0.0001, 100, &r->sweep->scale) : OK;
}

static enum err read_title(struct reading *r)
{
    const struct config_node *node = config_tree_member(r->tree.root, "title");
    r->sweep->title = "";
    return node ? config_tree_text(&r->tree, node, "a line", &r->sweep->title) : OK;
}

static enum err read_on(struct reading *r)
{
    static const char *const places[] = { "engine", "ring-1", "ring-3" };
    static const unsigned nodes[] = { 0, 1, 3 };
    const struct config_node *node = config_tree_member(r->tree.root, "on");
    size_t place = 0;
    enum err err =
        node ? config_tree_word(&r->tree, node, places, array_count(places), &place) : OK;
    r->sweep->nodes = nodes[err == OK ? place : 0];
    return err;
}

/* ---- the table ---- */

static void fingerprint_add(struct sweep *s, struct bytes text)
{
    uint64_t hash[2];
    murmur3_cassandra(text, hash);
    s->fingerprint = (s->fingerprint ^ hash[0]) * UINT64_C(0x9e3779b97f4a7c15);
}

enum err sweep_text(const char *path, struct arena *arena, struct bytes *out, struct report *report)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return report_set(report, ERR_CONFIG, "%.200s: %s", path, strerror(errno));
    uint8_t *text = arena_alloc(arena, FILE_BYTES_MAX + 1);
    size_t size = fread(text, 1, FILE_BYTES_MAX + 1, file);
    bool is_bad = ferror(file);
    (void)fclose(file);
    *out = bytes_of(text, size);
    if (is_bad)
        return report_set(report, ERR_CONFIG, "%.200s: cannot be read", path);
    return size <= FILE_BYTES_MAX
               ? OK
               : report_set(report, ERR_CONFIG, "%.200s: is larger than 1 MiB", path);
}

/* A path from the folder of the file that names it. */
static const char *path_beside(struct arena *arena, const char *file, const char *path)
{
    const char *slash = strrchr(file, '/');
    if (path[0] == '/' || !slash)
        return path;
    return arena_printf(arena, "%.*s%s", (int)(slash + 1 - file), file, path);
}

static enum err read_table(struct reading *r)
{
    const struct config_node *node;
    struct config_tree other;
    struct bytes text = { 0 };
    const char *path = "";
    enum err err = config_tree_needed(&r->tree, r->tree.root, "table", &node);
    if (err == OK && node->kind == CONFIG_NODE_BLOCK)
        return stand_read(&r->sweep->stand, r->arena, &r->tree, node);
    if (err == OK)
        err = config_tree_text(&r->tree, node, "a path, or a block", &path);
    if (err != OK)
        return err;
    path = path_beside(r->arena, r->tree.file_name, path);
    err = sweep_text(path, r->arena, &text, r->tree.report);
    if (err == OK)
        fingerprint_add(r->sweep, text);
    if (err == OK)
        err = config_tree_read(&other, r->arena, path, text, r->tree.report);
    return err == OK ? stand_read(&r->sweep->stand, r->arena, &other, other.root) : err;
}

/* ---- the stream ---- */

static enum err read_rows(struct reading *r)
{
    const struct config_node *documents =
        config_tree_member(r->tree.root, "documents_per_register");
    const struct config_node *node;
    enum err err = config_tree_needed(&r->tree, r->tree.root, "rows", &node);
    if (err == OK)
        err = config_tree_whole(&r->tree, node, 1, rows_max, &r->sweep->rows);
    if (err == OK && documents)
        err = config_tree_whole(&r->tree, documents, 1, DOCUMENTS_MAX,
                                &r->sweep->stand.documents_per_register);
    return err;
}

static enum err read_load(struct reading *r)
{
    static const char *const names[] = { "flushes" };
    const struct config_node *node, *flushes;
    enum err err = config_tree_needed(&r->tree, r->tree.root, "load", &node);
    if (err == OK)
        err = config_tree_known(&r->tree, node, names, array_count(names));
    if (err == OK)
        err = config_tree_needed(&r->tree, node, names[0], &flushes);
    return err == OK ? config_tree_whole(&r->tree, flushes, 1, FLUSHES_MAX, &r->sweep->load_flushes)
                     : err;
}

static enum err read_chosen(struct reading *r, const struct config_node *list)
{
    struct sweep *s = r->sweep;
    enum err err = config_tree_list(&r->tree, list);
    for (const struct config_node *n = list->first; n && err == OK; n = n->next) {
        const char *name;
        err = config_tree_text(&r->tree, n, "a column", &name);
        const struct stand_column *c = err == OK ? stand_column(&s->stand, name) : NULL;
        if (err == OK && (!c || c->role != STAND_VALUE))
            return config_tree_refuse(&r->tree, n, "'%.40s' is no column of the table%s", name,
                                      c ? " that an update can write" : "");
        if (err == OK && s->chosen_count == STAND_COLUMNS_MAX)
            return config_tree_refuse(&r->tree, n, "has too many columns");
        if (err == OK)
            s->chosen[s->chosen_count++] = c;
    }
    return err;
}

static enum err read_update(struct reading *r)
{
    static const char *const names[] = { "rows", "flushes", "columns" };
    const struct config_node *block = config_tree_member(r->tree.root, "update"), *n[3];
    if (!block)
        return OK;
    enum err err = config_tree_known(&r->tree, block, names, array_count(names));
    for (size_t i = 0; i < array_count(names) && err == OK; i++)
        err = config_tree_needed(&r->tree, block, names[i], &n[i]);
    if (err == OK)
        err = config_tree_whole(&r->tree, n[0], 1, rows_max, &r->sweep->updates);
    if (err == OK)
        err = config_tree_whole(&r->tree, n[1], 1, FLUSHES_MAX, &r->sweep->update_flushes);
    return err == OK ? read_chosen(r, n[2]) : err;
}

static enum err read_reads(struct reading *r)
{
    static const char *const names[] = { "warm", "cold" };
    const struct config_node *block = config_tree_member(r->tree.root, "reads");
    r->sweep->reads = 2000, r->sweep->cold_reads = 100;
    if (!block)
        return OK;
    enum err err = config_tree_known(&r->tree, block, names, array_count(names));
    if (err == OK)
        err = read_whole(r, block, "warm", 1, 100000000, &r->sweep->reads);
    return err == OK ? read_whole(r, block, "cold", 0, 1000000, &r->sweep->cold_reads) : err;
}

static enum err read_stops(struct reading *r)
{
    const struct config_node *list = config_tree_member(r->tree.root, "stops");
    struct sweep *s = r->sweep;
    uint64_t before = 0;
    if (!list)
        s->stops[s->stops_count++] = sweep_flushes(s);
    enum err err = list ? config_tree_list(&r->tree, list) : OK;
    for (const struct config_node *n = list ? list->first : NULL; n && err == OK; n = n->next) {
        if (s->stops_count == SWEEP_STOPS_MAX)
            return config_tree_refuse(&r->tree, n, "has more than %d stops", SWEEP_STOPS_MAX);
        err = config_tree_whole(&r->tree, n, 1, sweep_flushes(s), &s->stops[s->stops_count]);
        if (err == OK && s->stops[s->stops_count] <= before)
            return config_tree_refuse(&r->tree, n, "must ascend");
        before = s->stops[s->stops_count++];
    }
    return err;
}

/* So many rows instead, and everything else in proportion.  Flushes stay as many, and registers,
 * so that a flush covers as much of the ring and a partition is in as many files. */
static enum err rows_scale(struct reading *r)
{
    struct sweep *s = r->sweep;
    const struct config_node *node = config_tree_member(r->tree.root, "rows");
    double share = r->rows ? (double)r->rows / (double)s->rows : 1;
    s->scale *= share;
    s->updates = (uint64_t)((double)s->updates * share);
    double documents = (double)s->stand.documents_per_register * share;
    s->stand.documents_per_register = documents < 1 ? 1 : (uint64_t)(documents + 0.5);
    s->rows = r->rows ? r->rows : s->rows;
    if (s->rows < s->load_flushes || s->updates < s->update_flushes)
        return config_tree_refuse(&r->tree, node, "%" PRIu64 " are fewer than there are flushes",
                                  s->rows);
    return OK;
}

static enum err read_settings(struct reading *r)
{
    const struct config_node *list;
    enum err err = config_tree_needed(&r->tree, r->tree.root, "settings", &list);
    return err == OK ? sweep_read_settings(r->sweep, r->arena, &r->tree, list) : err;
}

enum err sweep_read(struct sweep *s, struct arena *arena, const char *file_name, struct bytes text,
                    uint64_t rows, struct report *report)
{
    static const char *const names[] = {
        "title", "table", "on",    "rows",    "documents_per_register", "seed", "load", "update",
        "scale", "stops", "reads", "settings"
    };
    static enum err (*const steps[])(struct reading *) = { read_title,  read_on,      read_table,
                                                           read_rows,   read_scale,   read_load,
                                                           read_update, read_stops,   read_reads,
                                                           rows_scale,  read_settings };
    struct reading r = { .sweep = s, .arena = arena, .rows = rows };
    *s = (struct sweep){ .fingerprint = rows, .seed = 1 };
    fingerprint_add(s, bytes_text(RONDO_VERSION));
    fingerprint_add(s, text);
    enum err err = config_tree_read(&r.tree, arena, file_name, text, report);
    if (err == OK)
        err = config_tree_known(&r.tree, r.tree.root, names, array_count(names));
    if (err == OK)
        err = read_whole(&r, r.tree.root, "seed", 0, INT64_MAX, &s->seed);
    for (size_t i = 0; i < array_count(steps) && err == OK; i++)
        err = steps[i](&r);
    return err;
}

/* ---- the stream, counted ---- */

bool sweep_part(const struct sweep *s, uint64_t flush, uint64_t *first, uint64_t *count)
{
    bool is_update = flush >= s->load_flushes;
    uint64_t at = is_update ? flush - s->load_flushes : flush;
    uint64_t of = is_update ? s->update_flushes : s->load_flushes;
    uint64_t all = is_update ? s->updates : s->rows;
    ensure(flush < sweep_flushes(s));
    *first = at * all / of;
    *count = (at + 1) * all / of - *first;
    return is_update;
}

uint64_t sweep_update_row(const struct sweep *s, uint64_t i)
{
    struct prng prng = { s->seed + i * UINT64_C(0xd1b54a32d192ed03) };
    return prng_below(&prng, s->rows);
}

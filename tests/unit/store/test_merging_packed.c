/* test_merging_packed.c - merges of rows that may stay packed: random rows of a table of simple
 * columns, whole ones, parts, those that expire and those that are deleted, at few times so that
 * many meet; the file that comes out is to the byte, statistics too, the one that a writer makes
 * of the rows that row.h's rules leave.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "files.h"
#include "store/heads.h"

#include <check.h>
#include <stdlib.h>

enum { FILES_MAX = 4, KEYS = 12, PLACES_MAX = 6, REGULARS = 3, TIMES = 5 };
static const struct header_base base = { 1, 1, 1 };
static char keys[KEYS][2]; /* by token */

static struct files f;
static size_t places;  /* of rows in a partition */
static uint32_t first; /* of the regular columns' numbers */

static int key_order(const void *a, const void *b)
{
    int64_t x = key_token(bytes_text(a)), y = key_token(bytes_text(b));
    return (x > y) - (x < y);
}

static void keys_make(void)
{
    for (size_t k = 0; k < KEYS; k++)
        keys[k][0] = (char)('a' + k);
    qsort(keys, KEYS, sizeof keys[0], key_order);
}

static void setup(void)
{
    static const struct stage_column columns[] = {
        { "k", "text", COLUMN_PARTITION, false }, { "c", "text", COLUMN_CLUSTERING, false },
        { "u", "text", COLUMN_REGULAR, false },   { "v", "bigint", COLUMN_REGULAR, false },
        { "w", "blob", COLUMN_REGULAR, false },
    };
    files_init(&f, 5, stage_table("files", columns, array_count(columns)));
    keys_make();
    places = PLACES_MAX, first = 2;
}

/* A partition is one row, or less. */
static void setup_flat(void)
{
    static const struct stage_column columns[] = {
        { "k", "text", COLUMN_PARTITION, false },
        { "u", "text", COLUMN_REGULAR, false },
        { "v", "bigint", COLUMN_REGULAR, false },
        { "w", "blob", COLUMN_REGULAR, false },
    };
    files_init(&f, 5, stage_table("files", columns, array_count(columns)));
    keys_make();
    places = 1, first = 1;
}
static void teardown(void) { files_deinit(&f); }

/* What one file has of a partition. */
struct part {
    bool is_there;
    struct deletion deletion;
    struct row *rows[PLACES_MAX]; /* NULL: none */
};
struct model {
    size_t files;
    struct part parts[FILES_MAX][KEYS];
};

static struct row *row_at(size_t place)
{
    struct row *row = arena_new(&f.arena, struct row);
    struct buf raw = buf_in(&f.arena), key = buf_in(&f.arena);
    uint8_t letter = (uint8_t)('a' + place);
    struct bytes value = bytes_of(&letter, 1);
    if (places > 1)
        buf_put_sized(&raw, value);
    comparable_key(f.table, &value, &key);
    *row = (struct row){ .key = buf_bytes(&key),
                         .clustering = buf_bytes(&raw),
                         .deletion = deletion_none() };
    row->cells = arena_array(&f.arena, struct cell, REGULARS);
    return row;
}

static struct cell cell_drawn(struct prng *prng, uint32_t i, int64_t timestamp)
{
    uint8_t *value = arena_alloc(&f.arena, 8);
    for (int k = 0; k < 8; k++)
        value[k] = (uint8_t)('a' + prng_below(prng, 2));
    size_t size = i == 1 ? 8 : prng_below(prng, 20) ? 1 + prng_below(prng, 8) : 0;
    return (
        struct cell){ .timestamp = timestamp, .column = first + i, .value = bytes_of(value, size) };
}

static void spoil(struct prng *prng, struct row *row)
{
    struct cell *cell = &row->cells[prng_below(prng, REGULARS)];
    switch (prng_below(prng, 6)) {
    case 0:
        cell->timestamp = 1 + (int64_t)prng_below(prng, TIMES);
        break;
    case 1:
        cell->kind = CELL_DELETED, cell->seconds = 900, cell->value = (struct bytes){ 0 };
        break;
    case 2:
        cell->kind = CELL_EXPIRING, cell->seconds = 2000, cell->ttl = 50;
        break;
    case 3:
        row->liveness.ttl = 50, row->liveness.expires = 2000;
        break;
    case 4:
        row->cells_count = prng_below(prng, REGULARS);
        break;
    default:
        row->deletion = (struct deletion){ 1 + (int64_t)prng_below(prng, TIMES), 900 };
    }
}

static struct row *row_drawn(struct prng *prng, size_t place)
{
    struct row *row = row_at(place);
    row->liveness.timestamp = 1 + (int64_t)prng_below(prng, TIMES);
    row->cells_count = REGULARS;
    for (uint32_t i = 0; i < REGULARS; i++)
        row->cells[i] = cell_drawn(prng, i, row->liveness.timestamp);
    if (prng_chance(prng, 25))
        spoil(prng, row);
    return row;
}

static void model_draw(struct model *m, struct prng *prng)
{
    m->files = 1 + prng_below(prng, FILES_MAX);
    for (size_t i = 0; i < m->files; i++)
        for (size_t k = 0; k < KEYS; k++) {
            struct part *p = &m->parts[i][k];
            p->is_there = prng_chance(prng, 75);
            p->deletion = deletion_none();
            if (prng_chance(prng, 15))
                p->deletion = (struct deletion){ 1 + (int64_t)prng_below(prng, TIMES), 900 };
            for (size_t at = 0; at < places; at++)
                p->rows[at] = prng_chance(prng, 70) ? row_drawn(prng, at) : NULL;
        }
}

/* ---- files ---- */

static void part_write(struct sstable_writer *w, const char *key, const struct part *p)
{
    struct bytes name = bytes_text(key);
    if (!p->is_there)
        return;
    sstable_writer_partition(w, name, key_token(name), p->deletion);
    for (size_t at = 0; at < places; at++)
        if (p->rows[at])
            sstable_writer_row(w, p->rows[at]);
    sstable_writer_partition_end(w);
}

static struct sstable *parts_write(const struct part parts[KEYS])
{
    struct sstable_writer *w = files_begin(&f, base);
    for (size_t k = 0; k < KEYS; k++)
        part_write(w, keys[k], &parts[k]);
    return files_end(&f);
}

/* What all files have at the place, by the rules of rows alone. */
static struct row *left_at(const struct model *m, size_t k, size_t at, struct deletion shadow)
{
    struct row *row = NULL;
    for (size_t i = 0; i < m->files; i++) {
        struct row *more = m->parts[i][k].is_there ? m->parts[i][k].rows[at] : NULL;
        if (row && more)
            row = row_merge(&f.arena, f.table, row, more, shadow);
        else if (more)
            row = row_copied(&f.arena, more);
    }
    return row && row_shadow(row, shadow) ? row : NULL;
}

static struct part part_left(const struct model *m, size_t k)
{
    struct part p = { .deletion = deletion_none() };
    for (size_t i = 0; i < m->files; i++) {
        const struct part *in = &m->parts[i][k];
        if (in->is_there)
            p.deletion = deletion_newer(p.deletion, in->deletion);
    }
    p.is_there = !deletion_is_none(p.deletion);
    for (size_t at = 0; at < places; at++) {
        p.rows[at] = left_at(m, k, at, p.deletion);
        p.is_there |= p.rows[at] != NULL;
    }
    return p;
}

static struct bytes file_bytes(const struct sstable *s, enum sstable_component component)
{
    struct io_req req = { 0 };
    struct io_file *file = NULL;
    char path[SSTABLE_PATH_BYTES];
    uint8_t *room = arena_alloc(&f.arena, (size_t)1 << 16);
    sstable_path(s, component, path);
    io_open(f.io, &req, &f.op, path, IO_READ, &file);
    ck_assert_int_eq(files_wait(&f, &req), OK);
    io_read(f.io, &req, &f.op, file, room, (size_t)1 << 16, 0);
    ck_assert_int_eq(files_wait(&f, &req), OK);
    struct bytes all = bytes_of(room, req.size);
    io_close(f.io, &req, &f.op, &file);
    ck_assert_int_eq(files_wait(&f, &req), OK);
    return all;
}

static void same_files(const struct sstable *a, const struct sstable *b)
{
    static const enum sstable_component components[] = { COMPONENT_DATA, COMPONENT_INDEX,
                                                         COMPONENT_STATISTICS, COMPONENT_SUMMARY,
                                                         COMPONENT_FILTER };
    for (size_t i = 0; i < array_count(components); i++)
        ck_assert_msg(bytes_equal(file_bytes(a, components[i]), file_bytes(b, components[i])),
                      "component %u", components[i]);
}

static struct sstable *merged(struct sstable *const *inputs, size_t count)
{
    struct merging_options options = { .now_seconds = 1000, .gc_before = 500 };
    return files_merge(&f, inputs, count, &options, NULL);
}

START_TEST(what_comes_out_is_what_the_rules_of_rows_leave)
{
    struct prng prng = { 1000 + (uint64_t)_i };
    struct model m = { 0 };
    struct part left[KEYS];
    struct sstable *inputs[FILES_MAX];
    size_t count = 0;
    model_draw(&m, &prng);
    for (size_t i = 0; i < m.files; i++) {
        inputs[count] = parts_write(m.parts[i]);
        count += inputs[count] != NULL;
    }
    if (count == 0)
        return;
    for (size_t k = 0; k < KEYS; k++)
        left[k] = part_left(&m, k);
    struct sstable *out = merged(inputs, count), *want = parts_write(left);
    ck_assert((out != NULL) == (want != NULL));
    if (out)
        same_files(out, want), sstable_unref(&out), sstable_unref(&want);
    for (size_t i = 0; i < count; i++)
        sstable_unref(&inputs[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("merging packed");
    TCase *t = tcase_create("merging packed");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, what_comes_out_is_what_the_rules_of_rows_leave, 0, 400);
    suite_add_tcase(suite, t);
    t = tcase_create("merging packed partitions of one row");
    tcase_add_checked_fixture(t, setup_flat, teardown);
    tcase_add_loop_test(t, what_comes_out_is_what_the_rules_of_rows_leave, 0, 400);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}

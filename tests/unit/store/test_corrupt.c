/* test_corrupt.c - any bit of any file of an SSTable is flipped, before a start or while the file
 * is open: each read gives the rows that it gave before, or ERR_CORRUPT and nothing that was served
 * wrong; the file is set aside, named, and everything else goes on.
 *
 * The table has all that a file can hold (wide.h) with an index inside its partitions; it is
 * written compressed and not, as nb and as oa.  What the undamaged file answers is the truth here:
 * other tests hold that against models.
 */
// SPDX-License-Identifier: Apache-2.0
#include "../../lib/long.h"
#include "base/mem.h"
#include "stage.h"
#include "store/stats.h"
#include "wide.h"

#include <check.h>
#include <stdlib.h>

/* ck_assert tells another process of every claim that holds: too slow for so many. */
#define claim(x) ((x) ? (void)0 : ck_abort_msg("%s: %s", what, #x))

enum { VARIANTS = 4, MUTATIONS = 40, SAMPLE_BITS = 250, READS = 2 * WIDE_PARTITIONS + 3 };
static char what[200]; /* which bit of what, for messages */

struct corrupt {
    struct stage stage;
    struct wide wide;
    struct table *table, *other; /* the catalog's */
    struct prng prng;
    struct sstable_name name;
    char folder[200];
    struct buf truth[READS];
};

/* ---- the table, and what is read of it ---- */

static void write_all(struct corrupt *c)
{
    struct buf bytes = { 0 };
    for (int i = 0; i < MUTATIONS; i++) {
        struct mutation m;
        wide_draw(&c->wide, i % WIDE_PARTITIONS, &m);
        if (!mutation_has_anything(&m))
            continue;
        buf_clear(&bytes);
        mutation_encode(&m, &bytes);
        ck_assert_int_eq(stage_apply(&c->stage, buf_bytes(&bytes)), OK);
    }
    buf_clear(&bytes);
    stage_put(c->other, "key", 1, bytes_text("value"), 1, &bytes);
    ck_assert_int_eq(stage_apply(&c->stage, buf_bytes(&bytes)), OK);
    buf_deinit(&bytes);
    ck_assert_int_eq(stage_flush(&c->stage, NULL), OK);
}

/* All of it; each partition in both directions; two rows. */
static struct read read_of(struct corrupt *c, int i, struct slice *slice)
{
    struct read read = { .table = c->table->id, .now_seconds = WIDE_NOW };
    read.rows_limit = 1000, read.bytes_limit = 1 << 20;
    if (i == 0) {
        read.is_range = true, read.after = INT64_MIN, read.upto = INT64_MAX;
        return read;
    }
    read.key = c->wide.keys[(i - 1) % WIDE_PARTITIONS];
    read.token = key_token(read.key);
    read.is_reversed = i > WIDE_PARTITIONS;
    if (i > 2 * WIDE_PARTITIONS) {
        const struct row *place = &c->wide.places[i % WIDE_PLACES];
        struct bytes value = row_clustering(place, 0);
        struct buf low = buf_in(&c->wide.arena), high = buf_in(&c->wide.arena);
        comparable_below(c->table, &value, 1, &low);
        comparable_above(c->table, &value, 1, &high);
        *slice = (struct slice){ buf_bytes(&low), buf_bytes(&high) };
        read.slices_count = 1, read.slices = slice;
    }
    return read;
}

static enum err answer(struct corrupt *c, int i, struct buf *out)
{
    struct arena arena = { 0 };
    struct slice slice;
    struct read read = read_of(c, i, &slice);
    struct result_writer writer;
    struct read_outcome outcome = { 0 };
    buf_clear(out);
    result_begin(&writer, &read, out);
    enum err e = stage_read(&c->stage, &read, &arena, &writer.sink, &outcome);
    result_end(&writer, &outcome);
    arena_deinit(&arena);
    return e;
}

static void corrupt_init(struct corrupt *c, int variant)
{
    struct table_params *params;
    stage_init(&c->stage, 1);
    wide_init(&c->wide, 1 + (uint64_t)variant);
    c->prng.state = (uint64_t)variant;
    c->table = c->wide.table;
    table_ref(c->table);
    params = arena_new(&c->table->arena, struct table_params);
    *params = table_params_default;
    params->compression.chunk_bytes = 1024;
    if (variant % 2)
        params->compression = (struct compression_params){ .kind = COMPRESSOR_NONE };
    c->table->params = params;
    c->other = stage_keyvalue("other");
    catalog_add_system(&c->stage.catalog, c->table);
    catalog_add_system(&c->stage.catalog, c->other);
    c->stage.options.version = variant < 2 ? SSTABLE_NB : SSTABLE_OA;
    c->stage.options.column_index_bytes = 100;
    ck_assert_int_eq(stage_open(&c->stage), OK);
    write_all(c);
    struct arena arena = { 0 };
    struct table_stats *stats = store_table_stats(c->stage.store, &c->table->id, &arena);
    ck_assert_uint_eq(stats->files_count, 1);
    c->name = stats->files[0].name;
    arena_deinit(&arena);
    for (int i = 0; i < READS; i++) {
        ck_assert_int_eq(answer(c, i, &c->truth[i]), OK);
        ck_assert_uint_gt(c->truth[i].size, 8);
    }
}

static void corrupt_deinit(struct corrupt *c)
{
    for (int i = 0; i < READS; i++)
        buf_deinit(&c->truth[i]);
    stage_deinit(&c->stage);
    wide_deinit(&c->wide);
    mem_free(c);
}

/* ---- the file ---- */

struct found { /* by a walk over the disk */
    struct corrupt *corrupt;
    char paths[COMPONENT_COUNT][300];
    uint64_t bytes[COMPONENT_COUNT];
};

static void visit(void *context, const char *path, uint64_t size)
{
    struct found *f = context;
    struct sstable_name name;
    enum sstable_component component;
    bool is_it = strstr(path, "/wide-") &&
                 sstable_name_parse(strrchr(path, '/') + 1, &name, &component, NULL) == OK &&
                 strcmp(name.id, f->corrupt->name.id) == 0;
    if (!is_it)
        return;
    snprintf(f->paths[component], sizeof f->paths[component], "%s", path);
    f->bytes[component] = size;
}

/* Says which file is hurt, and from where on. */
static void check_damage(struct corrupt *c, const char *path, uint64_t byte)
{
    struct arena arena = { 0 };
    const char **said;
    size_t count = store_damages(c->stage.store, &arena, &said);
    claim(count == 1);
    const char *at = strstr(said[0], "offset ");
    if (strncmp(said[0], path, strlen(path)) != 0 || !at)
        ck_abort_msg("%s: it says '%s'", what, said[0]);
    claim(strtoull(at + strlen("offset "), NULL, 10) <= byte);
    arena_deinit(&arena);
}

/* Every read once.  Was damage found? */
static bool read_all(struct corrupt *c)
{
    struct buf got = { 0 };
    bool is_found = false;
    for (int i = 0; i < READS; i++) {
        enum err e = answer(c, i, &got);
        if (e != OK && e != ERR_CORRUPT)
            ck_abort_msg("%s: read %d: %s", what, i, err_name(e));
        claim(e != OK || bytes_equal(buf_bytes(&got), buf_bytes(&c->truth[i])));
        claim(e != OK || !is_found); /* once found, it stays aside */
        is_found |= e == ERR_CORRUPT;
    }
    struct stage_look look = { .column = 1 };
    claim(stage_find(&c->stage, c->other, "key", &look));
    buf_deinit(&look.value);
    buf_deinit(&got);
    struct store_counts counts;
    store_counts(c->stage.store, &counts);
    claim(counts.sstables == 2 && counts.sstables_damaged == (is_found ? 1 : 0));
    return is_found;
}

/* ---- which bits ---- */

/* Calls for all bits, or for a drawn share: about so many in all. */
static void each_bit(struct corrupt *c, unsigned components,
                     void (*hurt)(struct corrupt *, const struct found *, unsigned, uint64_t))
{
    struct found f = { .corrupt = c };
    uint64_t total = 0, visited = 0;
    sim_files(c->stage.sim, SIM_CLIENT(0), visit, &f);
    for (unsigned k = 0; k < COMPONENT_COUNT; k++)
        total += components & 1u << k ? f.bytes[k] * 8 : 0;
    uint64_t share = is_long() ? 1 : 1 + total / SAMPLE_BITS;
    for (unsigned k = 0; k < COMPONENT_COUNT; k++) {
        if (!(components & 1u << k) || !f.bytes[k])
            continue;
        uint64_t own = f.bytes[k] <= 16 ? 1 : share;
        for (uint64_t bit = prng_below(&c->prng, own); bit < f.bytes[k] * 8;
             bit += 1 + prng_below(&c->prng, 2 * own - 1), visited++) {
            snprintf(what, sizeof what, "bit %llu of %s", (unsigned long long)bit,
                     strrchr(f.paths[k], '/') + 1);
            sim_file_flip(c->stage.sim, SIM_CLIENT(0), f.paths[k], bit);
            hurt(c, &f, k, bit);
        }
    }
    ck_assert_uint_gt(visited, 100);
    printf("flipped %llu of %llu bits\n", (unsigned long long)visited, (unsigned long long)total);
}

static void reopen(struct corrupt *c)
{
    claim(stage_close(&c->stage) == OK);
    enum err e = stage_open(&c->stage);
    if (e != OK)
        ck_abort_msg("%s: the store does not open: %s", what, c->stage.failed.text);
}

static void heal(struct corrupt *c, const struct found *f, unsigned component, uint64_t bit)
{
    sim_file_flip(c->stage.sim, SIM_CLIENT(0), f->paths[component], bit);
}

/* ---- before a start ---- */

static void hurt_before_start(struct corrupt *c, const struct found *f, unsigned component,
                              uint64_t bit)
{
    bool is_idle = component == COMPONENT_DIGEST || component == COMPONENT_TOC;
    reopen(c);
    bool is_found = read_all(c);
    claim(is_found == !is_idle);
    if (is_found)
        check_damage(c, f->paths[component], bit / 8);
    heal(c, f, component, bit);
}

START_TEST(a_bit_that_was_flipped_before_a_start_is_found_before_a_row_is_served)
{
    struct corrupt *c = mem_zalloc(sizeof *c);
    corrupt_init(c, _i);
    each_bit(c, (1u << COMPONENT_COUNT) - 1, hurt_before_start);
    corrupt_deinit(c);
}
END_TEST

/* ---- too short ---- */

START_TEST(a_file_that_is_too_short_is_found_before_a_row_is_served)
{
    struct corrupt *c = mem_zalloc(sizeof *c);
    struct found f = { .corrupt = c };
    struct buf whole = { 0 };
    corrupt_init(c, _i);
    sim_files(c->stage.sim, SIM_CLIENT(0), visit, &f);
    for (unsigned k = 0; k < COMPONENT_COUNT; k++) {
        uint64_t step = is_long() ? 1 : 1 + f.bytes[k] / 10;
        for (uint64_t size = 0; size < f.bytes[k]; size += step) {
            snprintf(what, sizeof what, "the first %llu bytes of %s", (unsigned long long)size,
                     strrchr(f.paths[k], '/') + 1);
            buf_clear(&whole);
            buf_put_bytes(&whole, sim_file(c->stage.sim, SIM_CLIENT(0), f.paths[k]));
            sim_file_cut(c->stage.sim, SIM_CLIENT(0), f.paths[k], size);
            reopen(c);
            claim(read_all(c) == (k != COMPONENT_DIGEST && k != COMPONENT_TOC));
            sim_file_set(c->stage.sim, SIM_CLIENT(0), f.paths[k], 0, buf_bytes(&whole));
        }
    }
    buf_deinit(&whole);
    corrupt_deinit(c);
}
END_TEST

/* ---- not there ---- */

static void move(struct corrupt *c, const char *path, const char *to)
{
    struct io_req req = { 0 };
    io_rename(c->stage.io, &req, &c->stage.op, path, to);
    claim(stage_wait(&c->stage, &req) == OK);
}

START_TEST(a_file_that_has_lost_what_it_needs_is_set_aside_and_the_store_opens)
{
    struct corrupt *c = mem_zalloc(sizeof *c);
    struct found f = { .corrupt = c };
    corrupt_init(c, _i);
    sim_files(c->stage.sim, SIM_CLIENT(0), visit, &f);
    for (unsigned k = 0; k < COMPONENT_COUNT; k++) {
        if (k == COMPONENT_DATA || !f.paths[k][0])
            continue; /* without Data.db nothing is a file */
        bool is_needed = k == COMPONENT_INDEX || k == COMPONENT_STATISTICS ||
                         k == COMPONENT_COMPRESSION_INFO || k == COMPONENT_CRC;
        char away[320];
        snprintf(what, sizeof what, "without %s", strrchr(f.paths[k], '/') + 1);
        snprintf(away, sizeof away, "%s.away", f.paths[k]);
        move(c, f.paths[k], away);
        reopen(c);
        claim(read_all(c) == is_needed);
        move(c, away, f.paths[k]);
    }
    reopen(c);
    claim(!read_all(c));
    corrupt_deinit(c);
}
END_TEST

/* ---- while it is open ---- */

static void hurt_while_open(struct corrupt *c, const struct found *f, unsigned component,
                            uint64_t bit)
{
    struct io_req req = { 0 };
    store_drop_cache(c->stage.store, &req, &c->stage.op);
    claim(stage_wait(&c->stage, &req) == OK);
    bool is_found = read_all(c);
    claim(is_found);
    check_damage(c, f->paths[component], bit / 8);
    heal(c, f, component, bit);
    claim(read_all(c)); /* it stays set aside */
    reopen(c);
}

START_TEST(a_bit_that_is_flipped_while_the_file_is_open_is_found_before_a_row_is_served)
{
    struct corrupt *c = mem_zalloc(sizeof *c);
    corrupt_init(c, _i);
    each_bit(c, 1u << COMPONENT_DATA | 1u << COMPONENT_INDEX, hurt_while_open);
    corrupt_deinit(c);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store, damaged files");
    TCase *t = tcase_create("corrupt");
    tcase_set_timeout(t, is_long() ? 3600 : 120);
    tcase_add_loop_test(t, a_bit_that_was_flipped_before_a_start_is_found_before_a_row_is_served, 0,
                        VARIANTS);
    tcase_add_loop_test(
        t, a_bit_that_is_flipped_while_the_file_is_open_is_found_before_a_row_is_served, 0,
        VARIANTS);
    tcase_add_loop_test(t, a_file_that_has_lost_what_it_needs_is_set_aside_and_the_store_opens, 0,
                        VARIANTS);
    tcase_add_loop_test(t, a_file_that_is_too_short_is_found_before_a_row_is_served, 0, VARIANTS);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}

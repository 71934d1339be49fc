/* test_purge.c - what may go, second by second and timestamp by timestamp around the two limits.
 *
 * Now is 1000, gc_before 500, and the oldest timestamp outside 7.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/purge.h"

#include <check.h>

enum { NOW = 1000, GC_BEFORE = 500, OUTSIDE = 7 };

static unsigned asked;
static int64_t ask(void *context)
{
    asked++;
    return *(int64_t *)context;
}

static int64_t outside = OUTSIDE;
static struct purge purge_of(bool is_on)
{
    asked = 0;
    return (struct purge){
        .is_on = is_on, .now_seconds = NOW, .gc_before = GC_BEFORE, .ask = ask, .context = &outside
    };
}

enum fate { STAYS, GOES, BECOMES_TOMBSTONE };

/* ---- cells ---- */

static const struct {
    enum cell_kind kind;
    int64_t timestamp;
    uint32_t seconds, ttl;
    enum fate on, off;
    bool asks;
} cells[] = {
    { CELL_LIVE, 1, 0, 0, STAYS, STAYS, false },
    { CELL_DELETED, 6, 499, 0, GOES, STAYS, true },
    { CELL_DELETED, 7, 499, 0, STAYS, STAYS, true }, /* something outside is as old */
    { CELL_DELETED, 8, 499, 0, STAYS, STAYS, true },
    { CELL_DELETED, 6, 500, 0, STAYS, STAYS, false },
    { CELL_DELETED, INT64_MIN + 1, 0, 0, GOES, STAYS, true },
    { CELL_COLUMN_DELETED, 6, 499, 0, GOES, STAYS, true },
    { CELL_COLUMN_DELETED, 7, 499, 0, STAYS, STAYS, true },
    { CELL_COLUMN_DELETED, 6, 500, 0, STAYS, STAYS, false },
    { CELL_EXPIRING, 6, 1001, 600, STAYS, STAYS, false },
    { CELL_EXPIRING, 6, 1000, 500, BECOMES_TOMBSTONE, BECOMES_TOMBSTONE, false },
    { CELL_EXPIRING, 6, 1000, 501, GOES, BECOMES_TOMBSTONE, true },
    { CELL_EXPIRING, 7, 1000, 501, BECOMES_TOMBSTONE, BECOMES_TOMBSTONE, true },
    { CELL_EXPIRING, 6, 499, 1, GOES, BECOMES_TOMBSTONE, true },
    { CELL_EXPIRING, 7, 499, 1, BECOMES_TOMBSTONE, BECOMES_TOMBSTONE, true },
    { CELL_EXPIRING, 7, 10, 20, BECOMES_TOMBSTONE, BECOMES_TOMBSTONE, true }, /* no time below 0 */
};

static struct row row_of(struct cell *cell, size_t count)
{
    return (struct row){ .key = bytes_text("8"),
                         .liveness = { .timestamp = TIMESTAMP_NONE },
                         .deletion = deletion_none(),
                         .cells_count = count,
                         .cells = cell };
}

static void cell_case(size_t i, bool is_on)
{
    struct purge p = purge_of(is_on);
    struct cell cell = { .timestamp = cells[i].timestamp,
                         .column = 3,
                         .ttl = cells[i].ttl,
                         .seconds = cells[i].seconds,
                         .kind = cells[i].kind,
                         .path = bytes_text("p"),
                         .value = bytes_text(cells[i].kind < CELL_DELETED ? "x" : "") };
    struct cell before = cell;
    struct row row = row_of(&cell, 1);
    uint64_t purged = 5;
    enum fate fate = is_on ? cells[i].on : cells[i].off;
    bool concerns = fate != STAYS || cells[i].kind >= CELL_DELETED;
    ck_assert_int_eq(purge_concerns(&p, &row), concerns);
    ck_assert_int_eq(purge_row(&p, &row, &purged), fate != GOES);
    ck_assert_uint_eq(row.cells_count, fate != GOES);
    ck_assert_uint_eq(purged, 5 + (fate != STAYS));
    ck_assert_uint_eq(asked, is_on && cells[i].asks);
    if (fate == GOES)
        return;
    bool has_become = fate == BECOMES_TOMBSTONE;
    ck_assert_int_eq(cell.kind, has_become ? CELL_DELETED : before.kind);
    ck_assert_int_eq(cell.timestamp, before.timestamp);
    ck_assert_uint_eq(cell.ttl, has_become ? 0 : before.ttl);
    uint32_t written = before.seconds > before.ttl ? before.seconds - before.ttl : 0;
    ck_assert_uint_eq(cell.seconds, has_become ? written : before.seconds);
    ck_assert_uint_eq(cell.value.size, has_become ? 0 : before.value.size);
    ck_assert(bytes_equal(cell.path, before.path));
}

START_TEST(a_cell_goes_when_both_limits_allow_it)
{
    cell_case((size_t)_i, true);
    cell_case((size_t)_i, false);
}
END_TEST

START_TEST(what_is_left_keeps_its_order)
{
    struct purge p = purge_of(true);
    struct cell some[5];
    uint64_t purged = 0;
    for (uint32_t i = 0; i < 5; i++)
        some[i] = (struct cell){
            .timestamp = 1, .column = i, .seconds = 100, .kind = i % 2 ? CELL_LIVE : CELL_DELETED
        };
    struct row row = row_of(some, 5);
    ck_assert(purge_row(&p, &row, &purged));
    ck_assert_uint_eq(row.cells_count, 2);
    ck_assert(some[0].column == 1 && some[1].column == 3);
    ck_assert_uint_eq(purged, 3);
    ck_assert_uint_eq(asked, 1); /* once for all of them */
}
END_TEST

/* ---- liveness and deletions ---- */

static const struct {
    struct liveness liveness;
    bool goes, concerns;
} livenesses[] = {
    { { 1, 0, 0 }, false, false },    { { 6, 10, 1001 }, false, false },
    { { 6, 10, 1000 }, false, true }, { { 6, 10, 500 }, false, true },
    { { 6, 10, 499 }, true, true },   { { 7, 10, 499 }, false, true },
    { { 6, 600, 900 }, false, true }, /* its expiry counts, not when it was written */
};

START_TEST(an_expired_liveness_goes_by_its_expiry)
{
    struct purge p = purge_of(true), off = purge_of(false);
    struct row row = row_of(NULL, 0), other;
    uint64_t purged = 0;
    row.liveness = livenesses[_i].liveness;
    other = row;
    ck_assert_int_eq(purge_concerns(&p, &row), livenesses[_i].concerns);
    ck_assert_int_eq(purge_row(&p, &row, &purged), !livenesses[_i].goes);
    ck_assert_int_eq(row.liveness.timestamp == TIMESTAMP_NONE, livenesses[_i].goes);
    ck_assert_uint_eq(purged, livenesses[_i].goes);
    ck_assert(purge_row(&off, &other, &purged));
}
END_TEST

static const struct {
    struct deletion deletion;
    bool goes;
} deletions[] = {
    { { 6, 499 }, true },
    { { 7, 499 }, false },
    { { 6, 500 }, false },
    { { 8, 501 }, false },
};

START_TEST(a_rows_deletion_goes_as_a_partitions)
{
    struct purge p = purge_of(true), off = purge_of(false);
    struct row row = row_of(NULL, 0);
    uint64_t purged = 0;
    row.deletion = deletions[_i].deletion;
    ck_assert(purge_concerns(&p, &row));
    ck_assert_int_eq(purge_deletion(&p, row.deletion), deletions[_i].goes);
    ck_assert(!purge_deletion(&off, row.deletion));
    ck_assert_int_eq(purge_row(&p, &row, &purged), !deletions[_i].goes);
    ck_assert_uint_eq(purged, deletions[_i].goes);
    ck_assert_uint_le(asked, 1);
}
END_TEST

START_TEST(none_may_go_and_nobody_is_asked)
{
    struct purge p = purge_of(true);
    ck_assert(purge_deletion(&p, deletion_none()));
    ck_assert_uint_eq(asked, 0);
}
END_TEST

/* ---- markers ---- */

#define NONE              \
    {                     \
        TIMESTAMP_NONE, 0 \
    }
static const struct {
    struct deletion before, after;
    bool keeps_before, keeps_after;
    uint64_t purged; /* a range counts where it begins */
} markers[] = {
    { NONE, { 6, 499 }, false, false, 1 },       { { 6, 499 }, NONE, false, false, 0 },
    { NONE, { 6, 500 }, false, true, 0 },        { { 6, 500 }, NONE, true, false, 0 },
    { { 6, 499 }, { 6, 500 }, false, true, 0 },  { { 6, 500 }, { 6, 499 }, true, false, 1 },
    { { 6, 499 }, { 5, 499 }, false, false, 1 }, { { 7, 499 }, { 8, 500 }, true, true, 0 },
};

START_TEST(each_side_of_a_marker_goes_by_itself)
{
    struct purge p = purge_of(true);
    struct marker m = { .before = markers[_i].before, .after = markers[_i].after };
    uint64_t purged = 0;
    bool keeps_before = markers[_i].keeps_before, keeps_after = markers[_i].keeps_after;
    ck_assert_int_eq(purge_marker(&p, &m, &purged), keeps_before || keeps_after);
    ck_assert_int_eq(deletion_compare(m.before, markers[_i].before) == 0,
                     keeps_before || deletion_is_none(markers[_i].before));
    ck_assert_int_eq(deletion_is_none(m.before), !keeps_before);
    ck_assert_int_eq(deletion_is_none(m.after), !keeps_after);
    ck_assert_uint_eq(purged, markers[_i].purged);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("purging");
    TCase *t = tcase_create("purge");
    tcase_add_loop_test(t, a_cell_goes_when_both_limits_allow_it, 0, array_count(cells));
    tcase_add_test(t, what_is_left_keeps_its_order);
    tcase_add_loop_test(t, an_expired_liveness_goes_by_its_expiry, 0, array_count(livenesses));
    tcase_add_loop_test(t, a_rows_deletion_goes_as_a_partitions, 0, array_count(deletions));
    tcase_add_test(t, none_may_go_and_nobody_is_asked);
    tcase_add_loop_test(t, each_side_of_a_marker_goes_by_itself, 0, array_count(markers));
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}

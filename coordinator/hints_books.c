/* hints_books.c - the books of a journal: where every hint that was ever written is now.
 *
 *     written = delivered + expired + dropped | given up + pending
 *               settled: stand before `done`  | stand behind it
 *
 * Hints are settled in the order in which they stand, so one place tells all of them, and a mark of
 * that place with the settled totals is all that a start must find.  What is given up behind it (by
 * a TRUNCATE, say) is counted as dropped at once, and settled when its turn comes.
 *
 * What a pass does not meet, though it was counted, has been damaged; so has what a start misses
 * between two numbers where it finds a hole.  That stands in the books of no table (zero).
 *
 * The sum is checked after every change.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/hints_inside.h"

static const struct uuid no_table;

static struct bytes tally_key(const struct uuid *table)
{
    return bytes_of(table->b, sizeof table->b);
}

struct hint_tally *tally_of(struct hint_journal *j, const struct uuid *table)
{
    struct hint_tally *t = map_get(&j->tallies, tally_key(table));
    if (t)
        return t;
    t = mem_zalloc(sizeof *t);
    t->settled.table = *table;
    map_put(&j->tallies, tally_key(&t->settled.table), t);
    return t;
}

void books_deinit(struct hint_journal *j)
{
    size_t at = 0;
    for (struct hint_tally *t; (t = map_next(&j->tallies, &at));)
        mem_free(t);
    map_deinit(&j->tallies);
}

uint64_t tally_given_up(const struct hint_tally *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < HINT_DROPS_COUNT; i++)
        sum += t->given_up[i];
    return sum;
}

void tally_check(const struct hint_tally *t)
{
    uint64_t sum = t->settled.delivered + t->settled.expired + t->pending + tally_given_up(t);
    for (size_t i = 0; i < HINT_DROPS_COUNT; i++)
        sum += t->settled.dropped[i];
    ensure(sum == t->written);
    ensure_after(t->pending == 0, t->oldest_us == 0);
}

static struct journal_position behind(struct journal_position at)
{
    return (struct journal_position){ at.segment, at.offset + 1 };
}

static bool is_erased(const struct hint_tally *t, struct journal_position at)
{
    return hint_order(at, t->erased) < 0;
}

/* Hints are as old as their writes, so one may be older than others that stand before it. */
static void take_age(struct hint_tally *t, int64_t kept_us)
{
    bool is_first = t->pending == 0;
    t->oldest_us = is_first || kept_us < t->oldest_us ? kept_us : t->oldest_us;
    t->peak_us = is_first || kept_us > t->peak_us ? kept_us : t->peak_us;
    t->lag_us = is_first ? 0 : t->lag_us;
    if (t->peak_us - kept_us > t->lag_us)
        t->lag_us = t->peak_us - kept_us;
}

/* That one, which stood first, is over. */
static void leave_age(struct hint_tally *t, int64_t kept_us)
{
    int64_t least_us = kept_us - t->lag_us;
    t->oldest_us = least_us > t->oldest_us ? least_us : t->oldest_us;
    if (t->pending == 0)
        t->oldest_us = 0;
}

void books_written(struct hint_journal *j, const struct hint_written *w)
{
    struct hint_tally *t = tally_of(j, &w->table);
    ensure(hint_order(j->kept, w->at) <= 0 && hint_order(j->done, w->at) <= 0);
    if (hint_order(j->kept, j->done) <= 0)
        j->head_us = w->kept_us;
    t->written++;
    if (is_erased(t, w->at)) {
        t->given_up[t->erased_why]++;
    } else {
        take_age(t, w->kept_us);
        t->pending++;
    }
    j->kept = behind(w->at);
    j->kept_number = w->number + 1;
    t->newest_us = w->kept_us;
    tally_check(t);
}

void books_restore(struct hint_journal *j, const struct hint_record *mark)
{
    struct cursor c = cursor_of(mark->rest);
    struct hint_settled settled;
    size_t at = 0;
    for (struct hint_tally *t; (t = map_next(&j->tallies, &at));)
        *t = (struct hint_tally){ .settled.table = t->settled.table };
    while (cursor_left(&c) > 0 && hint_mark_next(&c, &settled)) {
        struct hint_tally *t = tally_of(j, &settled.table);
        t->settled = settled;
        t->written = settled.delivered + settled.expired;
        for (size_t i = 0; i < HINT_DROPS_COUNT; i++)
            t->written += settled.dropped[i];
    }
    j->done = j->kept = mark->done;
    j->done_number = j->kept_number = mark->settled;
    j->number = u64_max(j->number, mark->number);
}

/* One that was given up has its turn: of whatever reason, since they are only counted. */
static void settle_given_up(struct hint_tally *t)
{
    enum hint_drop why = t->erased_why;
    for (size_t i = 0; t->given_up[why] == 0 && i < HINT_DROPS_COUNT; i++)
        why = (enum hint_drop)i;
    ensure(t->given_up[why] > 0);
    t->given_up[why]--;
    t->settled.dropped[why]++;
}

static void tell_lost(const struct hint_journal *j, const int64_t *token, int64_t since_us)
{
    const struct hints_options *o = &j->target->hints->options;
    if (o->lost)
        o->lost(o->context, token, since_us);
}

static void settle_pending(struct hint_tally *t, const struct hint_item *item)
{
    ensure(t->pending > 0 && item->fate != HINT_OPEN);
    t->pending--;
    t->settled.delivered += item->fate == HINT_DELIVERED;
    t->settled.expired += item->fate == HINT_EXPIRED;
    if (item->fate == HINT_DROPPED)
        t->settled.dropped[item->why]++;
    leave_age(t, item->kept_us);
}

/* Everything before this place is settled. */
static void books_move(struct hint_journal *j, struct journal_position done)
{
    ensure(hint_order(j->done, done) <= 0);
    j->done = done;
    j->head_us = 0;
    if (j->damage.segment == 0 || hint_order(done, j->damage) <= 0)
        return;
    struct hint_tally *t = tally_of(j, &no_table);
    t->settled.dropped[HINT_DROP_DAMAGED] += t->given_up[HINT_DROP_DAMAGED];
    t->given_up[HINT_DROP_DAMAGED] = 0;
    j->damage = (struct journal_position){ 0 };
    tally_check(t);
}

void books_settle(struct hint_journal *j, const struct hint_item *item)
{
    struct hint_tally *t = tally_of(j, &item->table);
    ensure(hint_order(j->done, item->at) <= 0);
    if (is_erased(t, item->at))
        settle_given_up(t);
    else
        settle_pending(t, item);
    bool is_lost = item->fate == HINT_EXPIRED ||
                   (item->fate == HINT_DROPPED && item->why == HINT_DROP_REFUSED);
    if (is_lost && !is_erased(t, item->at))
        tell_lost(j, &item->token, item->kept_us);
    tally_check(t);
    t->to_see -= t->to_see > 0;
    j->bytes -= u64_min(j->bytes, item->record_bytes);
    j->unmarked++;
    j->done_number = item->number + 1;
    books_move(j, behind(item->at));
}

static void tally_give_up(struct hint_tally *t, enum hint_drop why, struct journal_position before)
{
    t->given_up[why] += t->pending;
    t->pending = 0;
    t->oldest_us = 0;
    t->erased = before;
    t->erased_why = why;
    tally_check(t);
}

/* By hand: nobody knows any more what the target misses. */
static void tell_given_up(const struct hint_journal *j, const struct hint_tally *t,
                          enum hint_drop why)
{
    if (why == HINT_DROP_BY_HAND && t->pending > 0)
        tell_lost(j, NULL, t->oldest_us);
}

void books_give_up(struct hint_journal *j, const struct uuid *table, enum hint_drop why,
                   struct journal_position before)
{
    size_t at = 0;
    if (!uuid_is_zero(table)) {
        tally_give_up(tally_of(j, table), why, before);
        return;
    }
    for (struct hint_tally *t; (t = map_next(&j->tallies, &at));) {
        tell_given_up(j, t, why);
        tally_give_up(t, why, before);
    }
}

void books_lost(struct hint_journal *j, uint64_t count, struct journal_position at,
                int64_t since_us)
{
    struct hint_tally *t = tally_of(j, &no_table);
    t->written += count;
    t->given_up[HINT_DROP_DAMAGED] += count;
    j->damage = at;
    tally_check(t);
    tell_lost(j, NULL, since_us);
}

void books_pass_begin(struct hint_journal *j)
{
    size_t at = 0;
    for (struct hint_tally *t; (t = map_next(&j->tallies, &at));)
        t->to_see = uuid_is_zero(&t->settled.table) ? 0 : t->pending + tally_given_up(t);
}

void books_pass_end(struct hint_journal *j, struct journal_position limit, uint64_t number)
{
    size_t at = 0;
    uint64_t lost = 0;
    int64_t since_us = INT64_MAX;
    for (struct hint_tally *t; (t = map_next(&j->tallies, &at));) {
        lost += t->to_see;
        if (t->to_see && t->oldest_us && t->oldest_us < since_us)
            since_us = t->oldest_us;
        for (; t->to_see > 0 && tally_given_up(t) > 0; t->to_see--)
            settle_given_up(t);
        ensure(t->pending >= t->to_see);
        t->pending -= t->to_see;
        t->settled.dropped[HINT_DROP_DAMAGED] += t->to_see;
        t->oldest_us = t->pending ? t->oldest_us : 0;
        t->to_see = 0;
        tally_check(t);
    }
    j->done_number = u64_max(j->done_number, number);
    if (hint_order(j->done, limit) < 0)
        books_move(j, limit);
    j->unmarked += lost;
    if (books_unsettled(j) == 0)
        j->bytes = 0;
    if (!lost)
        return;
    tell_lost(j, NULL, since_us < INT64_MAX ? since_us : 1);
    log_note(j->target->hints->io, LOG_WARN, "hints_damaged", "folder=%s hints=%llu", j->path,
             (unsigned long long)lost);
}

uint64_t books_unsettled(const struct hint_journal *j)
{
    size_t at = 0;
    uint64_t sum = 0;
    for (const struct hint_tally *t; (t = map_next(&j->tallies, &at));)
        sum += t->pending + tally_given_up(t);
    return sum;
}

uint64_t books_pending(const struct hint_journal *j)
{
    size_t at = 0;
    uint64_t sum = 0;
    for (const struct hint_tally *t; (t = map_next(&j->tallies, &at));)
        sum += t->pending;
    return sum;
}

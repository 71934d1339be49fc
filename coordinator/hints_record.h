/* hints_record.h - what the journals of hints hold, and what VERB_HINTS carries; pure.
 *
 *     hint   1 | 16 table | token i64 | kept at, wall us i64 | number u64 | vint parts | mutation
 *     part   2 | vint which, from 0 | bytes       pieces of a large mutation, before its hint
 *     mark   3 | number u64 | settled u64 | segment u64 | offset u64 | vint tables | tables
 *            each: 16 table | vint delivered | vint expired | vint reasons | a vint for each reason
 *     erase  4 | reason u8 | 16 table (zero: all)
 *
 * Hints of a journal are numbered one after the other.  A mark says that everything before its
 * place, all numbers below `settled`, is settled, and how: these are all totals since the journal
 * began.  Its `number` is the next hint's.  An erase gives up every
 * hint of its table that stands before it and that no mark has settled.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "coordinator/hints.h"
#include "io/journal.h"

enum hint_kind { HINT_RECORD = 1, HINT_PART = 2, HINT_MARK = 3, HINT_ERASE = 4 };
enum { HINT_HEAD_BYTES = 1 + 16 + 3 * 8 + VINT_BYTES_MAX };
enum { HINT_ANSWERS_MAX = 64 * 1024 };

struct hint_record { /* one of the four */
    enum hint_kind kind;
    struct uuid table;
    int64_t token, kept_us;
    uint64_t number;  /* hint: its own; mark: the next one's */
    uint64_t settled; /* mark */
    uint64_t parts;   /* hint: how many stand before it; part: which one it is */
    struct bytes rest;
    enum hint_drop why;           /* erase */
    struct journal_position done; /* mark */
    size_t tables_count;          /* mark: rest holds them, for hint_mark_next */
};
struct hint_settled { /* what has become of the hints of one table */
    struct uuid table;
    uint64_t delivered, expired, dropped[HINT_DROPS_COUNT];
};

void hint_put(struct buf *, const struct hint_record *); /* hint, part */
void hint_put_erase(struct buf *, enum hint_drop why, const struct uuid *table);
void hint_put_mark(struct buf *, const struct hint_record *); /* then tables_count settled ones */
void hint_put_settled(struct buf *, const struct hint_settled *);
/* Borrows from the input.  ERR_NEWER: of a kind that is not known; ERR_CORRUPT. */
enum err hint_get(struct bytes, struct hint_record *out);
/* The next table of a mark; reasons that are not known count as DAMAGED. */
bool hint_mark_next(struct cursor *, struct hint_settled *out);

static inline int hint_order(struct journal_position a, struct journal_position b)
{
    if (a.segment != b.segment)
        return a.segment < b.segment ? -1 : 1;
    return (a.offset > b.offset) - (a.offset < b.offset);
}

/* journal_parse.c - takes segments apart: runs, gaps, and what is neither; hands out the records.
 *
 * A mark leads a run, which must be there as a whole; a block without a mark is passed over.
 * Whether something is missing there, the marks that come later tell (journal_judge.c).  In a run
 * that is damaged, the records that verify are handed out.
 *
 * A segment that was made ahead and never used has no mark of its own: it is passed over.  So is
 * the rest of a used file behind the end of the new segment in it: marks are believed only where
 * they say they stand, and only with the salt of the first one.
 *
 * Every size is checked against the bytes that are there before it is used.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/journal_parse.h"

/* ---- what is missing ---- */

static void bad_place(struct journal_parser *p, struct journal_position at, uint64_t bytes)
{
    p->out->torn_bytes += bytes;
    journal_judge_bad(&p->judge, (struct journal_range){ at, bytes });
}

static void note_hole(struct journal_parser *p, const struct journal_range *hole)
{
    struct journal_replay *out = p->out;
    if (out->holes++ > 0)
        return;
    char path[JOURNAL_PATH_BYTES];
    journal_path(path, p->how->folder, hole->at.segment);
    out->bad = hole->at;
    snprintf(out->bad_file, sizeof out->bad_file, "%.199s", path);
}

/* What the mark proves to be missing; the first one ends a strict reading. */
static void take_holes(struct journal_parser *p, const struct journal_mark *m)
{
    struct journal_range hole;
    while (p->err == OK && journal_judge_hole(&p->judge, m, &hole)) {
        note_hole(p, &hole);
        if (p->how->holes != JOURNAL_SKIP_HOLE) {
            p->err = ERR_CORRUPT;
            return;
        }
        p->out->skipped_bytes += hole.bytes;
        if (p->how->skipped)
            p->how->skipped(p->how->context, hole);
    }
}

/* ---- runs ---- */

static bool is_at_limit(struct journal_parser *p, struct journal_position at)
{
    p->is_over |= p->has_limit && journal_order(at, p->limit) >= 0;
    return p->is_over;
}

void journal_parse_settle(struct journal_parser *p)
{
    if (p->how->settle)
        p->how->settle(p->how->context);
    arena_reset(&p->unpacked);
}

/* One record at the start of `body`; how many bytes it takes, whether it verifies or not. */
static size_t take_record(struct journal_parser *p, struct bytes body, struct journal_position at)
{
    struct journal_record stored;
    struct bytes record;
    if (p->unpacked.used_bytes > JOURNAL_UNPACKED_BYTES)
        journal_parse_settle(p);
    struct buf room = buf_in(&p->unpacked);
    if (journal_record_get(body, at, p->salt, &stored) &&
        journal_record_open(&stored, &room, &record)) {
        p->out->records++;
        p->out->bytes += record.size;
        if (!p->is_silent)
            p->err = p->how->record(p->how->context, record, at);
        return JOURNAL_HEAD_BYTES + stored.stored.size;
    }
    uint64_t size = body.size < JOURNAL_HEAD_BYTES ? 0 : get_be32(body.data) & INT32_MAX;
    bool may_skip = size > 0 && size + JOURNAL_HEAD_BYTES <= body.size;
    size_t lost = may_skip ? (size_t)size + JOURNAL_HEAD_BYTES : body.size;
    bad_place(p, at, lost);
    return lost;
}

/* A run, as far as it is there. */
static void take_run(struct journal_parser *p, const struct journal_mark *m, struct bytes run)
{
    uint64_t records = p->out->records, torn = p->out->torn_bytes;
    size_t end = JOURNAL_MARK_BYTES + m->body_bytes, at = JOURNAL_MARK_BYTES;
    size_t there = run.size < end ? run.size : end;
    while (at < there && p->err == OK) {
        struct journal_position place = { m->at.segment, m->at.offset + at };
        if (is_at_limit(p, place))
            return;
        at += take_record(p, bytes_of(run.data + at, there - at), place);
    }
    if (p->err != OK)
        return;
    uint64_t whole = journal_run_bytes(m->body_bytes);
    struct journal_position behind = { m->at.segment, m->at.offset + there };
    if (run.size < whole || !journal_zeros(bytes_of(run.data + end, run.size - end)))
        bad_place(p, behind, whole - there);
    if (p->out->torn_bytes == torn && p->out->records - records != m->records)
        bad_place(p, m->at, whole);
}

static void take_marked(struct journal_parser *p, const struct journal_mark *m, struct bytes run)
{
    if (is_at_limit(p, m->at))
        return;
    p->has_mark = true;
    p->salt = m->salt;
    p->is_reused |= (m->flags & JOURNAL_REUSED) != 0;
    if (!p->has_limit) {
        journal_judge_mark(&p->judge, m);
        take_holes(p, m);
    }
    if (p->err != OK)
        return;
    journal_judge_go(&p->judge, m);
    bool is_gap = m->records == 0 && m->body_bytes > 0;
    if (!is_gap)
        take_run(p, m, run);
    p->at.offset += is_gap ? journal_run_bytes(m->body_bytes) : run.size;
}

/* ---- blocks ---- */

/* The mark at the start of a block, if it is one of this place.  Of another version are heads
 * alone: elsewhere may stand what a client has sent. */
static enum err mark_here(struct journal_parser *p, struct bytes block, struct journal_mark *out)
{
    enum err err =
        block.size < JOURNAL_MARK_BYTES ? ERR_CORRUPT : journal_mark_get(block.data, out);
    if (err == ERR_CORRUPT)
        return err;
    bool is_head = p->at.offset == 0 && out->at.offset == 0;
    bool is_here = journal_order(out->at, p->at) == 0;
    p->is_reused |= is_head && out->at.segment < p->at.segment;
    if (!is_here || (p->has_mark && out->salt != p->salt))
        return ERR_CORRUPT;
    return err == OK || is_head ? err : ERR_CORRUPT;
}

static void take_block(struct journal_parser *p, struct bytes block)
{
    if (!journal_zeros(block))
        p->unknown_bytes += block.size;
    p->at.offset += block.size;
}

/* The bytes of the run of a mark that can be there. */
static size_t run_bytes(const struct journal_parser *p, const struct journal_mark *m)
{
    uint64_t left = p->size_bytes > p->at.offset ? p->size_bytes - p->at.offset : 0;
    if (m->records == 0 && m->body_bytes > 0)
        return JOURNAL_BLOCK_BYTES;
    return (size_t)u64_min(journal_run_bytes(m->body_bytes), u64_max(left, JOURNAL_BLOCK_BYTES));
}

size_t journal_parse(struct journal_parser *p, struct bytes rest, bool is_last)
{
    struct journal_mark mark;
    if (rest.size < JOURNAL_BLOCK_BYTES && !is_last)
        return JOURNAL_BLOCK_BYTES - rest.size;
    struct bytes block = bytes_of(rest.data, (size_t)u64_min(rest.size, JOURNAL_BLOCK_BYTES));
    enum err err = mark_here(p, block, &mark);
    if (err == ERR_NEWER || err == ERR_INVALID) {
        p->err = err;
        p->out->bad = p->at;
        return 0;
    }
    if (err != OK) {
        take_block(p, block);
        return 0;
    }
    size_t need = run_bytes(p, &mark);
    if (rest.size < need && !is_last)
        return need - rest.size;
    take_marked(p, &mark, bytes_of(rest.data, (size_t)u64_min(rest.size, need)));
    return 0;
}

/* ---- segments ---- */

void journal_parse_begin(struct journal_parser *p, uint64_t segment, uint64_t size_bytes)
{
    p->at = (struct journal_position){ segment, 0 };
    p->size_bytes = size_bytes;
    p->has_mark = p->is_reused = false;
    p->unknown_bytes = 0;
}

void journal_parse_end(struct journal_parser *p)
{
    if (!p->is_reused)
        p->out->torn_bytes += p->unknown_bytes;
}

void journal_parser_deinit(struct journal_parser *p) { arena_deinit(&p->unpacked); }

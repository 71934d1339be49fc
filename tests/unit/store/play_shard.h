/* play_shard.h - what one shard of the play does, as a node does it: shard 0 recovers; all open,
 * settle, and truncate when they are asked to.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "play.h"

#include <check.h>

static inline bool all_are_open(const struct play *p)
{
    for (int i = 0; i < p->shards_count; i++)
        if (!p->shards[i].is_open)
            return false;
    return true;
}

static inline bool all_are_settled(const struct play *p)
{
    for (int i = 0; i < p->shards_count; i++)
        if (!p->shards[i].is_settled)
            return false;
    return true;
}

static inline void wake_all(struct play *p)
{
    for (int i = 0; i < p->shards_count; i++)
        op_wake(&p->shards[i].op);
}

static void shard_start_writers(struct shard *);
static inline bool is_first(const struct shard *s) { return s == s->play->shards; }

enum { RECOVER, RECOVERED, OPEN, OPENED, SETTLE, SETTLED, REMOVED };
enum { TRUNCATE = REMOVED + 1, HELD, ERASE, ERASED };

static inline struct op_next shard_recover(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, op);
    if (!is_first(s))
        return s->play->is_recovered ? op_goto(OPEN) : op_wait(RECOVER);
    store_recover(s->io, &s->req, op, "/data", &s->play->catalog, &s->recovered, &s->failed);
    return op_wait(RECOVERED);
}

static inline struct op_next shard_recovered(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, op);
    if (s->req.busy)
        return op_wait(RECOVERED);
    ensure(s->req.err == OK && s->recovered.unknown_folders == 0);
    s->play->is_recovered = true;
    wake_all(s->play);
    return op_goto(OPEN);
}

static inline struct op_next shard_open(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, op);
    if (s->req.busy)
        return op_wait(OPEN);
    if (io_self(s->io) > 0 && s->play->acknowledged < s->play->late) {
        io_sleep(s->io, &s->req, op, 1000);
        return op_wait(OPEN);
    }
    struct store_options options = { .commitlog_folder = "/commitlog",
                                     .data_folder = "/data",
                                     .segment_bytes = 1 << 16,
                                     .memtable_bytes = 1 << 19,
                                     .cache_bytes = 1 << 18,
                                     .version = SSTABLE_NB,
                                     .host = uuid_named(bytes_text("node")),
                                     .catalog = &s->play->catalog,
                                     .owns = owns,
                                     .context = s,
                                     .shard_of = shard_of };
    store_open(s->io, &s->req, op, &options, &s->store, &s->failed);
    return op_wait(OPENED);
}

static inline struct op_next shard_opened(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, op);
    if (s->req.busy)
        return op_wait(OPENED);
    if (s->req.err != OK)
        ck_abort_msg("shard %d: %s", io_self(s->io), s->failed.text);
    s->is_open = true;
    if (s->play->is_eager)
        shard_start_writers(s);
    wake_all(s->play);
    return op_goto(SETTLE);
}

static inline struct op_next shard_settle(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, op);
    if (!all_are_open(s->play))
        return op_wait(SETTLE);
    store_settle(s->store, &s->req, op, &s->failed);
    return op_wait(SETTLED);
}

static inline struct op_next shard_settled(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, op);
    if (s->req.busy)
        return op_wait(SETTLED);
    ensure(s->req.err == OK);
    if (!s->is_settled) {
        s->is_settled = true;
        wake_all(s->play);
    }
    if (!all_are_settled(s->play))
        return op_wait(SETTLED);
    if (is_first(s))
        store_remove_logs(s->store, &s->req, op);
    return op_wait(REMOVED);
}

static inline struct op_next shard_removed(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, op);
    if (s->req.busy)
        return op_wait(REMOVED);
    if (is_first(s) && !s->play->has_removed) {
        ensure(s->req.err == OK);
        s->play->has_removed = true;
        wake_all(s->play);
    }
    if (!s->play->has_removed)
        return op_wait(REMOVED);
    store_settled(s->store);
    return op_goto(TRUNCATE);
}

static inline struct op_next shard_truncate(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, op);
    if (!s->play->must_truncate || s->is_truncated)
        return op_wait(TRUNCATE);
    store_hold(s->store, &s->req, op, &s->play->table->id, &s->held);
    return op_wait(HELD);
}

static inline struct op_next shard_held(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, op);
    if (s->req.busy)
        return op_wait(HELD);
    ensure(s->req.err == OK && s->held);
    wake_all(s->play);
    return op_goto(is_first(s) ? ERASE : ERASED);
}

static inline struct op_next shard_erase(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, op);
    struct play *p = s->play;
    struct store_held *held[SHARDS_MAX];
    for (int i = 0; i < p->shards_count; i++) {
        if (!p->shards[i].held)
            return op_wait(ERASE);
        held[i] = p->shards[i].held;
    }
    store_erase(s->store, &s->req, op, &p->table->id, held, (size_t)p->shards_count);
    return op_wait(ERASED);
}

static inline struct op_next shard_erased(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, op);
    if (s->req.busy)
        return op_wait(ERASED);
    if (is_first(s) && !s->play->is_erased) {
        ensure(s->req.err == OK);
        s->play->is_erased = true;
        wake_all(s->play);
    }
    if (!s->play->is_erased)
        return op_wait(ERASED);
    store_release(s->store, &s->held, true);
    s->is_truncated = true;
    return op_wait(TRUNCATE);
}

static const struct op_state shard_states[] = {
    [RECOVER] = { "recover", shard_recover, TO(RECOVERED) | TO(OPEN) },
    [RECOVERED] = { "recovered", shard_recovered, TO(OPEN) },
    [OPEN] = { "open", shard_open, TO(OPENED) },
    [OPENED] = { "opened", shard_opened, TO(SETTLE) },
    [SETTLE] = { "settle", shard_settle, TO(SETTLED) },
    [SETTLED] = { "settled", shard_settled, TO(REMOVED) },
    [REMOVED] = { "removed", shard_removed, TO(TRUNCATE) },
    [TRUNCATE] = { "truncate", shard_truncate, TO(HELD) },
    [HELD] = { "held", shard_held, TO(ERASE) | TO(ERASED) },
    [ERASE] = { "erase", shard_erase, TO(ERASED) },
    [ERASED] = { "erased", shard_erased, TO(TRUNCATE) },
};

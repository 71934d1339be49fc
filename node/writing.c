/* writing.c - the mutations of a request: each a write of its own, or all of them one logged batch.
 *
 *     one partition                        a write
 *     several, unlogged                    as many writes
 *     several, logged                      a batch (coordinator/batch.c)
 *
 * What a client is told of several mutations is true of each: as many replicas as of the one that
 * the fewest have.  What a batch of several partitions weighs is looked at here, whichever way it
 * came.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/writing.h"

enum { TABLES_TOLD_MAX = 4, HEAD_BYTES = 32 };
static const uint64_t warning_pause_ns = 60000000000;

/* ---- how large and how wide ---- */

/* "[k.t, k.u]" */
static const char *batch_tables(struct writing *w, const struct cql_action *action)
{
    const struct table *told[TABLES_TOLD_MAX];
    size_t count = 0;
    struct buf text = buf_in(w->arena);
    for (size_t i = 0; i < action->mutations_count && count < TABLES_TOLD_MAX; i++) {
        const struct table *t = action->mutations[i].table;
        size_t at = 0;
        while (at < count && told[at] != t)
            at++;
        if (at < count)
            continue;
        told[count++] = t;
        buf_printf(&text, "%s%s.%s", count > 1 ? ", " : "[", t->keyspace, t->name);
    }
    buf_put(&text, "]", sizeof "]");
    return (const char *)text.data;
}

static void batch_warn(struct writing *w, const char *text)
{
    log_note_rarely(w->shard->io, warning_pause_ns, LOG_WARN, "batch", "%s", text);
    if (w->warning.size)
        text = arena_printf(w->arena, "%.*s; %s", (int)w->warning.size,
                            (const char *)w->warning.data, text);
    w->warning = bytes_text(text);
}

static enum err batch_weigh(struct writing *w, const struct cql_action *action,
                            struct report *report)
{
    const struct config *c = w->shard->config;
    uint64_t bytes = 0, warn = c->batch_size_warn_threshold_bytes;
    for (size_t i = 0; i < action->mutations_count; i++)
        bytes += action->mutations[i].encoded.size;
    if (bytes > c->batch_size_fail_threshold_bytes)
        return report_set(report, ERR_INVALID,
                          "Batch too large: for %s it is of size %llu, above "
                          "batch_size_fail_threshold (%llu)",
                          batch_tables(w, action), (unsigned long long)bytes,
                          (unsigned long long)c->batch_size_fail_threshold_bytes);
    if (action->is_logged && bytes + HEAD_BYTES * action->mutations_count > BATCHLOG_BYTES_MAX)
        return report_set(
            report, ERR_INVALID,
            "Batch too large: a logged one may take %d bytes, and this one takes %llu",
            BATCHLOG_BYTES_MAX, (unsigned long long)bytes);
    if (bytes > warn)
        batch_warn(w, arena_printf(w->arena,
                                   "Batch for %s is of size %llu, exceeding specified threshold of "
                                   "%llu by %llu (see batch_size_warn_threshold)",
                                   batch_tables(w, action), (unsigned long long)bytes,
                                   (unsigned long long)warn, (unsigned long long)(bytes - warn)));
    size_t wide = (size_t)c->unlogged_batch_across_partitions_warn_threshold;
    if (!action->is_logged && action->mutations_count > wide)
        batch_warn(w,
                   arena_printf(w->arena,
                                "Unlogged batch covering %zu partitions of %s: single writes are "
                                "faster, and only a logged batch is whole or not at all (see "
                                "unlogged_batch_across_partitions_warn_threshold)",
                                action->mutations_count, batch_tables(w, action)));
    return OK;
}

/* ---- sending ---- */

static const struct keyspace *keyspace_of(const struct writing *w, const struct cql_mutation *m)
{
    return catalog_keyspace(&w->shard->catalog, m->table->keyspace);
}

static enum err writing_batch(struct writing *w, struct op *op, const struct cql_action *action)
{
    struct coordinator_batch_part *parts =
        arena_array(w->arena, struct coordinator_batch_part, action->mutations_count);
    for (size_t i = 0; i < action->mutations_count; i++) {
        const struct cql_mutation *m = &action->mutations[i];
        parts[i] = (struct coordinator_batch_part){ keyspace_of(w, m), m->token, m->encoded };
        if (!parts[i].keyspace)
            return ERR_NOT_FOUND;
    }
    struct coordinator_batch batch = { .level = w->level,
                                       .count = action->mutations_count,
                                       .parts = parts,
                                       .deadline_ns = w->deadline_ns };
    struct writing_part *part = &w->parts[w->count++];
    coordinator_batch(w->shard->coordinator, &part->req, op, &batch, &part->outcome);
    return OK;
}

enum err writing_start(struct writing *w, struct op *op, const struct cql_action *action,
                       struct report *report)
{
    bool is_wide = action->kind == CQL_BATCH && action->mutations_count > 1;
    w->type = action->is_logged ? "BATCH" : action->kind == CQL_BATCH ? "UNLOGGED_BATCH" : "SIMPLE";
    enum err err = is_wide ? batch_weigh(w, action, report) : OK;
    if (err != OK)
        return err;
    w->parts = arena_array(w->arena, struct writing_part, action->mutations_count);
    if (is_wide && action->is_logged)
        return writing_batch(w, op, action);
    for (size_t i = 0; i < action->mutations_count; i++) {
        const struct cql_mutation *m = &action->mutations[i];
        struct coordinator_write write = { .keyspace = keyspace_of(w, m),
                                           .level = w->level,
                                           .token = m->token,
                                           .mutation = m->encoded,
                                           .deadline_ns = w->deadline_ns };
        if (!write.keyspace) /* dropped between bind and here cannot be: same step */
            return ERR_NOT_FOUND;
        struct writing_part *part = &w->parts[w->count++];
        coordinator_write(w->shard->coordinator, &part->req, op, &write, &part->outcome);
    }
    return OK;
}

bool writing_is_busy(const struct writing *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->parts[i].req.busy)
            return true;
    return false;
}

/* ---- what is told ---- */

enum err writing_result(const struct writing *w, struct failure *f)
{
    struct coordinator_outcome *out = &f->outcome;
    enum err err = OK;
    *out = (struct coordinator_outcome){ 0 };
    for (size_t i = 0; i < w->count && err == OK; i++) {
        const struct writing_part *part = &w->parts[i];
        err = part->req.err;
        if (i == 0 || err != OK || outcome_is_less(&part->outcome, out))
            *out = part->outcome;
    }
    f->write_type = out->is_of_batchlog ? "BATCH_LOG" : w->type;
    if (out->is_of_batchlog) /* as Cassandra has it: the keepers' level, not the client's */
        f->consistency = out->required == 1 ? CL_ONE : CL_TWO;
    return err;
}

struct bytes writing_told(const struct coordinator_outcome *o, struct arena *arena)
{
    if (!o->replicas)
        return (struct bytes){ 0 };
    return bytes_text(arena_printf(arena, "replicas=%u acked=%u synced=%u hinted=%u", o->replicas,
                                   o->acked, o->synced, o->hinted));
}

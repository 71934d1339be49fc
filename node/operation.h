/* operation.h - what somebody at the machine asks of a node, and that takes its time: flush,
 * snapshot, ... .  On shard 0.
 *
 *     POST /api/v1/ops/<verb> ──> running ──> done | failed        GET /api/v1/ops/<id> tells
 *
 * A verb is a row of the table in operation.c; its work is an op with states of its own, which
 * sends errands to the shards.  At most OPERATIONS_RUNNING_MAX run at once; of those that have
 * ended the last OPERATIONS_KEPT are kept, so that who asked can hear how it went.  Private to
 * node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/errand.h"
#include "node/form.h"
#include "node/http.h"

enum { OPERATIONS_RUNNING_MAX = 16, OPERATIONS_KEPT = 64 };

struct operation;
struct operation_verb {
    const char *name;
    const char *takes; /* words that may be given, each with a blank behind it */
    const struct op_state *states;
    size_t work_bytes;
    void (*release)(struct operation *);  /* of its work; may be NULL */
    void (*progress)(struct operation *); /* brings done and total up to date; may be NULL */
};
struct operation {
    struct op op;
    struct list link;
    struct shard *shard;
    struct operations *all;
    const struct operation_verb *verb;
    uint64_t id;
    int64_t begun_us, ended_us; /* wall */
    bool is_ended;
    struct form form;
    struct arena arena; /* goes when it is forgotten */
    void *work;         /* work_bytes, zeroed */
    struct errands errands;
    struct table **tables; /* counted until it ends */
    size_t tables_count, at;
    uint64_t done, total; /* progress; total 0: not known */
    const char *unit;
    const char *place; /* from where another one would go on; NULL: there is no such place */
    struct buf result; /* JSON: an object, or nothing */
    struct report failed;
};
struct operations {
    struct shard *shard;
    struct list list; /* struct operation, oldest first */
    unsigned running_count, ended_count;
    uint64_t last_id;
    bool is_stopping;
};
static inline struct operation *operation_of(struct op *op)
{
    return owner_of(op, struct operation, op);
}

void operations_init(struct operations *, struct shard *);
void operations_deinit(struct operations *); /* idle */
/* No new ones, and those that run are asked to end. */
void operations_stop(struct operations *);
bool operations_idle(const struct operations *);
/* POST <verb>, and GET of all (empty) or of one: the whole answer. */
void operations_post(struct operations *, const char *name, struct bytes body, struct buf *out);
void operations_get(struct operations *, const char *id, struct buf *out);

/* ---- for the verbs ---- */
/* Ends with the sentence. */
struct op_next operation_fail(struct operation *, enum err, const char *format, ...)
    printf_like(3, 4);
/* The tables that keyspace and table of the form name: all of a keyspace, all; sorted by name.
 * ERR_NOT_FOUND, and what failed is said. */
enum err operation_choose(struct operation *);
/* A word of the form: true or 1, false or 0, absent: false.  A number, a token, which must be
 * there.  ERR_INVALID, and what may stand there is said. */
enum err operation_flag(struct operation *, const char *name, bool *out);
enum err operation_number(struct operation *, const char *name, uint64_t least, uint64_t most,
                          uint64_t *out);
enum err operation_token(struct operation *, const char *name, int64_t *out);
/* Sends an errand to every shard. */
void operation_send(struct operation *, const struct errand_kind *, const void *what);
/* Whether all are home and went well; else what failed is said. */
enum err operation_sent(struct operation *);

extern const struct operation_verb operation_flush, operation_snapshot, operation_clearsnapshot,
    operation_pausehandoff, operation_resumehandoff, operation_sethintedhandoffthrottlekb,
    operation_truncatehints, operation_cachedrop, operation_import, operation_refresh,
    operation_compact, operation_stop, operation_autocompaction, operation_setcompactionthroughput,
    operation_setconcurrentcompactors, operation_compactionplan, operation_compactionwhy,
    operation_repair;

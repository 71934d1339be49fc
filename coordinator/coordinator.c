/* coordinator.c - one shard's coordinator: its tasks and its counters.
 *
 * Every op under way is a task on `busy`; stopping marks them all, and the coordinator is idle when
 * the list is empty.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/inside.h"

struct coordinator *coordinator_new(const struct coordinator_options *options)
{
    struct coordinator *c = mem_zalloc(sizeof *c);
    ensure(options->io && options->cluster && options->replica.apply && options->replica.read);
    c->options = *options;
    c->io = options->io;
    c->cluster = options->cluster;
    list_init(&c->busy);
    list_init(&c->idle_writes);
    list_init(&c->lingering);
    list_init(&c->begun);
    list_init(&c->idle_asks);
    return c;
}

void coordinator_free(struct coordinator **coordinator)
{
    struct coordinator *c = *coordinator;
    ensure(coordinator_idle(c));
    write_free_idle(c);
    ask_free_idle(c);
    latency_tables_deinit(&c->tables);
    mem_free(c);
    *coordinator = NULL;
}

void coordinator_stop(struct coordinator *c)
{
    c->is_stopping = true;
    list_each(l, &c->busy) op_stop(&owner_of(l, struct task, link)->op, ERR_STOPPED);
}

bool coordinator_idle(const struct coordinator *c) { return list_empty(&c->busy); }

void task_begin(struct task *t, struct coordinator *c, const struct op_state *states,
                void (*release)(struct op *))
{
    t->c = c;
    list_add(&c->busy, &t->link);
    c->counts.in_flight++;
    op_start(&t->op, io_ops(c->io), NULL, states, release);
    if (c->is_stopping)
        op_stop(&t->op, ERR_STOPPED);
}

void task_end(struct task *t)
{
    ensure(t->c->counts.in_flight > 0);
    t->c->counts.in_flight--;
    list_remove(&t->link);
}

bool outcome_is_less(const struct coordinator_outcome *a, const struct coordinator_outcome *b)
{
    if (a->acked != b->acked)
        return a->acked < b->acked;
    return a->synced != b->synced ? a->synced < b->synced : a->hinted < b->hinted;
}

void coordinator_counts(const struct coordinator *c, struct coordinator_counts *out)
{
    *out = c->counts;
    out->bytes = c->bytes_in_flight;
}

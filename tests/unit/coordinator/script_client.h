/* script_client.h - a client of the coordinator under test: a write, a read or a batch, and what it
 * was told.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "script_replica.h"

static inline int script_order(const struct script_row *a, const struct script_row *b)
{
    if (a->token != b->token)
        return a->token < b->token ? -1 : 1;
    return a->c - b->c;
}

static inline void script_begin(uint64_t seed, unsigned factor, const struct script_row *rows,
                                size_t rows_count)
{
    struct sim_faults faults = { .net_ns_max = 200000 };
    memset(&script, 0, sizeof script);
    script.table = script_table();
    script.keyspace =
        (struct keyspace){ .name = "k", .replication = REPLICATION_SIMPLE, .factor = factor };
    for (size_t i = 0; i < rows_count; i++) {
        struct script_row row = rows[i];
        size_t at = script.rows_count++;
        snprintf(row.key, sizeof row.key, "p%d", row.p);
        row.token = key_token(bytes_text(row.key));
        for (; at > 0 && script_order(&script.rows[at - 1], &row) > 0; at--)
            script.rows[at] = script.rows[at - 1];
        script.rows[at] = row;
    }
    rig_init(&script.rig, seed, faults);
    script.rig.answer = script_answer;
    for (int i = 0; i < RIG_NODES; i++)
        rig_start(&script.rig, i, 1);
    ensure(rig_until(&script.rig, rig_all_up, 30));
    struct rig_shard *shard = &script.rig.nodes[0].shards[0];
    struct coordinator_options options = {
        .io = shard->io,
        .cluster = shard->cluster,
        .replica = { .context = shard->io,
                     .apply = script_apply,
                     .read = script_read_slot,
                     .read_now = script_read_now },
    };
    script.coordinator = coordinator_new(&options);
}

static inline void script_down(unsigned node)
{
    rig_kill(&script.rig, (int)node - 1);
    while (cluster_is_up(script.rig.nodes[0].shards[0].cluster, node))
        ensure(sim_step(script.rig.sim));
}

/* Until it has nothing to do any more. */
static inline void script_settle(void)
{
    while (!coordinator_idle(script.coordinator))
        ensure(sim_step(script.rig.sim));
}

static inline void script_end(void)
{
    coordinator_stop(script.coordinator);
    script_settle();
    coordinator_free(&script.coordinator);
    table_unref(&script.table);
    sim_free(script.rig.sim);
}

/* ---- requests ---- */

struct script_client {
    struct op op;
    struct io_req req;
    bool is_read, is_done;
    struct coordinator_write write;
    struct coordinator_batch *batch; /* NULL: another request */
    struct coordinator_read read;
    struct read_outcome read_outcome;
    struct coordinator_outcome outcome;
    struct read_sink sink;
    struct arena arena;
    char text[SCRIPT_TEXT_BYTES]; /* "p1: 1=a 2=b; p2: ..." of live rows */
    uint64_t timeout_ns, begun_ns, ended_ns;
    enum err err;
};

static inline void script_say(struct script_client *c, const char *text, size_t size)
{
    size_t at = strlen(c->text);
    snprintf(c->text + at, sizeof c->text - at, "%.*s", (int)size, text);
}
static inline void script_sink_partition(struct read_sink *sink, struct bytes key, int64_t token,
                                         struct deletion deletion)
{
    struct script_client *c = owner_of(sink, struct script_client, sink);
    (void)token, (void)deletion;
    script_say(c, (const char *)key.data, key.size);
    script_say(c, ": ", 2);
}
static inline void script_sink_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct script_client *c = owner_of(sink, struct script_client, sink);
    char number[16];
    if (!is_live)
        return;
    struct bytes value = row_cell(row, 2)->value;
    snprintf(number, sizeof number, "%u=", get_be32(row_clustering(row, 0).data));
    script_say(c, number, strlen(number));
    script_say(c, (const char *)value.data, value.size);
    script_say(c, " ", 1);
}

static inline struct op_next script_client_begin(struct op *op)
{
    struct script_client *c = owner_of(op, struct script_client, op);
    c->begun_ns = io_now(script.rig.nodes[0].shards[0].io);
    uint64_t deadline_ns = c->begun_ns + c->timeout_ns;
    c->write.deadline_ns = c->read.deadline_ns = deadline_ns;
    if (c->batch) {
        c->batch->deadline_ns = deadline_ns;
        coordinator_batch(script.coordinator, &c->req, op, c->batch, &c->outcome);
    } else if (c->is_read) {
        coordinator_read(script.coordinator, &c->req, op, &c->read, &c->read_outcome, &c->outcome);
    } else {
        coordinator_write(script.coordinator, &c->req, op, &c->write, &c->outcome);
    }
    ensure(c->req.busy); /* never inside the call */
    return op_wait(1);
}
static inline struct op_next script_client_end(struct op *op)
{
    struct script_client *c = owner_of(op, struct script_client, op);
    if (c->req.busy)
        return op_wait(1);
    c->is_done = true;
    c->err = c->req.err;
    c->ended_ns = io_now(script.rig.nodes[0].shards[0].io);
    return op_end(op, OK);
}
static const struct op_state script_client_states[] = {
    { "begin", script_client_begin, TO(1) },
    { "end", script_client_end, TO(1) },
};
static inline void script_client_start(struct script_client *c)
{
    c->timeout_ns = 200 * script_ms;
    c->is_done = false;
    op_start(&c->op, io_ops(script.rig.nodes[0].shards[0].io), NULL, script_client_states, NULL);
}
static inline void script_wait(struct script_client *c)
{
    while (!c->is_done)
        ensure(sim_step(script.rig.sim));
}
static inline void script_write_start(struct script_client *c, enum level level)
{
    *c = (struct script_client){ .write = { .keyspace = &script.keyspace,
                                            .level = level,
                                            .token = 5,
                                            .mutation = bytes_text("mutation") } };
    script_client_start(c);
}
/* One round; appends to c->text. */
static inline void script_read_start(struct script_client *c, enum level level,
                                     const struct read *read)
{
    c->is_read = true;
    c->sink = (struct read_sink){ script_sink_partition, script_sink_row, read_ignore_range };
    c->read = (struct coordinator_read){ .keyspace = &script.keyspace,
                                         .table = script.table,
                                         .level = level,
                                         .read = read,
                                         .arena = &c->arena,
                                         .sink = &c->sink };
    script_client_start(c);
}

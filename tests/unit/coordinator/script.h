/* script.h - three nodes whose replicas do what a story says: for the tests of coordinator/.
 *
 * Every node holds rows of its own (told by a mask of nodes), applies or reads after a millisecond,
 * and may be told to refuse, to be slow, or to say nothing.  The coordinator under test is node
 * 1's.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "../cluster/rig.h"
#include "base/mem.h"
#include "coordinator/coordinator.h"

enum script_does { OBEY, REFUSE, OVERLOAD, SLOW, SILENT, SLOW_WRITES, REFUSE_WRITES };
enum { SCRIPT_ROWS_MAX = 64, SCRIPT_TEXT_BYTES = 2048 };
static const uint64_t script_ms = 1000000;

struct script_row { /* ascending by (token of p, c) once script_begin has sorted them */
    int p, c;       /* partition "p<p>", clustering value */
    int64_t timestamp;
    const char *value; /* NULL: deleted */
    unsigned nodes;    /* a bit per node, from 1 */
    int64_t token;     /* filled in */
    char key[8];
};
struct script {
    struct rig rig;
    struct keyspace keyspace;
    struct table *table;
    struct coordinator *coordinator;
    enum script_does does[RIG_NODES + 1];
    unsigned applied[RIG_NODES + 1], reads[RIG_NODES + 1]; /* reads: digests too */
    unsigned digests[RIG_NODES + 1], repaired[RIG_NODES + 1];
    struct script_row rows[SCRIPT_ROWS_MAX];
    size_t rows_count;
};
static struct script script;

/* ---- the table: p text, c int, v text ---- */

static inline struct table *script_table(void)
{
    static const struct {
        const char *name;
        enum type_kind type;
        enum column_kind kind;
    } columns[] = { { "p", TYPE_TEXT, COLUMN_PARTITION },
                    { "c", TYPE_INT, COLUMN_CLUSTERING },
                    { "v", TYPE_TEXT, COLUMN_REGULAR } };
    struct table *t = table_new();
    t->keyspace = "k";
    t->name = "t";
    t->columns_count = 3;
    t->partition_count = t->clustering_count = 1;
    t->columns = arena_array(&t->arena, struct column, 3);
    for (uint32_t i = 0; i < 3; i++)
        t->columns[i] = (struct column){ .name = columns[i].name,
                                         .type = type_native(columns[i].type),
                                         .kind = columns[i].kind,
                                         .number = i };
    return t;
}

static inline struct row *script_make_row(const struct script_row *from, struct arena *arena)
{
    struct row *row = arena_new(arena, struct row);
    uint8_t c[4];
    struct buf key = buf_in(arena), raw = buf_in(arena);
    put_be32(c, (uint32_t)from->c);
    struct bytes value = bytes_of(c, 4);
    comparable_key(script.table, &value, &key);
    buf_put_sized(&raw, value);
    *row = (struct row){ .key = buf_bytes(&key),
                         .clustering = buf_bytes(&raw),
                         .liveness = { .timestamp = TIMESTAMP_NONE },
                         .deletion = deletion_none() };
    if (!from->value) {
        row->deletion = (struct deletion){ from->timestamp, 1 };
        return row;
    }
    row->cells_count = 1;
    row->cells = arena_new(arena, struct cell);
    *row->cells = (struct cell){ .timestamp = from->timestamp,
                                 .column = 2,
                                 .kind = CELL_LIVE,
                                 .value = bytes_text(from->value) };
    return row;
}

static inline bool script_wanted(const struct read *read, const struct script_row *row,
                                 struct bytes row_key)
{
    struct bytes key = bytes_text(row->key);
    struct position at = { true, row->token, key, row_key };
    if (read->is_range ? row->token <= read->after || row->token > read->upto
                       : !bytes_equal(read->key, key))
        return false;
    return !read->from.is_set || position_compare(&at, &read->from, read->is_reversed) > 0;
}

/* A mutation of a repair: the node has this version of each row, and no other any more. */
static inline void script_repair(unsigned node, struct bytes encoded)
{
    struct arena arena = { 0 };
    struct mutation m;
    bool is_repair = mutation_decode(encoded, script.table, &arena, &m) == OK;
    for (size_t i = 0; is_repair && i < m.rows_count * script.rows_count; i++) {
        const struct row *row = &m.rows[i / script.rows_count];
        struct script_row *at = &script.rows[i % script.rows_count];
        int64_t timestamp = row->cells_count ? row->cells->timestamp : row->deletion.timestamp;
        if (at->token != m.token || (uint32_t)at->c != get_be32(row_clustering(row, 0).data))
            continue;
        if (at->timestamp == timestamp)
            at->nodes |= 1u << node;
        else
            at->nodes &= ~(1u << node);
    }
    script.repaired[node] += is_repair;
    arena_deinit(&arena);
}

/* What a node's replica would answer: its rows in order, up to the limit. */
static inline struct bytes script_read(unsigned node, const struct read *read, struct arena *arena)
{
    struct buf out = buf_in(arena);
    struct result_writer writer;
    struct read_outcome outcome = { 0 };
    int64_t token = INT64_MIN;
    result_begin(&writer, read, &out);
    for (size_t i = 0; i < script.rows_count; i++) {
        const struct script_row *from = &script.rows[i];
        struct row *row = script_make_row(from, arena);
        if (!(from->nodes >> node & 1) || !script_wanted(read, from, row->key))
            continue;
        if (outcome.rows_count == read->rows_limit) {
            outcome.has_more = true;
            break;
        }
        if (from->token != token)
            writer.sink.partition(&writer.sink, bytes_text(from->key), from->token,
                                  deletion_none());
        token = from->token;
        writer.sink.row(&writer.sink, row, from->value != NULL);
        outcome.rows_count += from->value != NULL;
        outcome.last = (struct position){ true, token, bytes_text(from->key), row->key };
    }
    result_end(&writer, &outcome);
    return buf_bytes(&out);
}

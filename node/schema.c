/* schema.c - what a metadata entry does to a shard, and a node's coming and going.
 *
 * An entry is applied to this shard's catalog; what it made obsolete goes (rows and files of
 * dropped tables, plans of tables that are gone or altered); registered clients are told.  Entries
 * come in order, on every shard.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "compaction/compaction.h"
#include "node/erase.h"
#include "node/life.h"
#include "node/session.h"

static void schema_note(struct table *t, struct buf *tables)
{
    table_ref(t);
    buf_put(tables, &t, sizeof(struct table *));
}

/* The tables that a drop takes away, before it does: pointers, a reference each. */
static void schema_list_dropped(struct shard *s, const struct schema_change *c, struct buf *tables)
{
    if (c->kind == CHANGE_DROP_TABLE) {
        struct table *t = catalog_table_by_id(&s->catalog, &c->table->id);
        if (t)
            schema_note(t, tables);
    } else if (c->kind == CHANGE_DROP_KEYSPACE) {
        struct keyspace *k = catalog_keyspace(&s->catalog, c->keyspace->name);
        struct table *t = NULL;
        for (size_t at = 0; k && (t = map_next(&k->tables, &at));)
            schema_note(t, tables);
    }
}

static void schema_tell(struct shard *s, const struct schema_change *c)
{
    static const char *const changes[] = {
        [CHANGE_CREATE_KEYSPACE] = "CREATED", [CHANGE_ALTER_KEYSPACE] = "UPDATED",
        [CHANGE_DROP_KEYSPACE] = "DROPPED",   [CHANGE_CREATE_TABLE] = "CREATED",
        [CHANGE_ALTER_TABLE] = "UPDATED",     [CHANGE_DROP_TABLE] = "DROPPED",
        [CHANGE_CREATE_TYPE] = "CREATED",     [CHANGE_ALTER_TYPE] = "UPDATED",
        [CHANGE_DROP_TYPE] = "DROPPED",
    };
    struct schema_event event = { .change = changes[c->kind] };
    if (change_is_of_table(c)) {
        event.target = "TABLE";
        event.keyspace = bytes_text(c->table->keyspace);
        event.name = bytes_text(c->table->name);
    } else if (change_is_of_type(c)) {
        event.target = "TYPE";
        event.keyspace = bytes_text(c->type->keyspace);
        event.name = bytes_text(c->type->name);
    } else {
        event.target = "KEYSPACE";
        event.keyspace = bytes_text(c->keyspace->name);
    }
    events_schema(s, &event);
}

/* Lets go of those tables that have gone from the catalog, and of the references. */
static void schema_forget(struct shard *s, struct bytes tables)
{
    for (size_t at = 0; at < tables.size; at += sizeof(struct table *)) {
        struct table *t;
        memcpy(&t, tables.data + at, sizeof(struct table *));
        bool is_gone = s->has_begun && !catalog_table_by_id(&s->catalog, &t->id);
        if (is_gone && s->hints)
            hints_dropped(s->hints, &t->id);
        if (is_gone)
            erase_dropped(s, &t);
        else
            table_unref(&t);
    }
}

void schema_applied(void *context, uint64_t epoch, struct bytes bytes)
{
    struct shard *s = context;
    struct schema_change change;
    struct arena arena = { 0 };
    struct buf dropped = buf_in(&arena);
    if (bytes.size == 0) { /* an entry that is not about the schema */
        catalog_advance(&s->catalog, epoch);
        return;
    }
    if (change_decode(bytes, &arena, &change) == OK)
        schema_list_dropped(s, &change, &dropped);
    enum err err = catalog_apply(&s->catalog, epoch, bytes);
    schema_forget(s, buf_bytes(&dropped));
    if (s->compactor)
        compactor_catalog_changed(s->compactor);
    if (io_self(s->io) == 0)
        apart_catalog_changed(s);
    if (err == OK) {
        prepared_schema_changed(&s->prepared, &s->catalog);
        schema_tell(s, &change);
    } else {
        log_note(s->io, LOG_WARN, "change_refused", "epoch=%llu reason=\"%s\"",
                 (unsigned long long)epoch, err_text(err));
    }
    arena_deinit(&arena);
}

void schema_changed(void *context, const struct ring *ring, unsigned node, bool is_up)
{
    struct shard *s = context;
    ensure(node >= 1 && node <= ring->nodes_count);
    if (s->hints)
        hints_changed(s->hints, node, is_up);
    events_node(s, &ring->nodes[node - 1].native, is_up);
}

/* schema.c - what a metadata entry does to a shard, and a node's coming and going.
 *
 * An entry is applied to this shard's catalog; what it made obsolete goes (memtables of dropped
 * tables, plans of tables that are gone or altered); registered clients are told.  Entries come in
 * order, on every shard.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "node/life.h"
#include "node/session.h"

/* The ids of the tables that a drop takes away, before it does; in the arena, as raw uuids. */
static void schema_list_dropped(struct shard *s, const struct schema_change *c, struct buf *ids)
{
    if (c->kind == CHANGE_DROP_TABLE) {
        buf_put(ids, c->table->id.b, sizeof c->table->id.b);
    } else if (c->kind == CHANGE_DROP_KEYSPACE) {
        struct keyspace *k = catalog_keyspace(&s->catalog, c->keyspace->name);
        struct table *t = NULL;
        for (size_t at = 0; k && (t = map_next(&k->tables, &at));)
            buf_put(ids, t->id.b, sizeof t->id.b);
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

static void schema_forget(struct shard *s, struct bytes ids)
{
    struct uuid id;
    for (size_t at = 0; s->store && at < ids.size; at += sizeof id.b) {
        memcpy(id.b, ids.data + at, sizeof id.b);
        if (!catalog_table_by_id(&s->catalog, &id))
            store_drop(s->store, &id);
    }
}

void schema_applied(void *context, uint64_t epoch, struct bytes bytes)
{
    struct shard *s = context;
    struct schema_change change;
    struct arena arena = { 0 };
    struct buf ids = buf_in(&arena);
    if (bytes.size == 0) { /* an entry that is not about the schema */
        catalog_advance(&s->catalog, epoch);
        return;
    }
    if (change_decode(bytes, &arena, &change) == OK)
        schema_list_dropped(s, &change, &ids);
    enum err err = catalog_apply(&s->catalog, epoch, bytes);
    if (err == OK) {
        schema_forget(s, buf_bytes(&ids));
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
    events_node(s, &ring->nodes[node - 1].native, is_up);
}

/* prepared.c - see prepared.h.
 *
 * An entry is one piece of heap memory; its id is the map's key, so the entry outlives its place in
 * the map.  The budget counts what the plan says of itself and the text twice (entry, parser).
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/prepared.h"

#include "base/mem.h"

static struct bytes entry_id(const struct prepared_entry *e)
{
    return bytes_of(e->id, sizeof e->id);
}

static size_t entry_bytes(const struct prepared_entry *e)
{
    return sizeof *e + 2 * e->text.size + cql_plan_bytes(e->plan);
}

static void entry_remove(struct prepared *p, struct prepared_entry *e)
{
    ensure(p->bytes >= entry_bytes(e));
    p->bytes -= entry_bytes(e);
    map_remove(&p->by_id, entry_id(e));
    list_remove(&e->link);
    cql_plan_unref(&e->plan);
    mem_free(e->text_memory);
    mem_free(e->keyspace);
    mem_free(e);
}

void prepared_init(struct prepared *p, size_t bytes_max)
{
    *p = (struct prepared){ .bytes_max = bytes_max };
    list_init(&p->recent);
}

void prepared_deinit(struct prepared *p)
{
    list_each(l, &p->recent) entry_remove(p, owner_of(l, struct prepared_entry, link));
    ensure(p->bytes == 0);
    map_deinit(&p->by_id);
}

static void prepared_shrink(struct prepared *p, const struct prepared_entry *keep)
{
    while (p->bytes > p->bytes_max && p->recent.next != p->recent.prev) {
        struct prepared_entry *oldest = owner_of(p->recent.next, struct prepared_entry, link);
        if (oldest == keep)
            return;
        entry_remove(p, oldest);
        p->evicted++;
    }
}

static char *text_copy(const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(mem_alloc(n), text, n);
}

enum err prepared_put(struct prepared *p, const struct cql_context *context, struct bytes text,
                      struct prepared_entry **out, struct report *report)
{
    struct cql_plan *plan = NULL;
    uint8_t id[16];
    enum err err = cql_prepare(context, text, &plan, report);
    if (err != OK)
        return err;
    const char *keyspace = cql_plan_uses_keyspace(plan) ? context->keyspace : NULL;
    cql_statement_id(keyspace, text, id);
    struct prepared_entry *e = prepared_get(p, bytes_of(id, sizeof id));
    if (e) {
        cql_plan_unref(&plan);
        *out = e;
        return OK;
    }
    e = mem_zalloc(sizeof *e);
    memcpy(e->id, id, sizeof id);
    e->plan = plan;
    e->text_memory = mem_alloc(text.size + 1);
    memcpy(e->text_memory, text.data, text.size);
    e->text = bytes_of(e->text_memory, text.size);
    e->keyspace = keyspace ? text_copy(keyspace) : NULL;
    list_add(&p->recent, &e->link);
    map_put(&p->by_id, entry_id(e), e);
    p->bytes += entry_bytes(e);
    prepared_shrink(p, e);
    *out = e;
    return OK;
}

struct prepared_entry *prepared_get(struct prepared *p, struct bytes id)
{
    struct prepared_entry *e = map_get(&p->by_id, id);
    if (e && e->link.next != &p->recent) {
        list_remove(&e->link);
        list_add(&p->recent, &e->link);
    }
    return e;
}

void prepared_schema_changed(struct prepared *p, const struct catalog *catalog)
{
    list_each(l, &p->recent)
    {
        struct prepared_entry *e = owner_of(l, struct prepared_entry, link);
        const struct table *table = cql_plan_table(e->plan);
        if (table && catalog_table(catalog, table->keyspace, table->name) != table)
            entry_remove(p, e);
    }
}

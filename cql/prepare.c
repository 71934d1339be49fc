/* prepare.c - text to plan: parses, resolves names, and makes the metadata of RESULT Prepared.
 *
 *     parse ──> prepare_select | prepare_write | prepare_batch | prepare_schema ──> metadata
 *
 * While the parts run, every bind marker gets its name and type; when they are done, all have them,
 * since each marker of the text stands in exactly one term.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/prepare.h"

#include "base/hash.h"
#include "base/mem.h"

enum { SCRATCH_BLOCK_BYTES = 16 * 1024, PLAN_BLOCK_BYTES = 2048 };

enum err prepare_keyspace(struct prepare *p, const struct table_name *name, const char **out)
{
    *out = p->keyspace = name->keyspace.text;
    if (*out)
        return OK;
    p->plan->uses_keyspace = true;
    *out = p->context->keyspace;
    if (!*out)
        return prepare_invalid(p, name->name.at,
                               "no keyspace is in use: USE one, or write keyspace.table");
    p->keyspace = *out;
    return OK;
}

enum err prepare_table(struct prepare *p, const struct table_name *name, struct table **out)
{
    const char *keyspace;
    enum err err = prepare_keyspace(p, name, &keyspace);
    if (err)
        return err;
    uint32_t at = name->keyspace.text ? name->keyspace.at : name->name.at;
    if (!catalog_keyspace(p->context->catalog, keyspace))
        return prepare_invalid(p, at, "keyspace %s does not exist", keyspace);
    *out = catalog_table(p->context->catalog, keyspace, name->name.text);
    if (!*out)
        return prepare_invalid(p, name->name.at, "table %s does not exist", name->name.text);
    table_ref(*out);
    return OK;
}

enum err prepare_writable(struct prepare *p, const struct table_name *name,
                          const struct table *table)
{
    const struct keyspace *keyspace = catalog_keyspace(p->context->catalog, table->keyspace);
    if (table->is_virtual || !keyspace || keyspace->is_system)
        return prepare_fail(p, ERR_UNAUTHORIZED, name->name.at,
                            "keyspace %s is not user-modifiable", table->keyspace);
    return OK;
}

enum err prepare_column(struct prepare *p, const struct table *table, struct name name,
                        const struct column **out)
{
    *out = table_column(table, bytes_text(name.text));
    if (!*out)
        return prepare_invalid(p, name.at, "undefined column name %s in table %s.%s", name.text,
                               table->keyspace, table->name);
    return OK;
}

struct expr *prepare_expr(struct prepare *p, enum expr_kind kind, const struct type *type)
{
    struct expr *expr = arena_new(p->arena, struct expr);
    expr->kind = kind;
    expr->type = type;
    return expr;
}

struct expr *prepare_marker(struct prepare *p, const struct term *term, const struct table *table,
                            const char *name, const struct type *type)
{
    ensure(term->kind == TERM_MARKER && term->marker < p->plan->markers_count);
    struct answer_column *marker = &p->plan->markers[term->marker];
    ensure(!marker->type);
    if (term->name.text)
        name = arena_text(p->arena, bytes_text(term->name.text));
    *marker = (struct answer_column){ table ? table->keyspace : "", table ? table->name : "", name,
                                      type };
    struct expr *expr = prepare_expr(p, EXPR_MARKER, type);
    expr->index = term->marker;
    return expr;
}

const struct type *prepare_list_type(struct prepare *p, const struct type *part)
{
    struct type *list = arena_new(p->arena, struct type);
    list->kind = TYPE_LIST;
    list->parts_count = 1;
    list->parts = arena_array(p->arena, const struct type *, 1);
    list->parts[0] = part;
    return list;
}

void prepare_key_positions(struct prepare *p, const struct table *table, const struct where *where)
{
    struct answer_prepared *metadata = &p->plan->metadata;
    if (where->is_range || metadata->key_positions)
        return;
    uint16_t *positions = arena_array(p->arena, uint16_t, table->partition_count);
    for (size_t i = 0; i < table->partition_count; i++) {
        const struct choice *choice = &where->partition[i];
        if (choice->list || choice->count != 1 || choice->values[0]->kind != EXPR_MARKER)
            return;
        positions[i] = (uint16_t)choice->values[0]->index;
    }
    metadata->key_positions = positions;
    metadata->keys_count = table->partition_count;
}

/* MD5 over names and types: another id when the columns of the result change. */
static void metadata_id(struct prepare *p, const struct answer_metadata *rows, uint8_t out[16])
{
    struct buf text = buf_in(p->parse.arena);
    for (size_t i = 0; i < rows->columns_count; i++) {
        buf_put_text(&text, rows->columns[i].name);
        buf_put_u8(&text, 0);
        type_print(rows->columns[i].type, &text);
        buf_put_be16(&text, 0);
    }
    md5_of(buf_bytes(&text), out);
}

static void prepare_metadata(struct prepare *p)
{
    struct cql_plan *plan = p->plan;
    for (size_t i = 0; i < plan->markers_count; i++)
        ensure(plan->markers[i].type);
    const char *keyspace = plan->uses_keyspace ? p->context->keyspace : NULL;
    cql_statement_id(keyspace, p->parse.text, plan->id);
    metadata_id(p, &plan->metadata.rows, plan->metadata_id);
    plan->metadata.id = bytes_of(plan->id, sizeof plan->id);
    plan->metadata.metadata_id = bytes_of(plan->metadata_id, sizeof plan->metadata_id);
    plan->metadata.bind.columns_count = plan->markers_count;
    plan->metadata.bind.columns = plan->markers;
}

static enum err prepare_statement(struct prepare *p)
{
    const struct statement *statement = p->parse.statement;
    switch (statement->kind) {
    case STATEMENT_SELECT:
        return prepare_select(p, &statement->select);
    case STATEMENT_INSERT:
    case STATEMENT_UPDATE:
    case STATEMENT_DELETE:
        p->plan->kind = CQL_MUTATE;
        return prepare_write(p, statement, &p->plan->write);
    case STATEMENT_BATCH:
        return prepare_batch(p, &statement->batch);
    case STATEMENT_CREATE_KEYSPACE:
    case STATEMENT_ALTER_KEYSPACE:
    case STATEMENT_DROP_KEYSPACE:
    case STATEMENT_CREATE_TABLE:
    case STATEMENT_ALTER_TABLE:
    case STATEMENT_DROP_TABLE:
    case STATEMENT_CREATE_TYPE:
    case STATEMENT_ALTER_TYPE:
    case STATEMENT_DROP_TYPE:
    case STATEMENT_USE:
    case STATEMENT_TRUNCATE:
        break;
    }
    return prepare_schema(p, statement);
}

enum err cql_prepare(const struct cql_context *context, struct bytes text, struct cql_plan **out,
                     struct report *report)
{
    struct arena scratch;
    arena_init(&scratch, SCRATCH_BLOCK_BYTES);
    struct prepare p = { .context = context };
    p.plan = mem_zalloc(sizeof *p.plan);
    p.plan->refs = 1;
    arena_init(&p.plan->arena, PLAN_BLOCK_BYTES);
    p.arena = &p.plan->arena;
    enum err err = parse_text(&p.parse, text, &scratch, report);
    if (!err) {
        p.plan->markers_count = p.parse.markers_count;
        p.plan->markers = arena_array(p.arena, struct answer_column, p.plan->markers_count);
        err = prepare_statement(&p);
    }
    if (!err)
        prepare_metadata(&p);
    else
        cql_plan_unref(&p.plan);
    arena_deinit(&scratch);
    *out = p.plan;
    return err;
}

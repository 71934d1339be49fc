/* context.c - see context.h.
 *
 * A table keeps the compaction that it was made with: default_compaction of the node that was asked
 * is written into the table, so that all nodes have the same one, whatever their settings say.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/context.h"

/* Puts a pair where its name belongs. */
static void put_pair(struct context *c, const char *name, const char *value)
{
    size_t at = c->compaction.pairs_count++;
    for (; at && strcmp(c->pairs[2 * at - 2], name) > 0; at--) {
        c->pairs[2 * at] = c->pairs[2 * at - 2];
        c->pairs[2 * at + 1] = c->pairs[2 * at - 1];
    }
    c->pairs[2 * at] = name;
    c->pairs[2 * at + 1] = value;
}

static void put_compaction(struct context *c, const struct config_compaction *compaction)
{
    c->compaction = (struct option){ .name = "compaction", .pairs = c->pairs };
    put_pair(c, "class", compaction->class_name);
    for (size_t i = 0; i < compaction->pairs_count; i++)
        put_pair(c, compaction->pairs[i].name, compaction->pairs[i].value);
}

enum err context_check(const struct config *config, struct arena *arena, struct report *report)
{
    static const char word[] = "compaction: ";
    const struct config_place *at = &config->places[CONFIG_KEY_default_compaction];
    struct table_params params = table_params_default;
    struct context c = { 0 };
    struct report wrong = { 0 };
    if (!config->default_compaction.class_name)
        return OK;
    put_compaction(&c, &config->default_compaction);
    enum err err = table_params_put(&params, arena, &c.compaction, &wrong);
    if (err == OK)
        return OK;
    bool is_named = strncmp(wrong.text, word, sizeof word - 1) == 0;
    return report_set(report, ERR_CONFIG, "%s:%u:%u: default_compaction: %s", config->file_name,
                      at->line, at->column, wrong.text + (is_named ? sizeof word - 1 : 0));
}

const struct cql_context *context_fill(struct context *out, const struct shard *shard,
                                       const char *keyspace)
{
    const struct config_compaction *compaction = &shard->config->default_compaction;
    out->cql = (struct cql_context){ .catalog = &shard->catalog,
                                     .keyspace = keyspace[0] ? keyspace : NULL };
    if (!compaction->class_name)
        return &out->cql;
    put_compaction(out, compaction);
    out->cql.compaction = &out->compaction;
    return &out->cql;
}

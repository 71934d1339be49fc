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

const struct cql_context *context_fill(struct context *out, const struct shard *shard,
                                       const char *keyspace)
{
    const struct config_compaction *compaction = &shard->config->default_compaction;
    out->cql = (struct cql_context){ .catalog = &shard->catalog,
                                     .keyspace = keyspace[0] ? keyspace : NULL };
    if (!compaction->class_name)
        return &out->cql;
    out->compaction = (struct option){ .name = "compaction", .pairs = out->pairs };
    put_pair(out, "class", compaction->class_name);
    for (size_t i = 0; i < compaction->pairs_count; i++)
        put_pair(out, compaction->pairs[i].name, compaction->pairs[i].value);
    out->cql.compaction = &out->compaction;
    return &out->cql;
}

/* stand_file.c - the stand's table as a file says it.
 *
 *     keyspace: stand
 *     table: documents
 *     seed: 1
 *     documents_per_register: 1000
 *     columns:
 *       - { name: register_id, type: int, is: register }
 *       - { name: doc_id, type: bigint, is: document }
 *       - { name: status, type: tinyint, cardinality: 6 }
 *       - { name: shop, type: text, cardinality: 2000, per: register }
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "command/stand.h"

static const char *const table_names[] = { "keyspace", "table", "seed", "documents_per_register",
                                           "columns" };
static const char *const column_names[] = { "name", "type", "is", "cardinality", "per" };
static const char *const type_names[] = {
    "tinyint", "smallint", "int", "bigint", "double", "text"
};
/* As far as the type has positive numbers; doubles and texts are drawn from 32 bits. */
static const uint32_t type_most[] = { 128, 32768, INT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX };

/* A name that CQL takes without quotes. */
static enum err read_name(const struct config_tree *tree, const struct config_node *node,
                          const char **out)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    enum err err = config_tree_text(tree, node, "a name", out);
    if (err != OK)
        return err;
    size_t size = strlen(*out);
    bool is_good = strspn(*out, letters) == size && size <= NAME_BYTES_MAX && **out >= '_';
    return is_good ? OK
                   : config_tree_refuse(tree, node,
                                        "'%.60s' is no name of small letters, digits and _", *out);
}

static enum err read_role(const struct config_tree *tree, const struct config_node *node,
                          struct stand_column *c)
{
    static const char *const roles[] = { "register", "document" };
    size_t role;
    if (!node) {
        c->role = STAND_VALUE;
        return OK;
    }
    enum err err = config_tree_word(tree, node, roles, array_count(roles), &role);
    c->role = err == OK && role == 0 ? STAND_REGISTER : STAND_DOCUMENT;
    if (err == OK && c->type->kind != TYPE_INT && c->type->kind != TYPE_BIGINT)
        return config_tree_refuse(tree, node, "a %s is an int or a bigint", roles[role]);
    return err;
}

static enum err read_per(const struct config_tree *tree, const struct config_node *block,
                         struct stand_column *c)
{
    static const char *const pers[] = { "document", "register" };
    const struct config_node *node = config_tree_member(block, "per");
    size_t per = 0;
    enum err err = node ? config_tree_word(tree, node, pers, array_count(pers), &per) : OK;
    c->is_per_register = per == 1;
    return err;
}

static enum err read_cardinality(const struct config_tree *tree, const struct config_node *block,
                                 size_t type, struct stand_column *c)
{
    const struct config_node *node = config_tree_member(block, "cardinality");
    uint64_t cardinality = 0;
    if (c->role != STAND_VALUE)
        return node ? config_tree_refuse(tree, node, "is not for a register or a document") : OK;
    enum err err = config_tree_needed(tree, block, "cardinality", &node);
    if (err == OK)
        err = config_tree_whole(tree, node, 1, type_most[type], &cardinality);
    c->cardinality = (uint32_t)cardinality;
    return err;
}

static enum err read_column(const struct stand *s, const struct config_tree *tree,
                            const struct config_node *block, struct stand_column *c)
{
    const struct config_node *node;
    size_t type;
    enum err err = config_tree_known(tree, block, column_names, array_count(column_names));
    if (err == OK)
        err = config_tree_needed(tree, block, "name", &node);
    if (err == OK)
        err = read_name(tree, node, &c->name);
    if (err == OK && stand_column(s, c->name))
        return config_tree_refuse(tree, node, "'%s' is the name of two columns", c->name);
    if (err == OK)
        err = config_tree_needed(tree, block, "type", &node);
    if (err == OK)
        err = config_tree_word(tree, node, type_names, array_count(type_names), &type);
    if (err != OK)
        return err;
    uint64_t hash[2];
    murmur3_cassandra(bytes_text(c->name), hash);
    c->salt = hash[0] ^ s->seed;
    c->type = type_by_name(bytes_text(type_names[type]));
    c->size = c->type->kind == TYPE_TEXT ? STAND_TEXT_BYTES : type_fixed_bytes(c->type);
    err = read_role(tree, config_tree_member(block, "is"), c);
    if (err == OK)
        err = read_cardinality(tree, block, type, c);
    return err == OK ? read_per(tree, block, c) : err;
}

static enum err read_columns(struct stand *s, struct arena *arena, const struct config_tree *tree,
                             const struct config_node *list)
{
    size_t roles[3] = { 0 };
    enum err err = config_tree_list(tree, list);
    if (err == OK && list->count > STAND_COLUMNS_MAX)
        return config_tree_refuse(tree, list, "has more than %d columns", STAND_COLUMNS_MAX);
    s->columns = arena_array(arena, struct stand_column, STAND_COLUMNS_MAX);
    for (const struct config_node *n = list->first; n && err == OK; n = n->next) {
        err = read_column(s, tree, n, &s->columns[s->columns_count]);
        if (err == OK)
            roles[s->columns[s->columns_count++].role]++;
    }
    if (err == OK && (roles[STAND_REGISTER] != 1 || roles[STAND_DOCUMENT] != 1))
        return config_tree_refuse(tree, list, "must have one register and one document (is: ...)");
    if (err == OK && roles[STAND_VALUE] == 0)
        return config_tree_refuse(tree, list, "has no column beside the key");
    return err;
}

enum err stand_read(struct stand *s, struct arena *arena, const struct config_tree *tree,
                    const struct config_node *block)
{
    const struct config_node *n[array_count(table_names)];
    *s = (struct stand){ 0 };
    enum err err = config_tree_known(tree, block, table_names, array_count(table_names));
    for (size_t i = 0; i < array_count(table_names) && err == OK; i++)
        err = config_tree_needed(tree, block, table_names[i], &n[i]);
    if (err == OK)
        err = read_name(tree, n[0], &s->keyspace);
    if (err == OK)
        err = read_name(tree, n[1], &s->table);
    if (err == OK)
        err = config_tree_whole(tree, n[2], 0, INT64_MAX, &s->seed);
    if (err == OK)
        err = config_tree_whole(tree, n[3], 1, 1000000, &s->documents_per_register);
    return err == OK ? read_columns(s, arena, tree, n[4]) : err;
}

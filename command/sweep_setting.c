/* sweep_setting.c - the settings of a sweep: options of the table, with sizes scaled.
 *
 *     - name: UCS T4
 *       compaction: { class: UnifiedCompactionStrategy, scaling_parameters: T4 }
 *       compression: { class: LZ4Compressor, chunk_length_in_kb: 16 }
 *       bloom_filter_fp_chance: 0.01
 *       partition: register                  or document
 *
 * Options are those of CREATE TABLE and are checked by making the table, as a node does.  What a
 * strategy measures in bytes is multiplied by the sweep's scale, also where it was not given.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "command/schema.h"
#include "command/sweep.h"

struct reading {
    struct sweep *sweep;
    struct arena *arena;
    const struct config_tree *tree;
    const struct config_node *block;        /* of the setting */
    const struct compaction_params *params; /* of the table as the file has it; NULL: not known */
};

/* Options that strategies measure in bytes: with their default in MiB, and how they are written. */
static const struct {
    const char *name;
    double mib;
    enum compaction_class class;
    enum { SIZE, PLAIN, MIBS } form;
} sizes[] = {
    { "target_sstable_size", 1024, COMPACTION_UNIFIED, SIZE },
    { "min_sstable_size", 100, COMPACTION_UNIFIED, SIZE },
    { "flush_size_override", 0, COMPACTION_UNIFIED, SIZE },
    { "min_sstable_size", 50, COMPACTION_SIZE_TIERED, PLAIN },
    { "min_sstable_size", 50, COMPACTION_LEVELED, PLAIN },
    { "min_sstable_size", 50, COMPACTION_TIME_WINDOW, PLAIN },
    { "sstable_size_in_mb", 160, COMPACTION_LEVELED, MIBS },
};

static bool is_size(const struct compaction_params *p, const char *name)
{
    for (size_t i = 0; p && i < array_count(sizes); i++)
        if (sizes[i].class == p->class && strcmp(sizes[i].name, name) == 0)
            return true;
    return false;
}

/* The sizes of the strategy, scaled, as further pairs of its map. */
static void sizes_put(const struct compaction_params *p, double scale, struct buf *out)
{
    static const double mib = 1 << 20;
    for (size_t i = 0; i < array_count(sizes); i++) {
        const char *name = sizes[i].name;
        if (sizes[i].class != p->class)
            continue;
        double unit = sizes[i].form == MIBS ? mib : 1;
        double initial = sizes[i].mib * mib / unit;
        double bytes = sizes[i].form == SIZE ? compaction_size(p, name, initial)
                                             : compaction_number(p, name, initial) * unit;
        bytes *= scale;
        if (sizes[i].mib == 0 && bytes == 0)
            continue;
        if (sizes[i].form == MIBS)
            buf_printf(out, ", '%s': '%.0f'", name, bytes / mib < 1 ? 1 : bytes / mib);
        else
            buf_printf(out, ", '%s': '%.0f%s'", name, bytes, sizes[i].form == SIZE ? "B" : "");
    }
}

static enum err text_put(const struct config_tree *tree, const struct config_node *node,
                         struct buf *out)
{
    const char *text;
    enum err err = config_tree_text(tree, node, "one value", &text);
    if (err == OK && (strchr(text, '\'') || strchr(node->name, '\'')))
        return config_tree_refuse(tree, node, "must not hold quotes");
    if (err == OK)
        buf_printf(out, "'%s': '%s'", node->name, text);
    return err;
}

/* name = {'a': 'b', ...}; of compaction with its sizes scaled. */
static enum err pairs_put(struct reading *r, const struct config_node *node, struct buf *out)
{
    bool is_scaled = r->params && strcmp(node->name, "compaction") == 0;
    enum err err = OK;
    size_t count = 0;
    if (node->kind != CONFIG_NODE_BLOCK)
        return config_tree_refuse(r->tree, node, "wants a block of names and values");
    buf_printf(out, "%s%s = {", out->size ? " AND " : "", node->name);
    for (const struct config_node *n = node->first; n && err == OK; n = n->next) {
        if (is_scaled && is_size(r->params, n->name))
            continue;
        buf_put_text(out, count++ ? ", " : "");
        err = text_put(r->tree, n, out);
    }
    if (is_scaled)
        sizes_put(r->params, r->sweep->scale, out);
    buf_put_text(out, "}");
    return err;
}

/* The options as they stand behind WITH. */
static enum err options_put(struct reading *r, const char **out)
{
    const struct config_node *compaction = config_tree_member(r->block, "compaction");
    const struct config_node *compression = config_tree_member(r->block, "compression");
    const struct config_node *chance = config_tree_member(r->block, "bloom_filter_fp_chance");
    struct buf text = buf_in(r->arena);
    double number;
    enum err err = compaction ? pairs_put(r, compaction, &text) : OK;
    if (err == OK && compression)
        err = pairs_put(r, compression, &text);
    if (err == OK && chance)
        err = config_tree_fraction(r->tree, chance, 0, 1, &number);
    if (err == OK && chance)
        buf_printf(&text, "%sbloom_filter_fp_chance = %s", text.size ? " AND " : "", chance->text);
    buf_put_u8(&text, 0);
    *out = (const char *)text.data;
    return err;
}

enum err sweep_catalog(const struct sweep *s, const struct sweep_setting *setting,
                       struct catalog *catalog, struct report *report)
{
    struct buf text = { 0 };
    catalog_init(catalog);
    buf_printf(&text,
               "CREATE KEYSPACE %s WITH replication = {'class': 'SimpleStrategy', "
               "'replication_factor': 1}",
               s->stand.keyspace);
    enum err err = schema_apply(catalog, buf_bytes(&text), report);
    buf_clear(&text);
    stand_create(&s->stand, setting->partition, &text);
    if (setting->options[0])
        buf_printf(&text, " WITH %s", setting->options);
    if (err == OK)
        err = schema_apply(catalog, buf_bytes(&text), report);
    buf_deinit(&text);
    if (err != OK)
        catalog_deinit(catalog);
    return err;
}

/* What sizes on disk depend on, beside what is written. */
static enum err form_put(struct reading *r, const char **out)
{
    const struct config_node *partition = config_tree_member(r->block, "partition");
    const struct config_node *compression = config_tree_member(r->block, "compression");
    struct buf text = buf_in(r->arena);
    buf_put_text(&text, partition ? partition->text : "register");
    enum err err = compression ? pairs_put(r, compression, &text) : OK;
    buf_put_u8(&text, 0);
    *out = (const char *)text.data;
    return err;
}

/* Twice: as the file has it, which tells what is wrong and the sizes; then with these scaled. */
static enum err read_options(struct reading *r, struct sweep_setting *setting)
{
    const struct stand *stand = &r->sweep->stand;
    struct catalog catalog;
    struct report wrong;
    r->params = NULL;
    enum err err = options_put(r, &setting->options);
    if (err != OK)
        return err;
    if (sweep_catalog(r->sweep, setting, &catalog, &wrong) != OK)
        return config_tree_refuse(r->tree, r->block, "%s", wrong.text);
    r->params = &catalog_table(&catalog, stand->keyspace, stand->table)->params->compaction;
    err = options_put(r, &setting->options);
    r->params = NULL;
    catalog_deinit(&catalog);
    if (err == OK)
        err = form_put(r, &setting->form);
    if (err != OK)
        return err;
    if (sweep_catalog(r->sweep, setting, &catalog, &wrong) != OK)
        return config_tree_refuse(r->tree, r->block, "scaled by %g: %s", r->sweep->scale,
                                  wrong.text);
    catalog_deinit(&catalog);
    return OK;
}

static enum err read_setting(struct reading *r, const struct config_node *block)
{
    static const char *const names[] = { "name", "partition", "compaction", "compression",
                                         "bloom_filter_fp_chance" };
    static const char *const partitions[] = { "register", "document" };
    struct sweep *s = r->sweep;
    struct sweep_setting *setting = &s->settings[s->settings_count];
    const struct config_node *node;
    size_t partition = 0;
    enum err err = config_tree_known(r->tree, block, names, array_count(names));
    if (err == OK)
        err = config_tree_needed(r->tree, block, "name", &node);
    if (err == OK)
        err = config_tree_text(r->tree, node, "a name", &setting->name);
    for (size_t i = 0; i < s->settings_count && err == OK; i++)
        if (strcmp(s->settings[i].name, setting->name) == 0)
            return config_tree_refuse(r->tree, node, "'%.60s' is the name of two settings",
                                      setting->name);
    const struct config_node *form = config_tree_member(block, "partition");
    if (err == OK && form)
        err = config_tree_word(r->tree, form, partitions, array_count(partitions), &partition);
    setting->partition = (enum stand_partition)partition;
    r->block = block;
    if (err == OK)
        err = read_options(r, setting);
    s->settings_count += err == OK;
    return err;
}

enum err sweep_read_settings(struct sweep *s, struct arena *arena, const struct config_tree *tree,
                             const struct config_node *list)
{
    struct reading r = { .sweep = s, .arena = arena, .tree = tree };
    enum err err = config_tree_list(tree, list);
    if (err == OK && list->count > SWEEP_SETTINGS_MAX)
        return config_tree_refuse(tree, list, "has more than %d settings", SWEEP_SETTINGS_MAX);
    for (const struct config_node *n = err == OK ? list->first : NULL; n && err == OK; n = n->next)
        err = read_setting(&r, n);
    return err;
}

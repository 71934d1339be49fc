/* listing.c - the store and who decides about its files: what there is, that it has changed, what
 * is shared no more.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/chunk.h"
#include "store/inside.h"

/* ---- the policy ---- */

void store_set_policy(struct store *s, const struct store_policy *policy)
{
    s->policy = policy ? *policy : (struct store_policy){ 0 };
}

void store_changed(struct store *s, const struct uuid *table, uint64_t flushed_bytes,
                   unsigned flushed_files)
{
    if (s->policy.changed)
        s->policy.changed(s->policy.context, table, flushed_bytes, flushed_files);
}

/* ---- what there is ---- */

static struct store_file file_of(const struct store *s, const struct sstable *x)
{
    struct store_file f = { .name = x->name,
                            .is_shared = store_shares(s, x),
                            .is_busy = x->is_busy,
                            .damage = x->damage.err != OK ? x->damage.text : NULL,
                            .data_bytes = x->bytes[COMPONENT_DATA],
                            .plain_bytes = component_bytes(x, COMPONENT_DATA),
                            .partitions = sstable_partitions(x),
                            .first_token = x->first_token,
                            .last_token = x->last_token,
                            .first_key = x->first_key,
                            .last_key = x->last_key,
                            .created_seconds = x->modified_seconds,
                            .statistics = &x->statistics };
    for (unsigned c = 0; c < COMPONENT_COUNT; c++)
        f.all_bytes += x->bytes[c];
    return f;
}

void store_list_files(const struct store *s, const struct uuid *table, struct arena *arena,
                      struct store_file_list *out)
{
    struct view *v = store_view(s, table);
    *out = (struct store_file_list){ 0 };
    if (!v)
        return;
    view_ref(v);
    out->view = v;
    out->files = arena_array(arena, struct store_file, v->sstables_count);
    for (size_t i = 0; i < v->sstables_count; i++)
        out->files[out->count++] = file_of(s, v->sstables[i]);
}

void store_files_done(struct store_file_list *list)
{
    struct view *v = list->view;
    *list = (struct store_file_list){ 0 };
    if (v)
        view_unref(&v);
}

static int64_t older(int64_t so_far, const struct memtable_shared *m)
{
    bool has_any = m->memtable.partitions.count > 0;
    int64_t min = has_any ? m->memtable.minima.timestamp : INT64_MAX;
    return min < so_far ? min : so_far;
}

int64_t store_memtables_timestamp_min(const struct store *s, const struct uuid *table)
{
    const struct view *v = store_view(s, table);
    int64_t min = INT64_MAX;
    if (!v)
        return min;
    min = older(min, v->active);
    for (size_t i = 0; i < v->frozen_count; i++)
        min = older(min, v->frozen[i]);
    return min;
}

/* ---- what is shared no more ---- */

void store_forget_file(struct store *s, const struct uuid *table, const struct sstable_name *name)
{
    struct table_data *d = store_data(s, table);
    const struct view *v = store_view(s, table);
    for (size_t i = 0; v && i < v->sstables_count; i++) {
        struct sstable *x = v->sstables[i];
        if (x->name.version != name->version || strcmp(x->name.id, name->id) != 0)
            continue;
        data_change(d, &(struct data_change){ .gone = &x, .gone_count = 1 });
        store_changed(s, table, 0, 0);
        return;
    }
}

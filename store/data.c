/* data.c - see data.h.
 *
 * Files stand in the view by the newest timestamp in them, so that a read that goes through them in
 * order may stop as soon as nothing older can matter.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/data.h"

#include "base/mem.h"

struct table_data *data_new(struct table *table, const char *folder, uint64_t *account)
{
    struct table_data *d = mem_zalloc(sizeof *d);
    size_t n = strlen(folder) + 1;
    d->id = table->id;
    d->table = table;
    table_ref(table);
    d->folder = memcpy(mem_alloc(n), folder, n);
    d->account = account;
    d->numbers = 1;
    list_init(&d->link);
    struct memtable_shared *active = memtable_shared_new(&d->id, account, d->numbers);
    d->view = view_make(active, NULL, 0, NULL, 0);
    memtable_shared_unref(&active);
    return d;
}

void data_free(struct table_data **data)
{
    struct table_data *d = *data;
    *data = NULL;
    ensure(!d->flush && list_empty(&d->link));
    view_unref(&d->view);
    table_unref(&d->table);
    arena_deinit(&d->arena);
    buf_deinit(&d->floors);
    mem_free(d->folder);
    mem_free(d);
}

void data_see(struct table_data *d, struct table *table)
{
    if (d->table == table)
        return;
    table_ref(table);
    table_unref(&d->table);
    d->table = table;
}

/* ---- changes ---- */

/* Takes the reference. */
static void data_show(struct table_data *d, struct view *fresh)
{
    struct view *old = d->view;
    d->view = fresh;
    view_unref(&old);
}

uint64_t data_freeze(struct table_data *d)
{
    const struct view *v = d->view;
    if (v->active->memtable.partitions.count == 0)
        return d->numbers - 1;
    struct memtable_shared **frozen =
        mem_alloc((v->frozen_count + 1) * sizeof(struct memtable_shared *));
    struct memtable_shared *active = memtable_shared_new(&d->id, d->account, ++d->numbers);
    frozen[0] = v->active;
    if (v->frozen_count)
        memcpy(frozen + 1, v->frozen, v->frozen_count * sizeof(struct memtable_shared *));
    data_show(d, view_make(active, frozen, v->frozen_count + 1, v->sstables, v->sstables_count));
    memtable_shared_unref(&active);
    mem_free(frozen);
    return d->numbers - 1;
}

struct memtable_shared *data_oldest(const struct table_data *d)
{
    return d->view->frozen_count ? d->view->frozen[d->view->frozen_count - 1] : NULL;
}

static bool is_among(const struct sstable *file, struct sstable *const *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (files[i] == file)
            return true;
    return false;
}

/* Before those that are as new. */
static void place_put(struct sstable **files, size_t count, struct sstable *file)
{
    size_t i = 0;
    while (i < count && files[i]->statistics.timestamp_max > file->statistics.timestamp_max)
        i++;
    memmove(files + i + 1, files + i, (count - i) * sizeof(struct sstable *));
    files[i] = file;
}

static void data_show_with(struct table_data *d, size_t frozen_count, const struct data_change *x)
{
    const struct view *v = d->view;
    struct sstable **files =
        mem_alloc((v->sstables_count + x->come_count + 1) * sizeof(struct sstable *));
    size_t n = 0;
    for (size_t i = 0; i < v->sstables_count; i++)
        if (!is_among(v->sstables[i], x->gone, x->gone_count))
            files[n++] = v->sstables[i];
    for (size_t i = 0; i < x->come_count; i++)
        place_put(files, n++, x->come[i]);
    data_show(d, view_make(v->active, v->frozen, frozen_count, files, n));
    mem_free(files);
}

void data_flushed(struct table_data *d, struct sstable *const *files, size_t count)
{
    ensure(d->view->frozen_count > 0);
    d->flushed = data_oldest(d)->number;
    data_show_with(d, d->view->frozen_count - 1,
                   &(struct data_change){ .come = files, .come_count = count });
}

void data_add(struct table_data *d, struct sstable *file)
{
    data_change(d, &(struct data_change){ .come = &file, .come_count = 1 });
}

void data_change(struct table_data *d, const struct data_change *x)
{
    data_show_with(d, d->view->frozen_count, x);
}

void data_void(struct table_data *d, uint64_t upto)
{
    const struct view *v = d->view;
    size_t left = 0;
    while (left < v->frozen_count && v->frozen[left]->number > upto)
        left++;
    d->flushed = upto > d->flushed ? upto : d->flushed;
    data_show(d, view_make(v->active, v->frozen, left, NULL, 0));
}

/* ---- what it has ---- */

uint64_t data_active_bytes(const struct table_data *d)
{
    return memtable_bytes(&d->view->active->memtable);
}

uint64_t data_frozen_bytes(const struct table_data *d)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < d->view->frozen_count; i++)
        bytes += memtable_bytes(&d->view->frozen[i]->memtable);
    return bytes;
}

static void needs_of(const struct memtable_shared *m, uint64_t folder, struct journal_position *out,
                     bool *any)
{
    for (size_t i = 0; i < m->spans_count; i++) {
        if (m->spans[i].folder != folder)
            continue;
        if (!*any || log_order(m->spans[i].first, *out) < 0)
            *out = m->spans[i].first;
        *any = true;
    }
}

bool data_needs(const struct table_data *d, uint64_t folder, struct journal_position *out)
{
    bool any = false;
    needs_of(d->view->active, folder, out, &any);
    for (size_t i = 0; i < d->view->frozen_count; i++)
        needs_of(d->view->frozen[i], folder, out, &any);
    return any;
}

static bool spans_are_foreign(const struct memtable_shared *m, uint64_t folder)
{
    for (size_t i = 0; i < m->spans_count; i++)
        if (m->spans[i].folder != folder)
            return true;
    return false;
}

bool data_is_foreign(const struct table_data *d, uint64_t folder)
{
    bool is_foreign = spans_are_foreign(d->view->active, folder);
    for (size_t i = 0; i < d->view->frozen_count; i++)
        is_foreign |= spans_are_foreign(d->view->frozen[i], folder);
    return is_foreign;
}

void data_raise_floor(struct table_data *d, const struct floor *floor, uint64_t generation)
{
    for (size_t i = 0; i < floor->count; i++)
        floor_raise(&d->floor, &d->arena, floor->places[i]);
    buf_put(&d->floors, &generation, sizeof generation);
}

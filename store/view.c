/* view.c - see view.h.
 *
 * Views are counted by those who hold them, parts by the views they are in; all on one shard, so
 * without atomics.  What a memtable takes is in its account until it goes, which may be later than
 * its flush: when the last read that looks at it has ended.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/view.h"

#include "base/mem.h"
#include "store/floor.h"

/* ---- memtables ---- */

struct memtable_shared *memtable_shared_new(const struct uuid *table, uint64_t *account,
                                            uint64_t number)
{
    struct memtable_shared *m = mem_zalloc(sizeof *m);
    m->refs = 1;
    m->account = account;
    m->number = number;
    memtable_init(&m->memtable, table);
    *account += memtable_bytes(&m->memtable);
    return m;
}

void memtable_shared_ref(struct memtable_shared *m)
{
    ensure(m->refs > 0);
    m->refs++;
}

void memtable_shared_unref(struct memtable_shared **shared)
{
    struct memtable_shared *m = *shared;
    *shared = NULL;
    ensure(m->refs > 0);
    if (--m->refs > 0)
        return;
    ensure(*m->account >= memtable_bytes(&m->memtable));
    *m->account -= memtable_bytes(&m->memtable);
    memtable_deinit(&m->memtable);
    mem_free(m->spans);
    mem_free(m);
}

void memtable_shared_note(struct memtable_shared *m, uint64_t folder, struct journal_position at,
                          bool goes_on)
{
    struct log_span *last = m->spans_count ? &m->spans[m->spans_count - 1] : NULL;
    if (last && last->folder == folder && goes_on) {
        ensure(log_order(last->last, at) <= 0);
        last->last = at;
        return;
    }
    if (m->spans_count == m->spans_room) {
        m->spans_room = m->spans_room ? m->spans_room * 2 : 2;
        m->spans = mem_resize(m->spans, m->spans_room * sizeof *m->spans);
    }
    ensure(m->spans);
    m->spans[m->spans_count++] = (struct log_span){ folder, at, at };
}

/* ---- views ---- */

void view_ref(struct view *v)
{
    ensure(v->refs > 0);
    v->refs++;
}

void view_unref(struct view **view)
{
    struct view *v = *view;
    *view = NULL;
    ensure(v->refs > 0);
    if (--v->refs > 0)
        return;
    memtable_shared_unref(&v->active);
    for (size_t i = 0; i < v->frozen_count; i++)
        memtable_shared_unref(&v->frozen[i]);
    for (size_t i = 0; i < v->sstables_count; i++)
        sstable_unref(&v->sstables[i]);
    mem_free(v);
}

struct view *view_make(struct memtable_shared *active, struct memtable_shared **frozen,
                       size_t frozen_count, struct sstable **sstables, size_t sstables_count)
{
    struct view *v = mem_zalloc(sizeof *v + frozen_count * sizeof(struct memtable_shared *) +
                                sstables_count * sizeof(struct sstable *));
    v->refs = 1;
    v->active = active;
    v->frozen = (struct memtable_shared **)(v + 1);
    v->frozen_count = frozen_count;
    v->sstables = (struct sstable **)(v->frozen + frozen_count);
    v->sstables_count = sstables_count;
    memtable_shared_ref(active);
    for (size_t i = 0; i < frozen_count; i++) {
        v->frozen[i] = frozen[i];
        memtable_shared_ref(frozen[i]);
    }
    for (size_t i = 0; i < sstables_count; i++) {
        v->sstables[i] = sstables[i];
        sstable_ref(sstables[i]);
    }
    return v;
}

/* stats.c - a table and the memory of a shard in numbers (stats.h).
 *
 * What is said of a file that several shards have opened must not be added up: such a file brings
 * its histograms by itself, and who adds up the shards takes each name once.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/stats.h"

#include "store/inside.h"

/* ---- one file ---- */

static uint64_t bytes_of_file(const struct sstable *s)
{
    uint64_t bytes = 0;
    for (unsigned c = 0; c < COMPONENT_COUNT; c++)
        bytes += s->bytes[c];
    return bytes;
}

static const struct spread *spread_copy(struct arena *arena, const struct spread *from)
{
    struct spread *copy = arena_alloc(arena, sizeof *copy);
    *copy = *from;
    return copy;
}

static void stats_of_file(const struct store *store, const struct sstable *s, struct arena *arena,
                          struct file_stats *out)
{
    bool is_compressed = s->compression.params.kind != COMPRESSOR_NONE;
    *out = (struct file_stats){ .name = s->name,
                                .is_shared = store_shares(store, s),
                                .bytes = bytes_of_file(s),
                                .data_bytes = s->bytes[COMPONENT_DATA],
                                .filter_bytes = s->bytes[COMPONENT_FILTER],
                                .summary_bytes = s->bytes[COMPONENT_SUMMARY],
                                .rows = s->statistics.rows,
                                .level = s->statistics.level };
    out->plain_bytes = is_compressed ? s->compression.data_bytes : out->data_bytes;
    if (s->damage.err != OK) {
        out->damage = arena_text(arena, bytes_text(s->damage.text));
    } else if (out->is_shared) {
        out->partition_bytes = spread_copy(arena, &s->statistics.partition_bytes);
        out->partition_cells = spread_copy(arena, &s->statistics.partition_cells);
    }
}

/* Files of Cassandra 4 have fewer buckets; the offsets of those that both have are the same. */
static void spread_merge(struct spread *into, const struct spread *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        into->counts[i < into->count ? i : into->count - 1] += from->counts[i];
}

static void merge_file(struct table_stats *out, const struct sstable *s, struct cardinality *keys)
{
    struct cardinality one;
    out->filter_memory_bytes += s->filter_memory ? s->bytes[COMPONENT_FILTER] : 0;
    out->sample_memory_bytes += s->sample_bytes;
    out->other_memory_bytes += s->arena.used_bytes - s->sample_bytes;
    out->filter_skips += s->counts.filter_skips;
    out->false_positives += s->counts.false_positives;
    out->file_reads += s->counts.reads;
    if (s->damage.err != OK)
        return;
    if (s->statistics.has_cardinality &&
        cardinality_decode(s->statistics.cardinality, &one, NULL) == OK) {
        cardinality_merge(keys, &one);
        cardinality_deinit(&one);
    }
}

/* ---- a table ---- */

struct table_stats *store_table_stats(const struct store *store, const struct uuid *table,
                                      struct arena *arena)
{
    const struct table_data *d = store_data(store, table);
    struct cardinality keys;
    struct buf sketch = buf_in(arena);
    if (!d)
        return NULL;
    const struct view *v = d->view;
    struct table_stats *out = arena_new(arena, struct table_stats);
    out->meter = d->meter;
    out->memtable_bytes = data_active_bytes(d) + data_frozen_bytes(d);
    out->memtable_partitions = v->active->memtable.partitions.count;
    for (size_t i = 0; i < v->frozen_count; i++)
        out->memtable_partitions += v->frozen[i]->memtable.partitions.count;
    spread_init(&out->partition_bytes, SPREAD_SIZES_OA);
    spread_init(&out->partition_cells, SPREAD_CELLS);
    out->files = arena_array(arena, struct file_stats, v->sstables_count);
    cardinality_init(&keys);
    for (size_t i = 0; i < v->sstables_count; i++) {
        const struct sstable *s = v->sstables[i];
        struct file_stats *file = &out->files[out->files_count++];
        stats_of_file(store, s, arena, file);
        merge_file(out, s, &keys);
        if (!file->damage && !file->is_shared) {
            spread_merge(&out->partition_bytes, &s->statistics.partition_bytes);
            spread_merge(&out->partition_cells, &s->statistics.partition_cells);
        }
    }
    if (out->files_count > 0)
        cardinality_encode(&keys, &sketch);
    cardinality_deinit(&keys);
    out->cardinality = buf_bytes(&sketch);
    return out;
}

void store_memory(const struct store *s, struct store_memory *out)
{
    struct cache_counts cache;
    size_t at = 0;
    cache_counts(s->sstables.cache, &cache);
    *out = (struct store_memory){ .memtables = s->memory_bytes, .chunk_cache = cache.bytes };
    for (const struct table_data *d; (d = map_next(&s->tables, &at));) {
        for (size_t i = 0; i < d->view->sstables_count; i++) {
            const struct sstable *file = d->view->sstables[i];
            out->filters += file->filter_memory ? file->bytes[COMPONENT_FILTER] : 0;
            out->samples += file->sample_bytes;
            out->other_of_files += file->arena.used_bytes - file->sample_bytes;
        }
    }
}

size_t store_damages(const struct store *s, struct arena *arena, const char ***out)
{
    struct store_counts counts;
    size_t count = 0, at = 0;
    store_counts(s, &counts);
    *out = arena_array(arena, const char *, counts.sstables_damaged);
    for (const struct table_data *d; (d = map_next(&s->tables, &at));)
        for (size_t i = 0; i < d->view->sstables_count; i++) {
            const struct report *damage = &d->view->sstables[i]->damage;
            if (damage->err != OK)
                (*out)[count++] = arena_text(arena, bytes_text(damage->text));
        }
    ensure(count == counts.sstables_damaged);
    return count;
}

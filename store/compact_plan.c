/* compact_plan.c - which files a compaction takes, what its writer is told, what it may purge.
 *
 * How many keys an output will have decides the size of its filter.  All inputs' sketches of their
 * keys are merged: that many are distinct.  How many of them lie between two cuts, the inputs'
 * samples of their indexes tell; how many fit into so many bytes, their sizes.
 *
 * A deletion may go when nothing outside can have anything older of its partition.  Outside is what
 * the table's view has at the moment of the question: a flush, an import or another compaction may
 * have changed it since the last one.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "model/comparable.h"
#include "store/chunk.h"
#include "store/compact_inside.h"
#include "store/intervals.h"

/* ---- which files ---- */

static struct sstable *find(const struct view *v, uint64_t generation)
{
    for (size_t i = 0; i < v->sstables_count; i++)
        if (v->sstables[i]->name.generation == generation)
            return v->sstables[i];
    return NULL;
}

static enum err take(struct compaction *c, uint64_t generation)
{
    const struct store *s = c->store;
    struct sstable *file = find(c->data->view, generation);
    unsigned long long named = (unsigned long long)generation;
    if (!file)
        return report_set(c->failed, ERR_NOT_FOUND, "the table has no SSTable %llu any more",
                          named);
    if (file->is_busy)
        return report_set(c->failed, ERR_NOT_FOUND, "SSTable %llu is being compacted", named);
    if (store_shares(s, file))
        return report_set(c->failed, ERR_NOT_FOUND,
                          "SSTable %llu is of other shards too, and was not taken apart yet",
                          named);
    if (file->damage.err != OK)
        return report_set(c->failed, ERR_CORRUPT, "%s", file->damage.text);
    sstable_ref(file);
    file->is_busy = true;
    c->going[c->going_count++] = file;
    return OK;
}

enum err compaction_choose(struct compaction *c)
{
    const struct compact_options *o = c->options;
    enum err err = OK;
    c->going = arena_array(&c->own, struct sstable *, o->inputs_count + o->expired_count);
    for (size_t i = 0; i < o->inputs_count && err == OK; i++)
        err = take(c, o->inputs[i]);
    c->inputs_count = c->going_count;
    for (size_t i = 0; i < o->expired_count && err == OK; i++)
        err = take(c, o->expired[i]);
    for (size_t i = 0; i < c->inputs_count; i++) {
        c->result->total_bytes += component_bytes(c->going[i], COMPONENT_DATA);
        c->result->input_bytes += c->going[i]->bytes[COMPONENT_DATA];
    }
    return err;
}

void compaction_let_go(struct compaction *c)
{
    while (c->going_count) {
        struct sstable *file = c->going[--c->going_count];
        file->is_busy = false;
        sstable_unref(&file);
    }
}

/* ---- what the writer is told ---- */

bool compaction_count_keys(struct compaction *c)
{
    struct cardinality some;
    if (c->seen_count == c->inputs_count)
        return false;
    const struct sstable *file = c->going[c->seen_count++];
    const struct statistics *st = &file->statistics;
    c->partitions += sstable_partitions(file);
    if (st->has_cardinality && cardinality_decode(st->cardinality, &some, NULL) == OK) {
        cardinality_merge(&c->seen, &some);
        cardinality_deinit(&some);
    }
    return true;
}

static size_t spans_count(const struct compaction *c)
{
    size_t count = 0;
    for (size_t i = 0; i < c->going_count; i++)
        count += c->going[i]->statistics.log_intervals_count;
    return count;
}

/* The expired ones' too: what they have is not to come back from the log. */
size_t compaction_spans(struct compaction *c, struct log_span **out)
{
    const struct keeper *k = &c->store->keeper;
    struct log_span *spans = *out = arena_array(&c->own, struct log_span, spans_count(c));
    uint64_t lowest = k->forget.busy || k->forget.err != OK ? 0 : k->forgotten;
    size_t count = 0;
    for (size_t i = 0; i < c->going_count; i++)
        for (size_t n = 0; n < c->going[i]->statistics.log_intervals_count; n++)
            count += files_span(c->store, c->going[i], n, &spans[count]);
    return spans_unite(spans, count, (uint64_t)io_self(c->store->io), lowest);
}

static void describe_log(struct compaction *c)
{
    struct log_span *spans;
    size_t count = compaction_spans(c, &spans);
    spans_tell(spans, count, &c->own, &c->writer);
}

void compaction_describe(struct compaction *c)
{
    const struct statistics *first = &c->going[0]->statistics;
    uint64_t distinct = cardinality_estimate(&c->seen);
    c->keys = distinct ? u64_min(distinct, c->partitions) : c->partitions;
    c->writer = (struct sstable_writer_options){
        .base = merging_base(c->going, c->inputs_count),
        .repaired_at = first->repaired_at,
        .has_pending_repair = first->has_pending_repair,
        .pending_repair = first->pending_repair,
        .is_transient = first->is_transient,
    };
    for (size_t i = 1; i < c->inputs_count; i++)
        if (c->going[i]->statistics.repaired_at < c->writer.repaired_at)
            c->writer.repaired_at = c->going[i]->statistics.repaired_at;
    describe_log(c);
}

static const struct compact_output *output_wanted(const struct compaction *c)
{
    size_t at = outputs_count(&c->outputs), last = c->options->outputs_count - 1;
    return &c->options->outputs[at < last ? at : last];
}

/* About, of one input; as fine as its sample is. */
static double keys_between(const struct sstable *file, int64_t first, int64_t last)
{
    const struct index_sample *sample = &file->sample;
    if (last < file->first_token || first > file->last_token)
        return 0;
    size_t from = index_sample_find(sample, first), upto = index_sample_find(sample, last);
    double share = (double)(upto - from + 1) / (double)sample->count;
    return share * (double)sstable_partitions(file);
}

void compaction_describe_next(struct compaction *c, int64_t token)
{
    const struct compact_options *o = c->options;
    const struct compact_output *wanted = output_wanted(c);
    double sum = 0, all = (double)c->partitions;
    while (c->cut_at < o->cuts_count && o->cuts[c->cut_at] < token)
        c->cut_at++;
    int64_t upto = c->cut_at < o->cuts_count ? o->cuts[c->cut_at] : INT64_MAX;
    for (size_t i = 0; i < c->inputs_count; i++)
        sum += keys_between(c->going[i], token, upto);
    double fitting = all * (double)wanted->bytes / (double)c->result->input_bytes;
    if (fitting < sum)
        sum = fitting;
    double keys = all > 0 ? sum * (double)c->keys / all : 0;
    c->writer.keys = u64_max(1, u64_min((uint64_t)keys + 1, c->keys));
    c->writer.level = wanted->level;
}

bool compaction_passes(struct compaction *c, int64_t token)
{
    const struct compact_options *o = c->options;
    const struct sstable_writer *w = output_writer(c->outputs.output);
    size_t before = c->cut_at;
    while (c->cut_at < o->cuts_count && o->cuts[c->cut_at] < token)
        c->cut_at++;
    if (sstable_writer_partitions(w) == 0)
        return false;
    return c->cut_at > before || sstable_writer_data_bytes(w) >= output_wanted(c)->bytes;
}

/* ---- what may be purged ---- */

static bool is_going(const struct compaction *c, const struct sstable *file)
{
    for (size_t i = 0; i < c->going_count; i++)
        if (c->going[i] == file)
            return true;
    return false;
}

/* INT64_MAX means that there is nothing: what has that timestamp counts as just before it. */
static int64_t oldest(int64_t timestamp)
{
    return timestamp < INT64_MAX ? timestamp : INT64_MAX - 1;
}

/* Of a damaged file nobody knows. */
static int64_t file_min(const struct sstable *file, int64_t token, const uint64_t hash[2])
{
    if (file->damage.err != OK)
        return INT64_MIN;
    if (token < file->first_token || token > file->last_token || !filter_has(&file->filter, hash))
        return INT64_MAX;
    return oldest(file->statistics.timestamp_min);
}

static int64_t memtable_min(const struct memtable_shared *m, struct bytes place)
{
    return memtable_partition(&m->memtable, place) ? oldest(m->memtable.minima.timestamp)
                                                   : INT64_MAX;
}

static void lower(int64_t *min, int64_t other)
{
    if (other < *min)
        *min = other;
}

int64_t compaction_timestamp_min(void *compaction, int64_t token, struct bytes key)
{
    const struct compaction *c = compaction;
    const struct view *v = c->data->view;
    struct buf place = { 0 };
    int64_t min = INT64_MAX;
    uint64_t hash[2];
    murmur3_cassandra(key, hash);
    for (size_t i = 0; i < v->sstables_count; i++)
        if (!is_going(c, v->sstables[i]))
            lower(&min, file_min(v->sstables[i], token, hash));
    comparable_partition(token, key, &place);
    lower(&min, memtable_min(v->active, buf_bytes(&place)));
    for (size_t i = 0; i < v->frozen_count; i++)
        lower(&min, memtable_min(v->frozen[i], buf_bytes(&place)));
    buf_deinit(&place);
    return min;
}

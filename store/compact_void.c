/* compact_void.c - a compaction of which nothing is left says so to the commit log.
 *
 *     files ──> outputs        their Statistics.db says what of the log they hold
 *     files ──> nothing        a floor (floor.h) says it: up to here the log has nothing to tell
 *
 * Without it a start would replay what the log still has of the inputs; and when a deletion stood
 * in a segment that has been given up, while what it covers stands in one that has not, deleted
 * rows would come back.
 *
 * The floor is right because a table's memtables become files in the order of the log, and because
 * none of this is done before the store is settled: then a record of this folder, up to the last
 * one that a file speaks of, is in a file, or was in one that has gone.  Of another shard's folder
 * a file speaks only where it was filled under another number of shards, and what stood there is
 * in files then, whoever owns it (replay.c).
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/compact_inside.h"
#include "store/text_file.h"

static void floors_remove(struct compaction *c)
{
    const struct table_data *d = c->data;
    const uint64_t *known = (const void *)d->floors.data;
    for (size_t i = 0; i < d->floors.size / sizeof *known; i++) {
        const char *name = floor_name(&c->own, known[i]);
        buf_put(&c->outputs.removes, &name, sizeof name);
    }
}

bool compaction_void(struct compaction *c, struct io_req *req, struct op *op)
{
    struct store *s = c->store;
    struct log_span *spans;
    size_t count = compaction_spans(c, &spans);
    if (count == 0 || outputs_count(&c->outputs) > 0 || c->floor_generation)
        return false;
    for (size_t i = 0; i < c->data->floor.count; i++)
        floor_raise(&c->floor, &c->own, c->data->floor.places[i]);
    for (size_t i = 0; i < count; i++)
        floor_raise(&c->floor, &c->own, (struct floor_place){ spans[i].folder, spans[i].last });
    c->floor_generation = store_generation(s);
    const char *name = floor_name(&c->own, c->floor_generation);
    c->floor_text = buf_in(&c->own);
    floor_encode(&c->floor, &c->floor_text);
    buf_put(&c->outputs.adds, &name, sizeof name);
    floors_remove(c);
    text_file_make(s->io, req, op, arena_printf(&c->own, "%s/%s" TEMPORARY, c->data->folder, name),
                   buf_bytes(&c->floor_text));
    return true;
}

void compaction_voided(struct compaction *c)
{
    if (!c->floor_generation)
        return;
    buf_clear(&c->data->floors);
    data_raise_floor(c->data, &c->floor, c->floor_generation);
}

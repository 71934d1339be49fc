/* fuzz_data.c - Data.db: heads, rows and markers of a table with everything in it.  What is read
 * can be written; and read and written again it is the same.
 */
// SPDX-License-Identifier: Apache-2.0
#include "../unit/sstable/walk.h"
#include "fuzz.h"
#include "table.h"

static struct table *table_make(void)
{
    static const struct fuzz_column columns[] = {
        { COLUMN_PARTITION, "pk", "text" },    { COLUMN_CLUSTERING, "a", "int" },
        { COLUMN_CLUSTERING, "b", "decimal" }, { COLUMN_CLUSTERING, "c", "text" },
        { COLUMN_STATIC, "s", "text" },        { COLUMN_STATIC, "t", "map<int, text>" },
        { COLUMN_REGULAR, "z", "int" },        { COLUMN_REGULAR, "m", "list<int>" },
        { COLUMN_REGULAR, "l", "set<text>" },  { COLUMN_REGULAR, "f", "frozen<list<int>>" },
    };
    return fuzz_table_of(columns, array_count(columns));
}

struct again { /* everything that was read, as it is written */
    struct walk_sink sink;
    const struct layout *layout;
    struct buf out;
};

static void again_partition(struct walk_sink *sink, const struct partition_head *head,
                            uint64_t place)
{
    struct again *a = owner_of(sink, struct again, sink);
    (void)place;
    partition_head_encode(a->layout->version, head->key, head->deletion, &a->out);
}

static void again_unfiltered(struct walk_sink *sink, const struct unfiltered *u, uint64_t place,
                             uint64_t next)
{
    struct again *a = owner_of(sink, struct again, sink);
    (void)place, (void)next;
    if (u->kind == UNFILTERED_MARKER)
        marker_write(a->layout, &u->marker, 0, &a->out);
    else if (u->kind == UNFILTERED_STATIC)
        static_row_write(a->layout, &u->row, &a->out);
    else
        row_write(a->layout, &u->row, 0, &a->out);
}

static void again_end(struct walk_sink *sink, uint64_t place)
{
    (void)place;
    buf_put_u8(&owner_of(sink, struct again, sink)->out, 0x01);
}

static struct again again_of(const struct layout *layout)
{
    return (struct again){ .sink = { again_partition, again_unfiltered, again_end },
                           .layout = layout };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct table *table;
    struct bytes in = { data, size };
    enum sstable_version version = fuzz_choice(&in, 2) ? SSTABLE_OA : SSTABLE_NB;
    struct arena arena = { 0 };
    struct layout layout;
    if (!table)
        table = table_make();
    layout_of_table(version, table,
                    (struct header_base){ .timestamp = 1000, .seconds = 1000, .ttl = 10 }, &arena,
                    &layout);
    struct again once = again_of(&layout), twice = again_of(&layout);
    if (walk_stream(&layout, in, &once.sink) == OK) {
        enum err err = walk_stream(&layout, buf_bytes(&once.out), &twice.sink);
        ensure(err == OK);
        ensure(bytes_equal(buf_bytes(&once.out), buf_bytes(&twice.out)));
    }
    buf_deinit(&once.out);
    buf_deinit(&twice.out);
    arena_deinit(&arena);
    return 0;
}

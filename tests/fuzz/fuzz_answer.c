/* fuzz_answer.c - what replicas say to a read and to its digest, and what they are asked: answers
 * merge, have a digest and are told apart, or are refused; and what is made of them can be read.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "fuzz.h"
#include "model/comparable.h"
#include "model/difference.h"
#include "model/digest.h"
#include "table.h"

enum choice {
    CHOICE_MERGE,
    CHOICE_MERGE_REVERSED,
    CHOICE_DIFFERENCE,
    CHOICE_DIFFERENCE_REVERSED,
    CHOICE_DIGEST,
    CHOICE_READ,
    CHOICE_ASK,
    CHOICE_TOLD,
    CHOICE_KEY,
    CHOICES
};
enum { NOW = 1000000, GC_BEFORE = 900000, ROWS_LIMIT = 5, BYTES_LIMIT = 2000 };

static struct read read_make(bool is_reversed)
{
    return (struct read){ .is_range = true,
                          .after = INT64_MIN,
                          .upto = INT64_MAX,
                          .is_reversed = is_reversed,
                          .rows_limit = ROWS_LIMIT,
                          .bytes_limit = BYTES_LIMIT,
                          .now_seconds = NOW };
}

/* Two answers of one input: the first is as long as its first two bytes say. */
static void split(struct bytes in, struct bytes two[2])
{
    size_t first = in.size < 2 ? 0 : (size_t)u64_min(get_be16(in.data), in.size - 2);
    two[0] = in.size < 2 ? in : bytes_of(in.data + 2, first);
    two[1] = in.size < 2 ? in : bytes_of(in.data + 2 + first, in.size - 2 - first);
}

static enum err merge(const struct read *read, const struct bytes *answers, size_t count,
                      struct arena *arena, struct buf *out)
{
    struct read_outcome outcome;
    struct result_writer writer;
    struct result_answers all = { .answers = answers, .count = count };
    result_begin(&writer, read, out);
    enum err err = result_merge(fuzz_table(), read, &all, arena, &writer.sink, &outcome);
    ensure(err == OK || (err == ERR_CORRUPT && all.bad < count));
    if (err != OK)
        outcome = (struct read_outcome){ 0 };
    result_end(&writer, &outcome);
    return err;
}

static void mutation_look(void *context, const struct mutation *m)
{
    struct arena *arena = context;
    struct mutation again;
    struct buf out = buf_in(arena);
    mutation_encode(m, &out);
    enum err err = mutation_decode(buf_bytes(&out), fuzz_table(), arena, &again);
    ensure(err == OK && again.rows_count == m->rows_count);
    ensure(again.ranges_count == m->ranges_count);
}

/* What was merged is an answer itself, and merged alone it stays as it is. */
static void merge_try(bool is_reversed, struct bytes in, struct arena *arena)
{
    struct read read = read_make(is_reversed);
    struct bytes two[2], once;
    struct buf out = buf_in(arena), again = buf_in(arena);
    struct digest_answer digest, same;
    split(in, two);
    if (merge(&read, two, array_count(two), arena, &out) != OK)
        return;
    once = buf_bytes(&out);
    enum err err = merge(&read, &once, 1, arena, &again);
    ensure(err == OK);
    err = digest_of_answer(fuzz_table(), &read, GC_BEFORE, once, arena, &digest);
    ensure(err == OK);
    err = digest_of_answer(fuzz_table(), &read, GC_BEFORE, buf_bytes(&again), arena, &same);
    ensure(err == OK && digest_compare(&digest, &same, is_reversed) == DIGEST_EQUAL);
}

static void difference_try(bool is_reversed, struct bytes in, struct arena *arena)
{
    struct read read = read_make(is_reversed);
    struct bytes two[2];
    struct buf merged = buf_in(arena);
    struct difference_args args = { .table = fuzz_table(),
                                    .read = &read,
                                    .gc_before = GC_BEFORE,
                                    .arena = arena,
                                    .give = mutation_look,
                                    .context = arena };
    split(in, two);
    if (merge(&read, two, array_count(two), arena, &merged) != OK)
        return;
    for (size_t i = 0; i < array_count(two); i++) {
        enum err err = difference_of(&args, buf_bytes(&merged), two[i]);
        ensure(err == OK || err == ERR_CORRUPT);
    }
}

static void digest_try(struct bytes in, struct arena *arena)
{
    struct read read = read_make(false);
    struct digest_answer digest, again;
    struct buf out = buf_in(arena);
    if (digest_of_answer(fuzz_table(), &read, GC_BEFORE, in, arena, &digest) != OK)
        return;
    digest_answer_encode(&digest, &out);
    enum err err = digest_answer_decode(buf_bytes(&out), &again);
    ensure(err == OK && digest_compare(&digest, &again, false) == DIGEST_EQUAL);
}

static void read_try(struct bytes in, struct arena *arena)
{
    struct read read, again;
    struct buf out = buf_in(arena);
    if (read_decode(in, arena, &read) != OK)
        return;
    ensure(read.rows_limit > 0 && read.bytes_limit > 0 && read.slices_count <= READ_SLICES_MAX);
    read_encode(&read, &out);
    enum err err = read_decode(buf_bytes(&out), arena, &again);
    ensure(err == OK && again.slices_count == read.slices_count);
    ensure(again.columns_count == read.columns_count && again.upto == read.upto);
}

static void ask_try(struct bytes in, struct arena *arena)
{
    struct read read;
    int64_t gc_before;
    struct buf out = buf_in(arena);
    if (digest_ask_decode(in, arena, &read, &gc_before) == OK)
        digest_ask_encode(&read, gc_before, &out);
}

static void told_try(struct bytes in, struct arena *arena)
{
    struct digest_answer told;
    struct buf out = buf_in(arena);
    if (digest_answer_decode(in, &told) != OK)
        return;
    digest_answer_encode(&told, &out);
    ensure(out.size <= in.size && digest_compare(&told, &told, false) == DIGEST_EQUAL);
}

/* Values that were found make the bytes again. */
static void key_try(struct bytes in, struct arena *arena)
{
    const struct table *table = fuzz_table();
    struct buf raw = buf_in(arena), again = buf_in(arena);
    struct bytes values[2];
    size_t count = 0;
    if (comparable_values(table, in, &raw) != OK)
        return;
    for (struct cursor c = cursor_of(buf_bytes(&raw)); cursor_left(&c); count++) {
        ensure(count < table->clustering_count);
        values[count] = clustering_take(&c);
        ensure(!c.bad);
    }
    for (size_t i = 0; i < count; i++) {
        const struct column *column = table_clustering(table, i);
        ensure(!values[i].data || type_validate(column->type, values[i]) == OK);
        comparable_component(column->type, column->is_reversed, values[i], &again);
    }
    ensure(bytes_equal(buf_bytes(&again), bytes_of(in.data, in.size - 1)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = bytes_of(data, size);
    struct arena arena = { 0 };
    enum choice choice = (enum choice)fuzz_choice(&in, CHOICES);
    switch (choice) {
    case CHOICE_MERGE:
    case CHOICE_MERGE_REVERSED:
        merge_try(choice == CHOICE_MERGE_REVERSED, in, &arena);
        break;
    case CHOICE_DIFFERENCE:
    case CHOICE_DIFFERENCE_REVERSED:
        difference_try(choice == CHOICE_DIFFERENCE_REVERSED, in, &arena);
        break;
    case CHOICE_DIGEST:
        digest_try(in, &arena);
        break;
    case CHOICE_READ:
        read_try(in, &arena);
        break;
    case CHOICE_ASK:
        ask_try(in, &arena);
        break;
    case CHOICE_TOLD:
        told_try(in, &arena);
        break;
    case CHOICE_KEY:
        key_try(in, &arena);
        break;
    case CHOICES:
        break;
    }
    arena_deinit(&arena);
    return 0;
}

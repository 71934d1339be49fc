/* fuzz_kept.c - what coordinators keep for others, in journals and on the wire: hints and their
 * marks, bodies of hints, words of the batchlog, ranges that are owed.  What is read can be written
 * again, and is as bounded as its bytes.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/batchlog_record.h"
#include "coordinator/hints_record.h"
#include "coordinator/owed_set.h"
#include "fuzz.h"

enum choice { CHOICE_HINT, CHOICE_BODY, CHOICE_BATCH, CHOICE_OWED, CHOICES };

/* A mark's tables are as many as it says. */
static void mark_write(const struct hint_record *r, struct buf *out)
{
    struct cursor tables = cursor_of(r->rest);
    struct hint_settled each;
    size_t count = 0;
    hint_put_mark(out, r);
    for (; count < r->tables_count && hint_mark_next(&tables, &each); count++)
        hint_put_settled(out, &each);
    ensure(count == r->tables_count && cursor_left(&tables) == 0);
}

static void hint_try(struct bytes in)
{
    struct hint_record r, again;
    struct buf out = { 0 };
    if (hint_get(in, &r) == OK) {
        ensure(r.rest.size <= in.size && (size_t)r.why < HINT_DROPS_COUNT);
        if (r.kind == HINT_MARK)
            mark_write(&r, &out);
        else if (r.kind == HINT_ERASE)
            hint_put_erase(&out, r.why, &r.table);
        else
            hint_put(&out, &r);
        enum err err = hint_get(buf_bytes(&out), &again);
        ensure(err == OK && again.kind == r.kind && again.number == r.number);
        ensure(again.parts == r.parts && again.settled == r.settled && again.why == r.why);
    }
    buf_deinit(&out);
}

static void body_try(struct bytes in)
{
    struct cursor c = cursor_of(in);
    struct bytes mutation;
    size_t bytes = 0;
    while (hints_body_next(&c, &mutation)) {
        ensure(mutation.size > 0);
        bytes += mutation.size;
    }
    ensure(bytes <= in.size);
}

static void batch_try(struct bytes in)
{
    struct batch_record r;
    struct mutation m;
    if (batch_get(in, &r) != OK || r.word != BATCH_KEEP)
        return;
    ensure(r.count > 0);
    for (size_t i = 0; i < r.count; i++) {
        struct bytes one = cursor_sized(&r.mutations);
        ensure(!r.mutations.bad && mutation_peek(one, &m) == OK);
    }
    ensure(cursor_left(&r.mutations) == 0);
}

static void owed_try(struct bytes in)
{
    struct owed_set set = { 0 }, again = { 0 };
    struct buf out = { 0 };
    if (owed_set_decode(&set, in, 1000)) {
        owed_set_encode(&set, &out);
        bool is_good = owed_set_decode(&again, buf_bytes(&out), 1000);
        ensure(is_good && again.unknown_count == set.unknown_count);
    }
    buf_deinit(&out);
    owed_set_deinit(&set);
    owed_set_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = bytes_of(data, size);
    switch ((enum choice)fuzz_choice(&in, CHOICES)) {
    case CHOICE_HINT:
        hint_try(in);
        break;
    case CHOICE_BODY:
        body_try(in);
        break;
    case CHOICE_BATCH:
        batch_try(in);
        break;
    case CHOICE_OWED:
        owed_try(in);
        break;
    case CHOICES:
        break;
    }
    return 0;
}

/* fuzz_journal.c - a segment of a journal: read whole and read piece by piece, it gives the same;
 * and a packed record is unpacked or refused.
 *
 * No random bytes have the right checksums, so that blocks which ask for it get a mark of their
 * place with the sizes that stand there.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/mem.h"
#include "fuzz.h"
#include "io/journal_parse.h"

enum { CHOICE_RECORD, CHOICE_WHOLE, CHOICE_MARKED, CHOICES };

static enum err note(void *context, struct bytes record, struct journal_position at)
{
    uint64_t *hash = context;
    *hash = hash_of(*hash, record) + at.offset;
    return OK;
}

/* A block whose first byte is odd gets a mark: what follows it stays, so sizes are arbitrary. */
static void mark_blocks(uint8_t *data, size_t size)
{
    for (size_t at = 0; at + JOURNAL_MARK_BYTES <= size; at += JOURNAL_BLOCK_BYTES) {
        uint8_t *p = data + at;
        if (p[0] % 2 == 0)
            continue;
        struct journal_mark m = { .at = { 1, at },
                                  .body_bytes = get_be32(p + 24) >> p[1] % 32,
                                  .records = get_be32(p + 28) >> p[2] % 32,
                                  .first = p[3] % 2,
                                  .proven = { p[4] % 3, get_be64(p + 48) >> p[5] % 64 },
                                  .flags = p[6] % 2,
                                  .salt = p[7] % 4 };
        journal_mark_put(p, &m);
    }
}

/* Gives the parser no more than it asks for, when it is stingy. */
static uint64_t read_all(struct bytes segment, enum journal_holes holes, bool is_stingy)
{
    uint64_t hash = 1;
    struct journal_replay out = { 0 };
    struct journal_reading how = {
        .folder = "f", .holes = holes, .record = note, .context = &hash
    };
    struct journal_parser p = { .how = &how, .out = &out };
    size_t given = is_stingy ? 0 : segment.size;
    p.judge.lowest = 1;
    journal_parse_begin(&p, 1, segment.size);
    while (p.err == OK && p.at.offset < segment.size) {
        size_t at = (size_t)p.at.offset, there = given > at ? given - at : 0;
        size_t missing =
            journal_parse(&p, bytes_of(segment.data + at, there), at + there == segment.size);
        given = missing ? (size_t)u64_min(at + there + missing, segment.size) : given;
    }
    journal_parse_end(&p);
    ensure(p.err != OK || p.at.offset >= segment.size);
    journal_parser_deinit(&p);
    return hash + out.records + out.holes + out.torn_bytes + out.skipped_bytes + (uint64_t)p.err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = bytes_of(data, size), out;
    unsigned choice = fuzz_choice(&in, CHOICES);
    if (choice == CHOICE_RECORD) {
        struct journal_record record = { .stored = in, .is_packed = true };
        struct buf room = { 0 };
        if (journal_record_open(&record, &room, &out))
            ensure(out.size > 0 && out.size <= in.size * 255);
        buf_deinit(&room);
        return 0;
    }
    uint8_t *copy = mem_alloc(in.size + 1);
    if (in.size)
        memcpy(copy, in.data, in.size);
    if (choice == CHOICE_MARKED)
        mark_blocks(copy, in.size);
    for (int holes = JOURNAL_STRICT; holes <= JOURNAL_SKIP_HOLE; holes++) {
        struct bytes segment = bytes_of(copy, in.size);
        uint64_t whole = read_all(segment, (enum journal_holes)holes, false);
        ensure(whole == read_all(segment, (enum journal_holes)holes, true));
    }
    mem_free(copy);
    return 0;
}

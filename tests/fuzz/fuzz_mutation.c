/* fuzz_mutation.c - mutations, as the commit log holds them and other nodes send them.  What is
 * read can be written, and read again.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "fuzz.h"
#include "table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct table *table = fuzz_table();
    struct bytes in = { data, size };
    struct arena arena = { 0 };
    struct mutation m, again;
    if (mutation_decode(in, table, &arena, &m) == OK) {
        struct buf out = buf_in(&arena);
        mutation_encode(&m, &out);
        enum err e = mutation_decode(buf_bytes(&out), table, &arena, &again);
        ensure(e == OK && again.rows_count == m.rows_count && bytes_equal(again.key, m.key));
    }
    arena_deinit(&arena);
    return 0;
}

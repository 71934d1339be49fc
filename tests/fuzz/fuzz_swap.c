/* fuzz_swap.c - the two records in a table's folder: swaps and floors.  What is read is written the
 * same.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "fuzz.h"
#include "store/floor.h"
#include "store/swap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    struct arena arena = { 0 };
    struct buf out = buf_in(&arena);
    struct swap swap, swap_again;
    struct floor floor = { 0 }, floor_again = { 0 };
    if (swap_decode(in, &arena, &swap) == OK) {
        swap_encode(&swap, &out);
        enum err e = swap_decode(buf_bytes(&out), &arena, &swap_again);
        ensure(e == OK && swap_again.adds_count == swap.adds_count &&
               swap_again.removes_count == swap.removes_count);
    }
    buf_clear(&out);
    if (floor_decode(in, &arena, &floor) == OK) {
        floor_encode(&floor, &out);
        enum err e = floor_decode(buf_bytes(&out), &arena, &floor_again);
        ensure(e == OK && floor_again.count == floor.count);
    }
    arena_deinit(&arena);
    return 0;
}

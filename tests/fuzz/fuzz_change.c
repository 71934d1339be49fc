/* fuzz_change.c - changes of the schema, as the metadata log holds them: whatever was appended, a
 * catalog takes it or stays as it was.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "fuzz.h"
#include "model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    struct arena arena = { 0 };
    struct schema_change change;
    struct catalog catalog;
    catalog_init(&catalog);
    if (change_decode(in, &arena, &change) == OK) {
        struct buf out = buf_in(&arena);
        change_encode(&change, &out);
        ensure(out.size > 0);
    }
    (void)catalog_apply(&catalog, 1, in);
    catalog_deinit(&catalog);
    arena_deinit(&arena);
    return 0;
}

/* fuzz_summary.c - Summary.db: every entry of what is read lies inside. */
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "sstable/summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct summary s;
    struct report report;
    if (summary_decode(bytes_of(data, size), &s, &report) != OK)
        return 0;
    for (uint32_t i = 0; i < s.count; i++) {
        struct bytes key = summary_key(&s, i);
        ensure(key.data >= data && key.data + key.size + 8 <= data + size);
        summary_place(&s, i);
    }
    ensure(s.last_key.data + s.last_key.size <= data + size);
    return 0;
}

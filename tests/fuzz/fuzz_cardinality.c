/* fuzz_cardinality.c - the sketch in Statistics.db: read, asked, merged, written, read. */
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "sstable/estimate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cardinality c, again;
    struct buf out = { 0 };
    struct report report;
    if (cardinality_decode(bytes_of(data, size), &c, &report) != OK)
        return 0;
    cardinality_encode(&c, &out);
    ensure(cardinality_decode(buf_bytes(&out), &again, &report) == OK);
    ensure(cardinality_estimate(&c) == cardinality_estimate(&again));
    cardinality_add(&again, bytes_of(data, size));
    cardinality_merge(&c, &again);
    cardinality_estimate(&c);
    cardinality_deinit(&c);
    cardinality_deinit(&again);
    buf_deinit(&out);
    return 0;
}

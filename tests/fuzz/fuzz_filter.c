/* fuzz_filter.c - Filter.db: a key that was added is found, and no bit lies outside. */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/mem.h"
#include "fuzz.h"
#include "sstable/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct filter f;
    struct report report;
    uint64_t hash[2];
    if (filter_decode_head(bytes_of(data, size), size, &f, &report) != OK)
        return 0;
    size_t bits_bytes = f.words * 8;
    f.bits = mem_alloc(bits_bytes);
    if (bits_bytes)
        memcpy(f.bits, data + FILTER_HEAD_BYTES, bits_bytes);
    murmur3_cassandra(bytes_of(data, size), hash);
    filter_has(&f, hash);
    filter_add(&f, hash);
    ensure(filter_has(&f, hash));
    mem_free(f.bits);
    return 0;
}

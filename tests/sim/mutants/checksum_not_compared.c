/* checksum_not_compared.c - a broken build: checksums of what is read from Data.db and Index.db are
 * taken, and found to agree whatever they are.
 *
 * store/chunk.c is compiled again.  test_store_corrupt must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "store/chunk.h"
#include "store/sstable.h"

#define chunk_unpack(codec, params, raw, is_checked, to, size) \
    chunk_unpack(codec, params, raw, !(is_checked), to, size)
#define crc32c_of(seed, in) ((void)(in), checks->crcs[w->number])
#define crc32_of(seed, in) ((void)(in), checks->crcs[w->number])
#include "store/chunk.c"

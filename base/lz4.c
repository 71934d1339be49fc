/* lz4.c - one LZ4 block, bounded both ways.
 *
 * The block is bare: sizes travel beside it, in whatever format carries it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/lz4.h"

#include "base/buf.h"

#include <limits.h>
#include <lz4.h>

size_t lz4_pack(struct bytes in, struct buf *out)
{
    ensure(in.size <= LZ4_MAX_INPUT_SIZE);
    int bound = LZ4_compressBound((int)in.size);
    char *at = (char *)buf_take(out, (size_t)bound);
    int size = LZ4_compress_default(in.size ? (const char *)in.data : "", at, (int)in.size, bound);
    ensure(size > 0 && size <= bound);
    out->size -= (size_t)(bound - size);
    return (size_t)size;
}

enum err lz4_unpack(struct bytes block, uint8_t *out, size_t size)
{
    if (block.size == 0 || block.size > INT_MAX || size > INT_MAX)
        return ERR_CORRUPT;
    uint8_t none;
    char *at = (char *)(size ? out : &none);
    int written = LZ4_decompress_safe((const char *)block.data, at, (int)block.size, (int)size);
    return written >= 0 && (size_t)written == size ? OK : ERR_CORRUPT;
}

/* damage.h - every way to cut a file and to flip a bit of it, each copy at its size on the heap, so
 * that a sanitizer sees a read beyond. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/mem.h"

typedef void damage_try(struct bytes damaged, size_t at, void *context);

static inline void damage_cut(struct bytes good, damage_try *try, void *context)
{
    for (size_t size = 0; size < good.size; size++) {
        uint8_t *copy = mem_alloc(size);
        memcpy(copy, good.data, size);
        try(bytes_of(copy, size), size, context);
        mem_free(copy);
    }
}

static inline void damage_flip(struct bytes good, damage_try *try, void *context)
{
    uint8_t *copy = mem_alloc(good.size);
    memcpy(copy, good.data, good.size);
    for (size_t bit = 0; bit < good.size * 8; bit++) {
        copy[bit / 8] ^= (uint8_t)(1U << bit % 8);
        try(bytes_of(copy, good.size), bit / 8, context);
        copy[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    mem_free(copy);
}

/* seal.c - see seal.h.  People may read these files, so they are text; the machine trusts the sum.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/seal.h"

#include "base/hash.h"

enum { SEAL_BYTES = 16 }; /* "crc32c 1a2b3c4d\n" */

void seal_put(struct buf *b)
{
    ensure(b->size > 0 && b->data[b->size - 1] == '\n');
    buf_printf(b, "crc32c %08x\n", crc32c_of(0, buf_bytes(b)));
}

bool seal_check(struct bytes file, struct bytes *lines)
{
    char seal[SEAL_BYTES + 1];
    if (file.size <= SEAL_BYTES || file.size > SEALED_BYTES_MAX)
        return false;
    *lines = bytes_of(file.data, file.size - SEAL_BYTES);
    snprintf(seal, sizeof seal, "crc32c %08x\n", crc32c_of(0, *lines));
    return memcmp(file.data + lines->size, seal, SEAL_BYTES) == 0 &&
           file.data[lines->size - 1] == '\n';
}

bool seal_line(struct bytes *lines, struct bytes *line)
{
    if (lines->size == 0)
        return false;
    const uint8_t *end = memchr(lines->data, '\n', lines->size);
    size_t n = end ? (size_t)(end - lines->data) : lines->size;
    *line = bytes_of(lines->data, n);
    n += end != NULL;
    *lines = bytes_of(lines->data + n, lines->size - n);
    return true;
}

struct bytes seal_word(struct bytes *line)
{
    const uint8_t *end = line->size ? memchr(line->data, ' ', line->size) : NULL;
    size_t n = end ? (size_t)(end - line->data) : line->size;
    struct bytes word = bytes_of(line->data, n);
    n += end != NULL;
    *line = bytes_of(line->data + n, line->size - n);
    return word;
}

bool seal_number(struct bytes word, uint64_t *out)
{
    *out = 0;
    if (word.size == 0 || word.size > 20 || (word.size > 1 && word.data[0] == '0'))
        return false;
    for (size_t i = 0; i < word.size; i++) {
        unsigned digit = (unsigned)(word.data[i] - '0');
        if (word.data[i] < '0' || word.data[i] > '9' || *out > (UINT64_MAX - digit) / 10)
            return false;
        *out = *out * 10 + digit;
    }
    return true;
}

bool seal_name_parse(const char *name, const char *prefix, uint64_t *generation)
{
    size_t before = strlen(prefix), n = strlen(name);
    if (n < before + 5 || strncmp(name, prefix, before) != 0 || strcmp(name + n - 4, ".txt") != 0)
        return false;
    return seal_number(bytes_of(name + before, n - before - 4), generation);
}

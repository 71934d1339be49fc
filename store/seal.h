/* seal.h - small text files of our own that end with a checksum of themselves.
 *
 *     what it says, line by line
 *     crc32c 1a2b3c4d
 *
 * Private to store/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"

enum { SEALED_BYTES_MAX = 4 * 1024 * 1024 };

/* Appends the last line to what is in the buffer. */
void seal_put(struct buf *);
/* The lines before the seal; false when it is missing or does not hold. */
bool seal_check(struct bytes file, struct bytes *lines);
/* Takes the next line, without its end, from *lines; false at the end. */
bool seal_line(struct bytes *lines, struct bytes *line);
/* Takes the next word of a line; empty at its end. */
struct bytes seal_word(struct bytes *line);
/* A decimal number of a whole word; false when it is none. */
bool seal_number(struct bytes word, uint64_t *out);
/* "<prefix>9.txt": 9; false for any other name. */
bool seal_name_parse(const char *name, const char *prefix, uint64_t *generation);

/* clustering.h - clustering values as files have them (facts: sstable 2.4): in Data.db, Index.db
 * and the covered range of Statistics.db.
 *
 *     per group of 32:  vint head, two bits a value: 01 empty, 10 null | the other values
 *
 * The raw form is that of struct row: each a vint size and bytes, null as comparable.h says.
 * `fixed` has a number for each value: the bytes of its type in files, or 0 when a vint length
 * stands before it.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"

void clustering_values_write(const size_t *fixed, struct bytes raw, size_t count, struct buf *out);
/* Appends the raw form.  ERR_WOULD_WAIT: the cursor ran out; ERR_CORRUPT: a head with bits that say
 * nothing, a value above 65535 bytes. */
enum err clustering_values_read(const size_t *fixed, struct cursor *, size_t count,
                                struct buf *raw);

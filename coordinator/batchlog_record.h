/* batchlog_record.h - what VERB_BATCH asks, and what the journal of the batchlog holds; pure.
 *
 *     keep    1 | 16 id | made at, wall us i64 | vint mutations | each: sized bytes
 *     forget  2 | 16 id
 *     erase   3 | 16 table        journal only: what is kept before it has lost this table
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "base/uuid.h"
#include "model/model.h"

enum batch_word { BATCH_KEEP = 1, BATCH_FORGET = 2, BATCH_ERASE = 3 };
struct batch_record {
    enum batch_word word;
    struct uuid id; /* of the batch; ERASE: of the table */
    int64_t made_us;
    size_t count;
    struct cursor mutations; /* for cursor_sized; each has been looked at */
};
/* Then `count` times buf_put_sized. */
void batch_put_keep(struct buf *, const struct uuid *id, int64_t made_us, size_t count);
void batch_put(struct buf *, enum batch_word, const struct uuid *id);
/* Borrows from the input.  ERR_CORRUPT: it is none, or a mutation in it is none. */
enum err batch_get(struct bytes, struct batch_record *out);

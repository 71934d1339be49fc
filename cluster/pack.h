/* pack.h - msgpack, as far as nodes speak it: numbers, truth, nothing, bytes, arrays.
 *
 * Written with libmsgpack's packer into a buf.  Read by a strict reader of our own over a cursor:
 * in place, without allocation, and a lying count cannot make anybody reserve memory.  As with
 * every cursor, a read that does not fit makes it bad and gives zeros from there on.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "base/uuid.h"
#include "io/io.h"

void pack_array(struct buf *, size_t count);
void pack_u64(struct buf *, uint64_t);
void pack_i64(struct buf *, int64_t);
void pack_bool(struct buf *, bool);
void pack_nil(struct buf *);
void pack_bytes(struct buf *, struct bytes); /* bin */
void pack_text(struct buf *, const char *);  /* str */
void pack_uuid(struct buf *, const struct uuid *);
void pack_addr(struct buf *, const struct io_addr *); /* family 0 (none), 4 or 6 */

/* The array must have exactly that many members. */
void unpack_array(struct cursor *, size_t count);
/* Any count whose members can fit in what is left, one byte each; at most `most`. */
size_t unpack_count(struct cursor *, size_t most);
uint64_t unpack_u64(struct cursor *);
/* At most `most`, else bad. */
uint64_t unpack_u64_max(struct cursor *, uint64_t most);
int64_t unpack_i64(struct cursor *);
bool unpack_bool(struct cursor *);
/* True, and it is eaten, when the next thing is nil. */
bool unpack_nil(struct cursor *);
struct bytes unpack_bytes(struct cursor *); /* bin or str; borrowed */
/* Into text of `room` bytes with its zero; bad when longer, or when it holds a zero. */
void unpack_text(struct cursor *, char *out, size_t room);
void unpack_uuid(struct cursor *, struct uuid *out);
void unpack_addr(struct cursor *, struct io_addr *out);

/* page.h - the paging state: where a SELECT goes on, as bytes that a client carries.
 *
 *     version | 8 hash of the plan's id | vint read | vint rows left | vint partition left
 *     | flags (1 position, 2 rows before it) | [8 token | sized key | sized row key] | 4 crc
 *
 * What comes back is not trusted: a state of another statement or a damaged one is refused, and
 * one that was made up can only name a place to go on from.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cql/plan.h"

struct page {
    size_t reads_at;         /* which read goes on */
    uint64_t rows_left;      /* of LIMIT; UINT64_MAX: no limit */
    uint64_t partition_left; /* of PER PARTITION LIMIT in the partition at `from` */
    struct position from;
    bool has_rows; /* the partition at `from` had rows before it */
};
void page_encode(const struct cql_plan *, const struct page *, struct buf *out);
/* Borrowed from the bytes.  ERR_INVALID. */
enum err page_decode(const struct cql_plan *, struct bytes, struct page *out);

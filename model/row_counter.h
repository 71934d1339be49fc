/* row_counter.h - the value of a counter's cell: one share for each node that counted.
 *
 *     context   be16 marks | marks x be16 | shares, ascending by id
 *     share     16 bytes of id | be64 clock | be64 count          (facts: sstable 8.3)
 *     mark      the index of a local share, or index - 32768 of a global one; others are remote
 *
 * What a reader sees is the sum of the counts.  This file merges; nothing here counts.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"

/* Share by share, as Cassandra does it: a global one wins over others, then a local one; two of a
 * kind: the higher clock, then the higher count; two local ones are added up.  The result is in the
 * arena, or one of the two.  Bytes that are no context give way to those that are. */
struct bytes counter_merge(struct arena *, struct bytes a, struct bytes b);
/* The sum of the counts, wrapping around; 0 for bytes that are no context. */
int64_t counter_total(struct bytes);

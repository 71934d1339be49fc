/* compaction.h - which SSTables of a table become which others, when, and at what cost.
 *
 *     files of a table ──> strategy: a pick ──> compactor: store_compact ──> other files
 *       (descriptions)      (pure, in words)      (when, how fast)            (store/compact.h)
 *
 * The facade of compaction/.  Policy is pure: descriptions of files in, a pick with its reason out,
 * so that each rule is tested by tables of numbers and the same code answers "what would L10 do".
 * Rewriting files is the store's (store/compact.h); deciding and pacing is here.
 *
 *     local.h        token ranges of a shard: coverage of a file, split points      pure
 *     strategy.h     descriptions, picks; the four strategies behind one door       pure
 *                    (unified*.c, tiered.c, leveled*.c, window.c)
 *     garbage.h      expired files, files worth a tombstone compaction              pure
 *     forecast.h     a sequence of flushes and picks without files: what a setting will cost
 *     compactor.h    one shard's: picks, runs, paces, remembers
 *
 * Facts: Apache Cassandra 5.0's strategies; where it is known to be wrong, a comment says so and
 * the right thing is done (docs/compaction.md).
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compaction/compactor.h"
#include "compaction/forecast.h"
#include "compaction/garbage.h"
#include "compaction/local.h"
#include "compaction/strategy.h"

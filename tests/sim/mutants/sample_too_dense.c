/* sample_too_dense.c - a broken build: the index summary of a file, which is kept in memory, names
 * every second partition, not one of 128.
 *
 * sstable/writer.c is compiled again.  test_store_wide_partition must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/summary.h"

#define summary_builder_init(builder, interval) summary_builder_init(builder, (interval) / 64)
#include "sstable/writer.c"

/* column_index_unused.c - a broken build: a page of a wide partition is looked for from the
 * partition's beginning.
 *
 * store/file_walk_in.c is compiled again.  test_store_wide_partition must turn red: each page is
 * right, and costs too much.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/file_walk_in.h"

#define column_index_decode(version, bytes, index_bytes, out) \
    (*(out) = (struct column_index){ 0 }, OK)
#include "store/file_walk_in.c"

/* input_not_removed.c - a broken build: the swap of a compaction does not name its oldest input
 * among what goes, so that a start finds it again, with rows whose deletion has been purged.
 *
 * store/compact.c is compiled again.  sim_store must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/compact_inside.h"

static void mutant_removes(struct buf *removes, struct arena *arena, const struct sstable *file)
{
    enum { OF_A_ROW = 1, OF_A_DELETION };
    if (file->statistics.timestamp_max >= OF_A_DELETION)
        removes_put(removes, arena, file);
}
#define removes_put mutant_removes
#include "store/compact.c"

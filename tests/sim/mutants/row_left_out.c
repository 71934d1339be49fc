/* row_left_out.c - a broken build: a compaction leaves out a row now and then.
 *
 * store/merging.c is compiled again.  sim_store must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/merging.h"

static void mutant_row(struct sstable_writer *writer, const struct row *row)
{
    static unsigned count;
    if (++count % 16)
        sstable_writer_row(writer, row);
}
#define sstable_writer_row mutant_row
#include "store/merging.c"

/* partition_lost.c - a broken build: a flush leaves out the last partition, and the log forgets it.
 *
 * store/flush.c is compiled again, with a walk over the memtable that ends too early.  sim_store
 * must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/inside.h"

static bool mutant_goes_on(struct btree_place at)
{
    struct btree_place next = at;
    if (!btree_valid(at))
        return false;
    btree_forward(&next);
    return btree_valid(next);
}
#define btree_valid mutant_goes_on
#include "store/flush.c"

/* bound_lost.c - a broken build: where a range tombstone ends inside of an older one, the older one
 * is taken to end, too.
 *
 * store/merging.c is compiled again, with the open range of fewer inputs than there are.
 * sim_compact must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/heads.h"

#define heads_open(heads) \
    (deletion_compare(heads_open(heads), m->open) < 0 ? deletion_none() : heads_open(heads))
#include "store/merging.c"

/* repair_clears_nothing.c - a broken build: a repair says that a range is whole, and it stays
 * unknown.
 *
 * coordinator/owed.c is compiled again.  sim_heal must turn red: divergence does not become 0.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/owed_set.h"

#define owed_set_clear(set, range, began_us) ((void)(set), (void)(range), (void)(began_us))
#include "coordinator/owed.c"

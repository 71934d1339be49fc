/* purge_never.c - a broken build: no tombstone is ever old enough to go.
 *
 * model/purge.c is compiled again, with a gc_grace of 30 years.  sim_heal must turn red: deletions
 * are still there when they should have gone.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/purge.h"

#define gc_before now_seconds - 1000000000
#include "model/purge.c"

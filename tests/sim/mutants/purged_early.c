/* purged_early.c - a broken build: a tombstone goes as soon as gc_grace has passed, whatever older
 * data other files have.
 *
 * model/purge.c is compiled again, and whoever it asks, it hears of nothing outside.  sim_compact
 * must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/purge.h"

#define ask(of) context ? INT64_MAX : INT64_MAX
#include "model/purge.c"

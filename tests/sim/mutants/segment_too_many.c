/* segment_too_many.c - a broken build: the commit log forgets one segment too many, whose last
 * mutations are in no file yet.
 *
 * store/keeper.c is compiled again.  sim_store must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/inside.h"

#define journal_forget(j, req, op, first) \
    journal_forget(j, req, op, u64_min((first) + 1, s->logged_at.segment))
#include "store/keeper.c"

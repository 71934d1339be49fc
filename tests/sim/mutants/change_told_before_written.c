/* change_told_before_written.c - a broken build: a member says that it has a change before the
 * entry is in its metadata log.
 *
 * cluster/learn.c is compiled again, with an append that completes at once while the real one still
 * runs.  Alone it does no harm that anybody could see, since the votes are written and a change
 * that all have voted for is finished later; with vote_before_written.c sim_schema must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "unheard.h"

#define journal_append unheard_append
#include "cluster/learn.c"

/* vote_before_written.c - a broken build: a member votes for a change before the vote is in its
 * metadata log.
 *
 * cluster/vote.c is compiled again, with an append that completes at once while the real one still
 * runs.  Alone it does no harm that anybody could see, since the entry itself is written before the
 * client is told; with change_told_before_written.c sim_schema must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "unheard.h"

#define journal_append unheard_append
#include "cluster/vote.c"

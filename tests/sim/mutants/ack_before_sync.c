/* ack_before_sync.c - a broken build: the store acknowledges before the commit log has synced.
 *
 * store/store.c is compiled again, with an append that completes at once while the real one still
 * runs.  sim_quorum must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "unheard.h"

#define journal_append unheard_append
#include "store/store.c"

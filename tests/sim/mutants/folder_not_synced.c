/* folder_not_synced.c - a broken build: a swap does not sync the folder in which it gives and takes
 * names.
 *
 * store/swap.c is compiled again, with a sync that only takes its time.  sim_store must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/io.h"

#define io_sync_dir(io, req, op, path) ((void)(path), io_sleep(io, req, op, 1))
#include "store/swap.c"

/* record_not_synced.c - a broken build: the record of a swap is not synced before it gets its name.
 *
 * store/text_file.c is compiled again, with a sync that only takes its time.  sim_store must turn
 * red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/io.h"

#define io_sync(io, req, op, file) ((void)(file), io_sleep(io, req, op, 1))
#include "store/text_file.c"

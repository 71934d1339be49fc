/* forgotten_after_restart.c - a broken build: a restarted replica does not replay its commit log.
 *
 * store/replay.c is compiled again, with a reading of the log that finds nothing.  sim_quorum must
 * turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/journal.h"

static void mutant_read(struct io *io, struct io_req *req, struct op *op,
                        enum err (*record)(void *, struct bytes, struct journal_position),
                        struct journal_replay *out)
{
    (void)record;
    *out = (struct journal_replay){ 0 };
    io_sleep(io, req, op, 1);
}
#define journal_read(io, req, op, folder, record, context, out) \
    ((void)(folder), mutant_read(io, req, op, record, out))
#include "store/replay.c"

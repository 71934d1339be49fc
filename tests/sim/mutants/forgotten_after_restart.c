/* forgotten_after_restart.c - a broken build: a restarted replica does not replay its commit log.
 *
 * store/replay.c is compiled again, with a reading of the log that finds nothing.  sim_quorum must
 * turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/journal.h"

static void mutant_read(struct io *io, struct io_req *req, struct op *op,
                        const struct journal_reading *reading, struct journal_replay *out)
{
    (void)reading;
    *out = (struct journal_replay){ 0 };
    io_sleep(io, req, op, 1);
}
#define journal_read_as mutant_read
#include "store/replay.c"

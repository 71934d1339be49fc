/* hint_counted_although_refused.c - a broken build: a hint that is refused counts as one that was
 * kept.
 *
 * coordinator/write_place.c is compiled again; what would be refused is said to be on the disk.
 * sim_books must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hints.h"

static void mutant_hints_keep(struct hints *h, struct hint_keep *keep, struct op *op)
{
    if (hints_would_refuse(h, keep->target) == HINT_REFUSALS_COUNT) {
        hints_keep(h, keep, op);
        return;
    }
    io_req_begin(&keep->req, op);
    io_req_end(&keep->req, OK);
}
#define hints_keep mutant_hints_keep
#include "coordinator/write_place.c"

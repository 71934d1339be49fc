/* ask.c - coordinator/ask.c compiled again: reads that repair, and answers that are cut, are
 * counted.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/ask.h"

#include "tests/sim/watched/watched.h"

static enum err watched_feed(struct ask *a)
{
    enum err err = ask_feed_merged(a);
    bool is_cut = err == OK && a->out->has_more && a->out->rows_count < a->whole.rows_limit;
    watched[WATCHED_REPAIR_BLOCKING] += a->repairs != NULL;
    watched[WATCHED_REPAIR_AT_END] += a->repairs && err == OK && a->out->has_more;
    watched[WATCHED_SHORT_READ] += is_cut;
    return err;
}
#define ask_feed_merged watched_feed
#include "coordinator/ask.c"

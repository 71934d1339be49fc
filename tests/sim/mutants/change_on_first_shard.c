/* change_on_first_shard.c - a broken build: shards other than the first take note of a change's
 * epoch and of nothing else.
 *
 * node/schema.c is compiled again, with an application that does half of it.  sim_schema must turn
 * red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/model.h"

static enum err mutant_apply(int shard, struct catalog *catalog, uint64_t epoch,
                             struct bytes change)
{
    if (shard == 0)
        return catalog_apply(catalog, epoch, change);
    catalog_advance(catalog, epoch);
    return OK;
}
#define catalog_apply(catalog, epoch, change) mutant_apply(io_self(s->io), catalog, epoch, change)
#include "node/schema.c"

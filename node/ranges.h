/* ranges.h - which token ranges of a table are this node's, for its compactions.  Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compaction/compaction.h"

/* Slots of struct compactor_options; the context is the struct shard. */
void ranges_of(void *context, const struct table *, struct arena *, struct local_ranges *out);
uint64_t ranges_version(void *context);

/* hold.h - a table that is held still by one shard while shard 0 erases it.  Private to store/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/inside.h"

struct store_held {
    struct store *store; /* whose shard's it is */
    struct uuid table;
    struct arena arena;
    uint64_t number;    /* memtables up to this one are frozen */
    struct floor floor; /* how far the log is void once the table is erased */
};

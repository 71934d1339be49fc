/* watch.h - a shard that looks every half second whether it has stood still.  Private to cluster/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"

struct cluster;
struct watch {
    struct op op;
    struct io_req nap, wait;
    uint64_t ticked_ns; /* the last tick */
    unsigned gap;       /* how often this shard has stood still */
    bool is_asleep;     /* it has, and no reading has ended since */
};
void watch_start(struct cluster *);

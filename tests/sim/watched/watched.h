/* watched.h - rare branches that the product does not count: its sources are compiled again here,
 * with the call that leads there counted.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdint.h>

#define WATCHED_LIST(X)                                                            \
    X(CONVICTED_BY_SILENCE, "a node convicted by phi, over a connection")          \
    X(CONVICTED_BY_LOSS, "a node convicted by the loss of its connection")         \
    X(RESERVE_GIVEN_UP, "the reserve of a full disk given up")                     \
    X(REPAIR_BLOCKING, "a read that repaired before it answered")                  \
    X(REPAIR_AT_END, "a read that repaired at the end of a page, not a partition") \
    X(SHORT_READ, "an answer cut where one replica's ended, and gone on from there")
enum watched {
#define X(name, text) WATCHED_##name,
    WATCHED_LIST(X)
#undef X
        WATCHED_COUNT
};
extern uint64_t watched[WATCHED_COUNT]; /* how often, in this process */

/* level.h - consistency levels: the same numbers as the protocol's (facts: protocol 2.2). */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

enum level {
    LEVEL_ANY = 0,
    LEVEL_ONE = 1,
    LEVEL_TWO = 2,
    LEVEL_THREE = 3,
    LEVEL_QUORUM = 4,
    LEVEL_ALL = 5,
    LEVEL_LOCAL_QUORUM = 6,
    LEVEL_EACH_QUORUM = 7,
    LEVEL_SERIAL = 8,
    LEVEL_LOCAL_SERIAL = 9,
    LEVEL_LOCAL_ONE = 10
};
/* Is the level one that writes, or reads, have?  ANY is for writes; SERIAL and LOCAL_SERIAL are for
 * transactions, which are not there yet. */
bool level_allows(enum level, bool is_write);
/* Do only replicas of the coordinator's data centre count? */
bool level_is_local(enum level);

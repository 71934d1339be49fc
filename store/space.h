/* space.h - what a full disk is met with: a reserve that is given up for flushes alone.
 *
 *     held ──(a flush finds no space)──> giving ──> short ──(flushed, and there is space)──> held
 *                                                   writes are refused meanwhile
 *
 * Private to store/.  A flush frees more than it takes: the segments of the commit log that it
 * makes superfluous.  So the reserve, and nothing of it for new writes, is the way out of a full
 * disk.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/reserve.h"

enum space_phase { SPACE_NONE, SPACE_HELD, SPACE_GIVING, SPACE_SHORT, SPACE_TAKING };
struct space {
    enum space_phase phase;
    struct reserve reserve;
    struct io_req req;
    char folder[RESERVE_PATH_BYTES];
    uint64_t next_ns; /* SHORT: when it tries to take it back */
};

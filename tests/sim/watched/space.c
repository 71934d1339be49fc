/* space.c - store/space.c compiled again: reserves that are given up are counted. */
// SPDX-License-Identifier: Apache-2.0
#include "store/inside.h"
#include "tests/sim/watched/watched.h"

static void watched_release(struct reserve *r, struct io_req *req, struct op *op)
{
    watched[WATCHED_RESERVE_GIVEN_UP]++;
    reserve_release(r, req, op);
}
#define reserve_release watched_release
#include "store/space.c"

/* lane_greet.h - one socket of a benchmark: connected, greeted, its statement prepared. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "command/lanes.h"

/* A connected socket that does not block, or -1 and the reason in `error`. */
int lane_connect(const struct lanes_place *, char error[256]);
/* STARTUP and, if there is a `cql`, PREPARE on it.  The statement's id lives in the arena. */
bool lane_greet(int fd, const char *cql, struct arena *, struct bytes *id, char error[256]);
/* An EXECUTE with one value of BENCH_KEY_BYTES and, unless it is empty, a second one, as a template
 * for lanes. */
void lane_template(struct buf *, struct bytes id, rd_consistency, struct bytes value,
                   size_t *key_at);

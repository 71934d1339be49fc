/* world.c - the only file of command/ that knows which world it is linked with. */
// SPDX-License-Identifier: Apache-2.0
#include "command/world.h"

#include "io/uv/uv.h"

void world_run(void (*start)(struct io *, void *arg), void *arg) { uv_world_run(1, start, arg); }

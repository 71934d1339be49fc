/* uv.h - the real world: a thread and a libuv loop per shard, workers for files, sockets.
 *
 * Only main programs and tests include this.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"

/* Runs `start(io, arg)` first on each shard's own thread (it starts that shard's root op), and
 * returns when every shard has called io_quit.  All loops are opened before the first thread starts
 * and closed after the last one has been joined; what is under way drains first. */
void uv_world_run(int shards, void (*start)(struct io *, void *arg), void *arg);

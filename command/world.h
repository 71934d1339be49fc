/* world.h - a shard of our own in the real world, for commands that work on a store by themselves.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once

struct io;
/* Runs start(io, arg), which starts an op, on one shard; returns when that has called io_quit. */
void world_run(void (*start)(struct io *, void *arg), void *arg);

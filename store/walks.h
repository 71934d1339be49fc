/* walks.h - walks over files that are used again, with the memory that they have grown to.
 *
 * Private to store/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/file_walk.h"

/* A walk over this file; it holds a reference. */
struct file_walk *walk_take(struct sstable *);
void walk_give(struct file_walk **);
/* The idle ones of a shard. */
void walks_free(struct sstables *);

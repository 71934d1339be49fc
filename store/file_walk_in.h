/* file_walk_in.h - what the files of file_walk share. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/file_walk.h"

/* Sets the file aside; ERR_CORRUPT. */
enum err walk_broken(struct file_walk *, enum sstable_component, uint64_t at, const char *what);
/* The unfiltered at `at` of the stream into *out, in the walk's space. */
enum err walk_decode(struct file_walk *, struct fetch *, uint64_t at, struct unfiltered *out);
/* Its clustering key; empty: the end byte. */
struct bytes unfiltered_key(const struct unfiltered *);
/* The block of the column index into w->found. */
enum err walk_block(struct file_walk *, struct fetch *, uint32_t block);
/* Where a forward walk begins, or the block that a reversed one begins with: w->block, w->at and
 * w->open are set. */
enum err walk_locate(struct file_walk *, struct fetch *);
/* Sets at, block_end and open for w->block. */
enum err walk_locate_block(struct file_walk *, struct fetch *);
/* Reversed: the next head. */
enum err walk_back(struct file_walk *, struct fetch *);

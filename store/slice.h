/* slice.h - how long work in the background goes on before it lets others run.
 *
 *     slice_begin ──> [ slice_is_over? ──> a little work ] ... ──> slice_end     one turn of an op
 *                     [ slice_has_room? ──> a chunk is coded ──> slice_coded ]
 *
 * Private to store/.  50 us while requests come in, 500 us when none has come for 10 ms; 5 ms while
 * the store opens and has none to answer.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct io;
struct store;
struct slices {
    unsigned every; /* so many pieces of work pass between two looks at the clock; 1 or more */
    unsigned done, first;         /* pieces; when this one began */
    uint64_t busy_ns, requests;   /* when requests were last seen, and how many there were */
    uint64_t budget_ns;           /* of this one */
    uint64_t code_ns;             /* what a chunk takes, as the last ones did */
    uint64_t count, over, ns_max; /* over: they took more than twice what they may */
};
void slice_begin(struct slices *, struct store *);
/* To be asked before each piece of work. */
bool slice_is_over(struct slices *, struct store *);
/* For a piece that takes a good part of a slice: one more goes into this one, or it is the first.
 */
bool slice_has_room(const struct slices *, struct io *);
void slice_coded(struct slices *, uint64_t ns);
void slice_end(struct slices *, struct store *);

/* slice.h - how long work in the background goes on before it lets others run.
 *
 *     slice_begin ──> [ a little work ──> slice_is_over? ] ... ──> slice_end     one turn of an op
 *
 * Private to store/.  50 us while requests come in, 500 us when none has come for 10 ms; 5 ms while
 * the store opens and has none to answer.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct store;
struct slices {
    unsigned every; /* so many pieces of work pass between two looks at the clock; 1 or more */
    unsigned done;
    uint64_t busy_ns, requests;   /* when requests were last seen, and how many there were */
    uint64_t budget_ns;           /* of this one */
    uint64_t count, over, ns_max; /* over: they took more than twice what they may */
};
void slice_begin(struct slices *, struct store *);
/* To be asked before each piece of work. */
bool slice_is_over(struct slices *, struct store *);
void slice_end(struct slices *, struct store *);

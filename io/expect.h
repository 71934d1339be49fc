/* expect.h - an answer from outside is about to come: is it worth going to sleep until then?
 *
 * To be woken costs a loop 5 to 30 us, and as much to whoever wakes it: about as long as another
 * node needs for a read that it has in memory.  So who waits for one says so, and the loop asks its
 * sockets again and again meanwhile.  It is a hint: nothing but time follows from it.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"

enum { EXPECT_NS_MAX = 150 * 1000 };
/* Usually it takes `ns`; more than EXPECT_NS_MAX is not waited for awake.  Twice as long at most.
 */
void io_expect(struct io *, uint64_t ns);
/* It has come. */
void io_expect_over(struct io *);

/* expect.c - polls that do not sleep while an answer is about to come.
 *
 *     io_expect ──> awake ──(io_expect_over)──> asleep again, as at any other time
 *                     └── in vain: the next ones are passed over: 1, 3, 7 ... EXPECT_PASSED_MAX
 *
 * In vain it is where the other side needs this very processor, or is busy with others' work: there
 * a loop that stays awake does harm, so it stops to, and tries again now and then.  While this loop
 * and its commit log's thread share a processor (near.c) it does not begin.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/expect.h"

#include "io/uv/impl.h"

enum { EXPECT_PASSED_MAX = 1023 };

void io_expect(struct io *io, uint64_t ns)
{
    struct expect *e = &io->expect;
    if (ns > EXPECT_NS_MAX || io->near.is_bound)
        return;
    if (e->pass > 0) {
        e->pass--;
        return;
    }
    e->until_ns = io->now_ns + 2 * ns;
}

void io_expect_over(struct io *io)
{
    if (io->expect.until_ns)
        io->expect = (struct expect){ 0 };
}

bool expect_is_awake(struct io *io)
{
    struct expect *e = &io->expect;
    if (!e->until_ns || io->now_ns < e->until_ns)
        return e->until_ns != 0;
    e->until_ns = 0;
    e->passed = e->passed < EXPECT_PASSED_MAX ? 2 * e->passed + 1 : EXPECT_PASSED_MAX;
    e->pass = e->passed;
    return false;
}

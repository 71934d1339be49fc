/* script_books.h - stories whose books are looked at after every event.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "../../lib/await.h"
#include "coordinator/write.h"
#include "script_hints.h"

#include <check.h>

static struct script_client client;
static struct asker asker;

static inline const struct coordinator_book *book(unsigned node)
{
    return &script.coordinator->books[node - 1];
}
static inline uint64_t refused(unsigned node)
{
    uint64_t sum = 0;
    for (int i = 0; i < HINT_REFUSALS_COUNT; i++)
        sum += book(node)->refused[i];
    return sum;
}

/* What holds at every moment. */
static inline void look(void)
{
    for (unsigned n = 1; n <= RIG_NODES; n++) {
        const struct coordinator_book *b = book(n);
        ck_assert_uint_eq(b->sent, b->in_flight + b->acked + b->hinted + refused(n) + b->withdrawn);
        ck_assert_uint_eq(script_hints.written[n], b->hinted + b->late);
    }
}
static inline void step(void)
{
    ensure(sim_step(script.rig.sim));
    look();
}
static inline void pass(uint64_t ns)
{
    io_sleep(asker.io, &asker.req, &asker.op, ns);
    while (asker.req.busy)
        step();
}
static inline void wait_answer(struct script_client *c)
{
    while (!c->is_done)
        step();
}
static inline void wait_settled(void)
{
    while (!coordinator_idle(script.coordinator))
        step();
    for (unsigned n = 1; n <= RIG_NODES; n++)
        ck_assert_uint_eq(book(n)->in_flight, 0);
    ck_assert_uint_eq(script.coordinator->bytes_in_flight, 0);
    ck_assert_uint_eq(script.coordinator->bytes_ending, 0);
}
static inline void begin(unsigned factor)
{
    script_begin(1, factor, NULL, 0);
    script_hints_begin();
    asker_init(&asker, script.rig.sim, script_hints.io);
}

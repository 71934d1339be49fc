/* hints_ask.h - keeps hints on the first node, and asks for the books: for the tests of hints. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "hints_kit.h"

static inline enum err kit_keep_bytes(unsigned node, unsigned table, struct bytes mutation,
                                      struct hint_keep *keep)
{
    keep->target = node;
    keep->table = kit_table(table);
    keep->mutation = mutation;
    sim_act(kit.asker.io);
    hints_keep(kit.hints, keep, &kit.asker.op);
    return await_alive(kit.rig.sim, 0, &keep->req);
}
static inline enum err kit_keep(unsigned node, unsigned table, unsigned number)
{
    struct hint_keep keep = { 0 };
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    enum err err = kit_keep_bytes(node, table, bytes_text(text), &keep);
    ck_assert_int_eq(err, err == OK ? OK : err == ERR_STOPPED ? ERR_STOPPED : ERR_REFUSED);
    return err;
}
static inline void kit_keep_all(unsigned node, unsigned table, unsigned from, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_eq(kit_keep(node, table, from + i), OK);
}

static inline struct hints_counts kit_counts(void)
{
    struct hints_counts counts;
    hints_counts(kit.hints, &counts);
    return counts;
}
struct kit_ask {
    unsigned node;
    struct uuid table;
    struct hint_book book;
    unsigned found;
};
static inline void kit_see(void *context, const struct hint_book *b)
{
    struct kit_ask *ask = context;
    uint64_t sum = b->delivered + b->pending + b->expired;
    for (size_t i = 0; i < HINT_DROPS_COUNT; i++)
        sum += b->dropped[i];
    ck_assert_uint_eq(sum, b->written);
    if (b->target != ask->node || !uuid_equal(&b->table, &ask->table))
        return;
    ask->book = *b;
    ask->found++;
}
static inline struct hint_book kit_book_of(unsigned node, struct uuid table)
{
    struct kit_ask ask = { .node = node, .table = table };
    hints_each(kit.hints, kit_see, &ask);
    ck_assert_uint_le(ask.found, 1);
    return ask.book;
}
static inline struct hint_book kit_book(unsigned node, unsigned table)
{
    return kit_book_of(node, kit_table(table));
}
static inline bool kit_is_drained(struct rig *rig)
{
    (void)rig;
    return kit_counts().pending == 0;
}
static inline void kit_drain(void) { ck_assert(rig_until(&kit.rig, kit_is_drained, 600)); }

/* How often a node got the hint of that number. */
static inline unsigned kit_times(unsigned node, unsigned number)
{
    char text[16];
    unsigned times = 0;
    snprintf(text, sizeof text, "%u", number);
    for (size_t i = 0; i < kit.got_count[node - 1]; i++)
        times += strcmp(kit.got[node - 1][i].text, text) == 0;
    return times;
}

/* fuzz_gossip.c - a message of gossip from another node: taken whole or not at all, nothing that is
 * known of anybody goes back, and what is said to it is a message that others understand.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/gossip.h"
#include "fuzz.h"

enum { NODES = 5, SELF = 3 };
enum { CHOICE_ASK, CHOICE_ANSWER, CHOICE_TELL, CHOICES };

static void node_set(struct gossip *g, size_t number, struct gossip_node known)
{
    struct gossip_node *n = &g->nodes[number - 1];
    n->generation = known.generation;
    n->heartbeat = known.heartbeat;
    n->version = known.version;
    if (known.version)
        buf_put_text(&n->state, "state");
}

static void ring_make(struct gossip *g)
{
    gossip_init(g, SELF, NODES, 100);
    gossip_beat(g, 7);
    gossip_set_state(g, bytes_text("mine"));
    node_set(g, 1, (struct gossip_node){ .generation = 100, .heartbeat = 5, .version = 2 });
    node_set(g, 2, (struct gossip_node){ .generation = 90, .heartbeat = 500 });
    node_set(g, 5, (struct gossip_node){ .generation = 110, .heartbeat = 1, .version = 1 });
}

static bool is_behind(const struct gossip_node *n, const struct gossip_node *before)
{
    return n->generation < before->generation ||
           (n->generation == before->generation &&
            (n->heartbeat < before->heartbeat || n->version < before->version));
}

static bool is_same(const struct gossip_node *a, const struct gossip_node *b)
{
    return a->generation == b->generation && a->heartbeat == b->heartbeat &&
           a->version == b->version && a->news == b->news;
}

static void look(const struct gossip *g, const struct gossip_node *before, enum err err)
{
    for (size_t i = 0; i < NODES; i++) {
        const struct gossip_node *n = &g->nodes[i];
        ensure(!is_behind(n, &before[i]));
        ensure_after(err != OK, is_same(n, &before[i]));
        ensure(n->state.size <= GOSSIP_STATE_BYTES_MAX);
        ensure_after(n->version == 0, n->state.size == 0);
    }
}

/* What was said is understood. */
static void hear(const struct buf *said, bool is_answer)
{
    struct gossip other;
    struct buf out = { 0 };
    ring_make(&other);
    enum err err = is_answer ? gossip_hear(&other, buf_bytes(said), &out)
                             : gossip_take(&other, buf_bytes(said));
    ensure(err == OK);
    buf_deinit(&out);
    gossip_deinit(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = bytes_of(data, size);
    struct gossip g;
    struct gossip_node before[NODES];
    struct buf out = { 0 };
    unsigned choice = fuzz_choice(&in, CHOICES);
    ring_make(&g);
    memcpy(before, g.nodes, sizeof before);
    enum err err = choice == CHOICE_ASK      ? gossip_answer(&g, in, &out)
                   : choice == CHOICE_ANSWER ? gossip_hear(&g, in, &out)
                                             : gossip_take(&g, in);
    look(&g, before, err);
    ensure_after(err != OK, out.size == 0);
    ensure(out.size <= 3 * (GOSSIP_PART_BYTES + GOSSIP_STATE_BYTES_MAX + 3 * VINT_BYTES_MAX));
    if (out.size)
        hear(&out, choice == CHOICE_ASK);
    buf_deinit(&out);
    gossip_deinit(&g);
    return 0;
}

/* test_batch.c - logged batches: kept before they are written, forgotten after, and what clients
 * are told when keepers or replicas obey, refuse, are silent or dead.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/batchlog_record.h"
#include "coordinator/inside.h"
#include "script_client.h"

#include <check.h>

enum { MUTATIONS = 3 };

static struct {
    unsigned kept[RIG_NODES + 1], forgotten[RIG_NODES + 1];
    unsigned applied_before_kept; /* anywhere, when a keeper was first asked */
    enum script_does later[RIG_NODES + 1];
    bool has_later; /* from when a batch was kept */
    bool is_odd;    /* something came that is no word of a batch */
} seen;

static void see(unsigned node, struct bytes word)
{
    struct batch_record r;
    seen.is_odd |= batch_get(word, &r) != OK;
    seen.kept[node] += r.word == BATCH_KEEP;
    seen.forgotten[node] += r.word == BATCH_FORGET;
    if (r.word == BATCH_KEEP)
        seen.applied_before_kept += script.applied[1] + script.applied[2] + script.applied[3];
}

static void answer(struct rig_shard *s, struct cluster_request *r)
{
    unsigned node = (unsigned)s->node->index + 1;
    if (r->verb == VERB_BATCH)
        see(node, r->body);
    else if (seen.has_later)
        memcpy(script.does, seen.later, sizeof script.does);
    script_answer(s, r);
}

static void batch_slot(void *context, struct io_req *req, struct op *op, struct bytes request,
                       uint64_t deadline_ns)
{
    (void)deadline_ns;
    see(1, request);
    io_req_begin(req, op);
    script_work_start((struct script_work){ .io = context, .local = req, .node = 1 });
}

/* ---- a client ---- */

static struct script_client client;
static struct coordinator_batch batch;
static struct coordinator_batch_part parts[MUTATIONS];

/* A mutation that can be looked at: an empty one of that partition. */
static struct bytes mutation_of(struct arena *arena, int p)
{
    char key[8];
    struct buf encoded = buf_in(arena);
    snprintf(key, sizeof key, "p%d", p);
    struct mutation m = { .table = script.table->id,
                          .key = bytes_text(key),
                          .deletion = (struct deletion){ 5, 1 } };
    mutation_encode(&m, &encoded);
    return buf_bytes(&encoded);
}

static void begin(uint64_t seed)
{
    script_begin(seed, 3, NULL, 0);
    memset(&seen, 0, sizeof seen);
    script.rig.answer = answer;
    script.coordinator->options.replica.batch = batch_slot;
}

/* The client asks for a batch of so many; its mutations stay in the arena. */
static void ask(struct arena *arena, enum level level, int count)
{
    arena_init(arena, 4096);
    batch = (struct coordinator_batch){ .level = level, .count = (size_t)count, .parts = parts };
    for (int i = 0; i < count; i++)
        parts[i] = (struct coordinator_batch_part){ &script.keyspace, i, mutation_of(arena, i) };
    client = (struct script_client){ .batch = &batch };
    script_client_start(&client);
}

static void run(enum level level)
{
    struct arena arena;
    ask(&arena, level, MUTATIONS);
    script_wait(&client);
    arena_deinit(&arena);
    ck_assert(!seen.is_odd);
}

static unsigned applied(void) { return script.applied[1] + script.applied[2] + script.applied[3]; }

/* ---- stories ---- */

START_TEST(a_batch_is_kept_by_two_others_before_it_is_written_and_forgotten_after)
{
    begin((uint64_t)_i + 1);
    run(LEVEL_QUORUM);
    ck_assert_int_eq(client.err, OK);
    script_settle();
    ck_assert_uint_eq(seen.kept[1], 0);
    ck_assert_uint_eq(seen.kept[2], 1);
    ck_assert_uint_eq(seen.kept[3], 1);
    ck_assert_uint_eq(seen.applied_before_kept, 0);
    ck_assert_uint_eq(applied(), 3 * MUTATIONS);
    ck_assert_uint_eq(seen.forgotten[2], 1);
    ck_assert_uint_eq(seen.forgotten[3], 1);
    ck_assert_uint_eq(script.coordinator->bytes_in_flight, 0);
    script_end();
}
END_TEST

START_TEST(one_keeper_is_enough_where_only_one_is_up)
{
    begin(1);
    script_down(3);
    run(LEVEL_QUORUM);
    ck_assert_int_eq(client.err, OK);
    script_settle();
    ck_assert_uint_eq(seen.kept[2], 1);
    ck_assert_uint_eq(seen.kept[1], 0);
    ck_assert_uint_eq(seen.forgotten[2], 1);
    script_end();
}
END_TEST

START_TEST(without_others_there_is_no_batch_but_at_any)
{
    begin(1);
    script_down(2);
    script_down(3);
    run(LEVEL_ONE);
    ck_assert_int_eq(client.err, ERR_UNAVAILABLE);
    ck_assert(client.outcome.is_of_batchlog);
    ck_assert_uint_eq(client.outcome.required, 1);
    ck_assert_uint_eq(client.outcome.alive, 0);
    ck_assert_uint_eq(client.outcome.missing, 2);
    ck_assert_uint_eq(applied(), 0);
    run(LEVEL_ANY);
    ck_assert_int_eq(client.err, OK);
    ck_assert_uint_eq(seen.kept[1], 1);
    script_end();
}
END_TEST

START_TEST(a_level_that_is_out_of_reach_keeps_nothing)
{
    begin(1);
    script_down(3);
    run(LEVEL_ALL);
    ck_assert_int_eq(client.err, ERR_UNAVAILABLE);
    ck_assert(!client.outcome.is_of_batchlog);
    ck_assert_uint_eq(client.outcome.required, 3);
    ck_assert_uint_eq(client.outcome.alive, 2);
    run(LEVEL_SERIAL);
    ck_assert_int_eq(client.err, ERR_INVALID);
    ck_assert_uint_eq(applied() + seen.kept[1] + seen.kept[2], 0);
    script_end();
}
END_TEST

START_TEST(what_a_keeper_refuses_is_not_written)
{
    begin(1);
    script.does[3] = REFUSE;
    run(LEVEL_ONE);
    ck_assert_int_eq(client.err, ERR_WRITE_FAILURE);
    ck_assert(client.outcome.is_of_batchlog);
    ck_assert_uint_eq(client.outcome.required, 2);
    ck_assert_uint_eq(client.outcome.received, 1);
    ck_assert_uint_eq(client.outcome.failed, 1);
    ck_assert_uint_eq(client.outcome.failures[0].node, 3);
    ck_assert_int_eq(client.outcome.failures[0].err, ERR_IO);
    script_settle();
    ck_assert_uint_eq(applied(), 0);
    ck_assert_uint_eq(seen.forgotten[2], 1); /* and what the other has, it forgets */
    script_end();
}
END_TEST

START_TEST(silent_keepers_are_a_timeout_of_the_batchlog)
{
    begin(1);
    script.does[2] = SILENT;
    run(LEVEL_ONE);
    ck_assert_int_eq(client.err, ERR_WRITE_TIMEOUT);
    ck_assert(client.outcome.is_of_batchlog);
    ck_assert_uint_eq(client.outcome.required, 2);
    ck_assert_uint_eq(client.outcome.received, 1);
    ck_assert_uint_ge(client.ended_ns - client.begun_ns, 200 * script_ms);
    script_settle();
    ck_assert_uint_eq(applied(), 0);
    script_end();
}
END_TEST

START_TEST(a_batch_that_nobody_has_got_stays_with_its_keepers)
{
    begin(1);
    seen.has_later = true;
    for (unsigned node = 1; node <= RIG_NODES; node++)
        seen.later[node] = REFUSE;
    script.does[1] = REFUSE;
    run(LEVEL_QUORUM);
    ck_assert_int_eq(client.err, ERR_WRITE_FAILURE);
    ck_assert(!client.outcome.is_of_batchlog);
    script_settle();
    ck_assert_uint_eq(seen.kept[2] + seen.kept[3], 2);
    ck_assert_uint_eq(seen.forgotten[2] + seen.forgotten[3], 0);
    script_end();
}
END_TEST

START_TEST(overload_after_it_was_kept_is_not_called_overload)
{
    begin(1);
    seen.has_later = true;
    for (unsigned node = 1; node <= RIG_NODES; node++)
        seen.later[node] = OVERLOAD;
    script.does[1] = OVERLOAD;
    run(LEVEL_QUORUM);
    ck_assert_int_eq(client.err, ERR_WRITE_TIMEOUT); /* the keepers will write it */
    script_end();
}
END_TEST

START_TEST(lingering_writes_give_way_to_a_batch)
{
    enum { MANY = 64 };
    static struct script_client clients[MANY];
    begin(1);
    script.coordinator->options.requests_bytes_max = 100 << 10;
    script.does[3] = SILENT;
    for (int i = 0; i < MANY; i++) {
        script_write_start(&clients[i], LEVEL_QUORUM);
        script_wait(&clients[i]);
        ck_assert_int_eq(clients[i].err, OK);
    }
    script.does[3] = OBEY;
    run(LEVEL_QUORUM);
    ck_assert_int_eq(client.err, OK);
    script.coordinator->options.requests_bytes_max = 1;
    run(LEVEL_QUORUM);
    ck_assert_int_eq(client.err, ERR_OVERLOADED);
    script_end();
}
END_TEST

START_TEST(stopping_ends_a_batch_in_every_state)
{
    begin((uint64_t)_i + 1);
    script.does[2] = script.does[3] = SILENT;
    struct arena arena;
    ask(&arena, LEVEL_ONE, 1);
    rig_pass(&script.rig, (uint64_t)_i * 30 * script_ms);
    coordinator_stop(script.coordinator);
    script_wait(&client);
    ck_assert_int_ne(client.err, OK);
    arena_deinit(&arena);
    script_end();
}
END_TEST

/* ---- keepers ---- */

static struct ring ring;

static void node_is(unsigned number, const char *data_center, const char *rack)
{
    struct node *n = &ring.nodes[number - 1];
    n->number = number;
    snprintf(n->data_center, sizeof n->data_center, "%s", data_center);
    snprintf(n->rack, sizeof n->rack, "%s", rack);
    ring.nodes_count = number > ring.nodes_count ? number : ring.nodes_count;
}

START_TEST(keepers_are_of_other_racks_of_this_data_centre)
{
    static const struct {
        uint64_t up;
        unsigned count, of[2];
    } wanted[] = {
        { 0x3f, 2, { 3, 4 } }, /* racks b and c; 2 is of rack a as 1 is */
        { 0x37, 2, { 3, 2 } }, /* 4 is down: this rack after the other */
        { 0x33, 2, { 2, 0 } }, /* then another data centre */
        { 0x01, 0, { 0, 0 } }, /* nobody else */
        { 0x21, 1, { 6, 0 } }, /* one there is */
    };
    ring.nodes_count = 0;
    node_is(1, "dc1", "a");
    node_is(2, "dc1", "a");
    node_is(3, "dc1", "b");
    node_is(4, "dc1", "c");
    node_is(5, "dc2", "a");
    node_is(6, "dc2", "b");
    for (size_t i = 0; i < array_count(wanted); i++)
        for (uint64_t random = 0; random < 12; random++) {
            unsigned out[2] = { 0, 0 };
            unsigned count = batch_keepers(&ring, 1, wanted[i].up, random, out);
            ck_assert_uint_eq(count, wanted[i].count);
            for (unsigned k = 0; k < count && wanted[i].of[k]; k++)
                ck_assert_msg(out[0] == wanted[i].of[k] || out[1] == wanted[i].of[k],
                              "up %llx: %u and %u", (unsigned long long)wanted[i].up, out[0],
                              out[1]);
            ck_assert(count < 2 || out[0] != out[1]);
        }
}
END_TEST

START_TEST(all_the_others_keep_in_turn_where_racks_do_not_tell)
{
    unsigned often[7] = { 0 };
    ring.nodes_count = 0;
    for (unsigned i = 1; i <= 6; i++)
        node_is(i, "dc1", "r");
    for (uint64_t random = 0; random < 60; random++) {
        unsigned out[2];
        ck_assert_uint_eq(batch_keepers(&ring, 2, 0x3f, random, out), 2);
        often[out[0]]++;
        often[out[1]]++;
    }
    ck_assert_uint_eq(often[2], 0);
    for (unsigned i = 1; i <= 6; i++)
        ck_assert(i == 2 || often[i] >= 10);
}
END_TEST

/* ---- words ---- */

START_TEST(every_word_comes_back_and_no_part_of_one_does)
{
    struct arena arena;
    struct buf b = { 0 };
    struct batch_record r;
    struct uuid id = uuid_random(1, 2);
    arena_init(&arena, 4096);
    script.table = script_table();
    batch_put_keep(&b, &id, -5, 2);
    buf_put_sized(&b, mutation_of(&arena, 1));
    buf_put_sized(&b, mutation_of(&arena, 2));
    ck_assert_int_eq(batch_get(buf_bytes(&b), &r), OK);
    ck_assert(r.word == BATCH_KEEP && uuid_equal(&r.id, &id) && r.made_us == -5 && r.count == 2);
    ck_assert(bytes_equal(cursor_sized(&r.mutations), mutation_of(&arena, 1)));
    for (size_t size = 0; size < b.size; size++)
        ck_assert_int_eq(batch_get(bytes_of(b.data, size), &r), ERR_CORRUPT);
    buf_put_u8(&b, 0);
    ck_assert_int_eq(batch_get(buf_bytes(&b), &r), ERR_CORRUPT);
    buf_clear(&b);
    batch_put(&b, BATCH_FORGET, &id);
    ck_assert_int_eq(batch_get(buf_bytes(&b), &r), OK);
    ck_assert(r.word == BATCH_FORGET && uuid_equal(&r.id, &id));
    for (size_t size = 0; size < b.size; size++)
        ck_assert_int_eq(batch_get(bytes_of(b.data, size), &r), ERR_CORRUPT);
    b.data[0] = 9;
    ck_assert_int_eq(batch_get(buf_bytes(&b), &r), ERR_CORRUPT);
    buf_clear(&b);
    batch_put_keep(&b, &id, 0, 0); /* of nothing */
    ck_assert_int_eq(batch_get(buf_bytes(&b), &r), ERR_CORRUPT);
    table_unref(&script.table);
    buf_deinit(&b);
    arena_deinit(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("batch");
    TCase *tc = tcase_create("batch");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_batch_is_kept_by_two_others_before_it_is_written_and_forgotten_after,
                        0, 10);
    tcase_add_test(tc, one_keeper_is_enough_where_only_one_is_up);
    tcase_add_test(tc, without_others_there_is_no_batch_but_at_any);
    tcase_add_test(tc, a_level_that_is_out_of_reach_keeps_nothing);
    tcase_add_test(tc, what_a_keeper_refuses_is_not_written);
    tcase_add_test(tc, silent_keepers_are_a_timeout_of_the_batchlog);
    tcase_add_test(tc, a_batch_that_nobody_has_got_stays_with_its_keepers);
    tcase_add_test(tc, overload_after_it_was_kept_is_not_called_overload);
    tcase_add_test(tc, lingering_writes_give_way_to_a_batch);
    tcase_add_loop_test(tc, stopping_ends_a_batch_in_every_state, 0, 5);
    tcase_add_test(tc, keepers_are_of_other_racks_of_this_data_centre);
    tcase_add_test(tc, all_the_others_keep_in_turn_where_racks_do_not_tell);
    tcase_add_test(tc, every_word_comes_back_and_no_part_of_one_does);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

/* test_loss.c - connections that die, servers that are silent or send garbage, keyspaces and events
 * that change what is known. */
// SPDX-License-Identifier: Apache-2.0
#include "ask.h"
#include "base/prng.h"

/* ---- losses ---- */

static bool swallow_executes(struct world *w, struct mock *m, const struct wire_envelope *e)
{
    (void)m;
    w->streams_count += e->opcode == OPCODE_EXECUTE;
    return e->opcode == OPCODE_EXECUTE;
}

START_TEST(a_statement_that_was_sent_is_never_sent_again)
{
    struct world w;
    world_init(&w, NULL);
    world_connect(&w);
    struct rd_statement *st = prepare(&w, "INSERT INTO one.t (?, ?)");
    statement_bind_bytes(st, 0, bytes_of("", 1));
    statement_bind_int(st, 1, 1);
    w.hook = swallow_executes;
    struct rd_result *r = execute(&w, st);
    world_run(&w);
    ck_assert_int_eq(r->state, REQUEST_SENT);
    lose(&w, 2, "127.0.0.3:9042 closed the connection");
    world_run(&w);
    ck_assert_int_eq(r->state, REQUEST_DONE);
    ck_assert_int_eq(r->code, RD_CLOSED);
    ck_assert_str_eq(r->error, "127.0.0.3:9042 closed the connection; the statement was sent: a "
                               "write may have been applied");
    ck_assert_uint_eq(w.streams_count, 1);
    request_free(r);
    world_deinit(&w);
}
END_TEST

START_TEST(a_statement_that_was_not_sent_goes_to_another_node)
{
    struct world w;
    world_init(&w, NULL);
    world_connect(&w);
    struct rd_statement *st = prepare(&w, "INSERT INTO one.t (?, ?)");
    statement_bind_bytes(st, 0, bytes_of("", 1));
    statement_bind_int(st, 1, 1);
    w.is_dead[2] = true;
    struct rd_result *r = execute(&w, st);
    world_run(&w);
    ck_assert_int_eq(r->code, RD_OK);
    ck_assert_uint_eq(w.seen_at[2], 0);
    ck_assert(!node_at(&w, 2)->is_up);
    uint64_t retry_at_ms = node_at(&w, 2)->retry_at_ms;
    ck_assert_uint_gt(retry_at_ms, w.core.now_ms);
    request_free(r);
    w.is_dead[2] = false; /* in its back-off it is not asked, after it it is */
    r = execute(&w, st);
    world_run(&w);
    ck_assert_int_eq(r->code, RD_OK);
    ck_assert_uint_eq(w.seen_at[2], 0);
    request_free(r);
    core_tick(&w.core, retry_at_ms);
    r = execute(&w, st);
    world_run(&w);
    ck_assert_int_eq(r->code, RD_OK);
    ck_assert_uint_eq(w.seen_at[2], 1);
    ck_assert(node_at(&w, 2)->is_up);
    request_free(r);
    world_deinit(&w);
}
END_TEST

START_TEST(with_nobody_left_the_reason_is_said)
{
    struct world w;
    world_init(&w, NULL);
    world_connect(&w);
    w.is_dead[0] = w.is_dead[1] = w.is_dead[2] = true;
    lose(&w, 0, "gone");
    struct rd_result *r = query(&w, "SELECT v");
    world_run(&w);
    ck_assert_int_eq(r->code, RD_NO_HOST);
    ck_assert_ptr_nonnull(strstr(r->error, "none of 3 nodes can be used"));
    ck_assert_ptr_nonnull(strstr(r->error, "nothing listens at 127.0.0."));
    request_free(r);
    core_tick(&w.core, 60000);
    w.is_dead[1] = false; /* the session is as good as new when one comes back */
    world_run(&w);
    r = query(&w, "SELECT v");
    world_run(&w);
    ck_assert_int_eq(r->code, RD_OK);
    ck_assert_str_eq(w.core.control->node->address, "127.0.0.2");
    request_free(r);
    world_deinit(&w);
}
END_TEST

START_TEST(a_late_answer_is_nobodys)
{
    struct world w;
    world_init(&w, &(rd_options){ .timeout_ms = 500 });
    world_connect(&w);
    w.hook = hold_selects;
    struct rd_result *r = query(&w, "SELECT v");
    world_run(&w);
    ck_assert_uint_eq(core_wake_ms(&w.core), 1500);
    core_tick(&w.core, 1499);
    ck_assert_int_eq(r->state, REQUEST_SENT);
    core_tick(&w.core, 1500);
    ck_assert_int_eq(r->code, RD_TIMED_OUT);
    ck_assert_ptr_nonnull(strstr(r->error, "a write may have been applied"));
    request_free(r);
    struct rd_result *next = query(&w, "SELECT v");
    world_run(&w);
    ck_assert_int_ne(w.streams[1], w.streams[0]); /* the stream waits for its answer */
    struct mock *m = mock_of(&w, w.core.control);
    mock_row(m, w.streams[0], 1, "", false);
    mock_row(m, w.streams[1], 2, "", false);
    world_flush(&w, w.core.control);
    ck_assert(result_row(next));
    ck_assert_int_eq(rd_int(next, 1), 2);
    request_free(next);
    world_deinit(&w);
}
END_TEST

START_TEST(requests_do_not_wait_for_a_machine_that_is_gone)
{
    struct world w;
    world_init(&w, &(rd_options){ .routing = RD_AWARE });
    w.is_silent[2] = true;
    world_connect(&w);
    struct rd_statement *st = prepare(&w, "SELECT * FROM one.t WHERE k = ?");
    ck_assert_int_eq(statement_bind_bytes(st, 0, bytes_of("", 1)), RD_OK); /* node 2's */
    struct rd_result *r = execute(&w, st);
    world_run(&w);
    struct link *late = r->on;
    ck_assert_ptr_nonnull(late);
    ck_assert_int_eq(late->state, LINK_DIALLING);
    ck_assert_uint_eq(core_wake_ms(&w.core), w.core.now_ms + 300);
    core_tick(&w.core, w.core.now_ms + 299);
    world_run(&w);
    ck_assert_ptr_eq(r->on, late);
    core_tick(&w.core, w.core.now_ms + 1);
    world_run(&w);
    ck_assert_int_eq(r->code, RD_OK);
    ck_assert(r->state == REQUEST_DONE && r->on != late && late->state == LINK_DIALLING);
    request_free(r);
    r = execute(&w, st); /* and who comes later does not wait at all */
    world_run(&w);
    ck_assert(r->state == REQUEST_DONE && r->code == RD_OK);
    request_free(r);
    world_deinit(&w);
}
END_TEST

START_TEST(a_server_that_stays_silent_at_startup_is_given_up)
{
    struct world w;
    world_init(&w, &(rd_options){ .connect_ms = 300 });
    (void)topology_refresh(&w.core);
    core_advance(&w.core);
    struct link *l = &w.core.nodes[0]->links[0];
    ck_assert_int_eq(l->state, LINK_DIAL);
    link_dialling(l);
    core_opened(&w.core, l);
    core_tick(&w.core, 1300);
    ck_assert_int_eq(l->state, LINK_SHUT);
    ck_assert(!w.core.is_refreshing && !w.core.is_known);
    world_deinit(&w);
}
END_TEST

/* ---- garbage ---- */

START_TEST(garbage_closes_the_connection_with_a_sentence)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } rows[] = {
        { "HTTP/1.1 400 Bad Request\r\n\r\n", 28, "checksum" },
        { "\x85\x00\x00\x00\x08\x00\x00\x00\x00", 9, "checksum" },
    };
    struct world w;
    world_init(&w, NULL);
    world_connect(&w);
    w.hook = hold_selects;
    struct rd_result *r = query(&w, "SELECT v");
    world_run(&w);
    world_feed(&w, w.core.control, bytes_of(rows[_i].bytes, rows[_i].size));
    ck_assert_int_eq(r->code, RD_CLOSED);
    ck_assert_ptr_nonnull(strstr(r->error, "127.0.0.1:9042: "));
    ck_assert_ptr_nonnull(strstr(r->error, rows[_i].says));
    request_free(r);
    w.hook = NULL;
    world_run(&w);
    r = query(&w, "SELECT v");
    world_run(&w);
    ck_assert_int_eq(r->code, RD_OK);
    request_free(r);
    world_deinit(&w);
}
END_TEST

START_TEST(garbage_instead_of_a_greeting)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } rows[] = {
        { "HTTP/1.1 400 Bad Request", 24, "byte 0x48 does not begin an answer" },
        { "\x85\x00\x00\x00\x08\x00\x00\x00\x00", 9, "an unexpected answer to STARTUP: RESULT" },
        { "\x85\x00\x00\x05\x06\x00\x00\x00\x00", 9, "what was not asked" },
        { "\x85\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00", 11, "ERROR came whose body" },
        { "\x84\x00\x00\x00\x06\x00\x00\x00\x00", 9, "another version" },
        { "\x85\x00\x00\x00\x06\xff\xff\xff\xff", 9, "length" },
    };
    struct world w;
    world_init(&w, NULL);
    (void)topology_refresh(&w.core);
    core_advance(&w.core);
    struct link *l = &w.core.nodes[0]->links[0];
    link_dialling(l);
    core_opened(&w.core, l);
    link_sent(l, link_bytes(l).size);
    world_feed(&w, l, bytes_of(rows[_i].bytes, rows[_i].size));
    ck_assert_int_eq(l->state, LINK_SHUT);
    ck_assert_int_eq(w.core.refresh_code, RD_NO_HOST);
    ck_assert_msg(strstr(w.core.failure.text, rows[_i].says), "%s", w.core.failure.text);
    world_deinit(&w);
}
END_TEST

/* Answers of the right shape with bytes changed at random, at any time of a session's life. */
static bool damage(struct world *w, struct mock *m, const struct wire_envelope *e)
{
    struct prng *p = (struct prng *)(void *)&w->streams[0];
    mock_answer(m, e);
    if (!prng_chance(p, 20))
        return true;
    size_t at = m->out.plain_bytes, size = m->out.raw.size;
    if (size <= at + WIRE_HEADER_BYTES)
        return true;
    for (int i = 0; i < 3; i++) {
        uint64_t where = prng_below(p, size - at - WIRE_HEADER_BYTES);
        m->out.raw.data[at + WIRE_HEADER_BYTES + where] = (uint8_t)prng_next(p);
    }
    return true;
}

START_TEST(damaged_answers_do_no_harm)
{
    struct world w;
    world_init(&w, &(rd_options){ .protocol = _i % 2 ? 4 : 5 });
    struct prng seed = { (uint64_t)_i + 1 };
    memcpy(w.streams, &seed, sizeof seed);
    w.hook = damage;
    for (int round = 0; round < 6; round++) {
        (void)topology_refresh(&w.core);
        world_run(&w);
        struct rd_result *r = query(&w, "SELECT v");
        world_run(&w);
        ck_assert_int_eq(r->state, REQUEST_DONE);
        while (r->code == RD_OK && r->kind == RESULT_ROWS && result_row(r))
            for (size_t i = 0; i < rd_columns(r); i++)
                (void)result_text(r, i);
        request_free(r);
        core_tick(&w.core, w.core.now_ms + 20000);
    }
    world_deinit(&w);
}
END_TEST

/* ---- keyspaces, events ---- */

START_TEST(a_keyspace_is_used_on_every_connection)
{
    struct world w;
    world_init(&w, NULL);
    world_connect(&w);
    struct rd_result *r = query(&w, "USE \"one\"");
    world_run(&w);
    ck_assert_int_eq(r->code, RD_OK);
    ck_assert(bytes_equal(w.core.keyspace, bytes_text("one")));
    request_free(r);
    unsigned queries = w.asked[OPCODE_QUERY];
    struct rd_statement *st = prepare(&w, "INSERT INTO three.t (?, ?)");
    statement_bind_text(st, 0, bytes_text("key"));
    statement_bind_int(st, 1, 1);
    for (int i = 0; i < 9; i++) {
        r = execute(&w, st);
        world_run(&w);
        ck_assert_int_eq(r->code, RD_OK);
        request_free(r);
    }
    ck_assert_uint_eq(w.asked[OPCODE_QUERY], queries + 2); /* a USE on each of the other two */
    world_deinit(&w);
}
END_TEST

static bool refuse_use(struct world *w, struct mock *m, const struct wire_envelope *e)
{
    (void)w;
    if (e->opcode != OPCODE_QUERY || !text_has(e->body, "USE") || m->node == 0)
        return false;
    mock_error(m, e->stream,
               &(struct answer_error){ .code = WIRE_ERROR_INVALID,
                                       .message = bytes_text("Keyspace 'one' does not exist") });
    return true;
}

START_TEST(a_keyspace_that_cannot_be_used_is_said)
{
    struct world w;
    world_init(&w, NULL);
    world_connect(&w);
    w.hook = refuse_use;
    struct rd_result *r = query(&w, "USE \"one\"");
    world_run(&w);
    request_free(r);
    struct rd_statement *st = prepare(&w, "INSERT INTO one.t (?, ?)");
    statement_bind_bytes(st, 0, bytes_of("", 1));
    statement_bind_int(st, 1, 1);
    r = execute(&w, st);
    world_run(&w);
    ck_assert_int_eq(r->code, RD_INVALID);
    ck_assert_str_eq(r->error, "Keyspace 'one' does not exist");
    request_free(r);
    world_deinit(&w);
}
END_TEST

static void say_event(struct world *w, const char *kind, const char *change, uint8_t last)
{
    const uint8_t ip[4] = { 127, 0, 0, last };
    struct mock *m = mock_of(w, w->core.control);
    event_node(wire_begin(&m->out, 0, -1, OPCODE_EVENT), kind, change, bytes_of(ip, 4), 9042);
    wire_end(&m->out);
    world_flush(w, w->core.control);
    world_run(w);
}

START_TEST(events_change_what_is_known)
{
    struct world w;
    world_init(&w, NULL);
    world_connect(&w);
    say_event(&w, "STATUS_CHANGE", "DOWN", 2);
    ck_assert(!node_at(&w, 1)->is_up);
    say_event(&w, "STATUS_CHANGE", "UP", 2);
    ck_assert(node_at(&w, 1)->is_up);
    ck_assert_uint_eq(node_at(&w, 1)->retry_at_ms, 0);
    ck_assert_uint_eq(w.asked[OPCODE_QUERY], 3);
    say_event(&w, "TOPOLOGY_CHANGE", "NEW_NODE", 4);
    ck_assert_uint_eq(w.asked[OPCODE_QUERY], 6); /* asked again, registered once */
    ck_assert_uint_eq(w.asked[OPCODE_REGISTER], 1);
    say_event(&w, "STATUS_CHANGE", "UP", 9);
    ck_assert_uint_eq(w.asked[OPCODE_QUERY], 9);
    ck_assert_uint_eq(w.core.nodes_count, 3);
    world_deinit(&w);
}
END_TEST

START_TEST(a_schema_change_is_looked_at)
{
    struct world w;
    world_init(&w, NULL);
    world_connect(&w);
    struct rd_result *r = query(&w, "CREATE KEYSPACE new");
    world_run(&w);
    ck_assert_int_eq(r->kind, RESULT_SCHEMA);
    ck_assert(!w.core.is_stale && !w.core.is_refreshing);
    ck_assert_uint_eq(w.asked[OPCODE_QUERY], 7);
    request_free(r);
    world_deinit(&w);
}
END_TEST

START_TEST(a_lost_control_connection_moves_to_another_node)
{
    struct world w;
    world_init(&w, NULL);
    world_connect(&w);
    w.is_dead[0] = true;
    lose(&w, 0, "gone");
    world_run(&w);
    ck_assert_str_eq(w.core.control->node->address, "127.0.0.2");
    ck_assert_uint_eq(w.asked[OPCODE_REGISTER], 2);
    ck_assert_uint_eq(core_ring(&w.core)->tokens_count, 3);
    world_deinit(&w);
}
END_TEST

START_TEST(a_thousand_and_more_wait_for_streams)
{
    enum { MANY = 1500 };
    struct world w;
    world_init(&w, &(rd_options){ .routing = RD_PINNED });
    world_connect(&w);
    static struct rd_result *r[MANY];
    for (int i = 0; i < MANY; i++)
        r[i] = query(&w, "INSERT");
    ck_assert_uint_eq(w.core.control->free_count, 0);
    ck_assert_uint_eq(w.core.control->assigned_count, MANY);
    world_run(&w);
    for (int i = 0; i < MANY; i++) {
        if (r[i]->code != RD_OK || r[i]->state != REQUEST_DONE)
            ck_abort_msg("%d: %s", i, r[i]->error);
        request_free(r[i]);
    }
    ck_assert_uint_eq(w.core.control->free_count, LINK_STREAMS);
    ck_assert_uint_eq(w.core.control->assigned_count, 0);
    world_deinit(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("loss");
    TCase *t = tcase_create("loss");
    tcase_add_test(t, a_statement_that_was_sent_is_never_sent_again);
    tcase_add_test(t, a_statement_that_was_not_sent_goes_to_another_node);
    tcase_add_test(t, with_nobody_left_the_reason_is_said);
    tcase_add_test(t, a_late_answer_is_nobodys);
    tcase_add_test(t, requests_do_not_wait_for_a_machine_that_is_gone);
    tcase_add_test(t, a_server_that_stays_silent_at_startup_is_given_up);
    tcase_add_loop_test(t, garbage_closes_the_connection_with_a_sentence, 0, 2);
    tcase_add_loop_test(t, garbage_instead_of_a_greeting, 0, 6);
    tcase_add_loop_test(t, damaged_answers_do_no_harm, 0, 150);
    tcase_add_test(t, a_keyspace_is_used_on_every_connection);
    tcase_add_test(t, a_keyspace_that_cannot_be_used_is_said);
    tcase_add_test(t, events_change_what_is_known);
    tcase_add_test(t, a_schema_change_is_looked_at);
    tcase_add_test(t, a_lost_control_connection_moves_to_another_node);
    tcase_add_test(t, a_thousand_and_more_wait_for_streams);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}

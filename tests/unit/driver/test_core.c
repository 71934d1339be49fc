/* test_core.c - the driver's core against scripted servers, without a socket. */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "world.h"

#include <stdlib.h>

static struct node *node_at(struct world *w, size_t index)
{
    for (size_t i = 0; i < w->core.nodes_count; i++)
        if (node_index(w->core.nodes[i]) == index)
            return w->core.nodes[i];
    ck_abort_msg("no node %zu", index);
    return NULL;
}

static void lose(struct world *w, size_t node, const char *why)
{
    struct report r;
    (void)report_set(&r, ERR_CLOSED, "%s", why);
    core_lost(&w->core, &node_at(w, node)->links[0], &r);
}

/* ---- connecting ---- */

START_TEST(a_session_learns_the_ring)
{
    static const struct {
        size_t piece;
        rd_options options;
    } rows[] = { { 1 << 20, { 0 } },
                 { 1, { 0 } },
                 { 7, { .lz4 = true } },
                 { 1 << 20, { .protocol = 4 } },
                 { 1, { .protocol = 4, .lz4 = true } },
                 { 3, { .connections = 2 } } };
    struct world w;
    world_init(&w, &rows[_i].options);
    w.piece = rows[_i].piece;
    world_connect(&w);
    ck_assert_uint_eq(w.core.nodes_count, 3);
    ck_assert_uint_eq(w.asked[OPCODE_OPTIONS], 1);
    ck_assert_uint_eq(w.asked[OPCODE_STARTUP], 1);
    ck_assert_uint_eq(w.asked[OPCODE_QUERY], 3);
    ck_assert_uint_eq(w.asked[OPCODE_REGISTER], 1);
    ck_assert_str_eq(w.core.nodes[2]->address, "127.0.0.3");
    ck_assert_str_eq(w.core.nodes[2]->rack, "rack2");
    ck_assert_uint_eq(w.core.nodes[1]->host_id.b[0], 2);
    ck_assert_uint_eq(core_ring(&w.core)->tokens_count, 3);
    ck_assert_uint_eq(core_ring(&w.core)->keyspaces_count, 2);
    ck_assert_uint_eq(w.core.nodes[0]->links[0].version, rows[_i].options.protocol == 4 ? 4 : 5);
    struct rd_result *r = query(&w, "SELECT * FROM t");
    world_run(&w);
    ck_assert_int_eq(r->code, RD_OK);
    ck_assert(result_row(r));
    ck_assert_int_eq(rd_int(r, 1), 7);
    request_free(r);
    world_deinit(&w);
}
END_TEST

START_TEST(an_old_server_is_dialled_again_with_version_4)
{
    struct world w;
    world_init(&w, NULL);
    w.versions_max = WIRE_V4;
    w.has_no_peers_v2 = true;
    world_connect(&w);
    ck_assert_uint_eq(w.core.version, WIRE_V4);
    ck_assert_uint_eq(w.asked[OPCODE_OPTIONS], 2);
    ck_assert_uint_eq(w.asked[OPCODE_QUERY], 4); /* peers_v2 was refused */
    ck_assert_uint_eq(w.core.nodes_count, 3);
    ck_assert_uint_eq(w.core.nodes[2]->port, 9042);
    world_deinit(&w);
}
END_TEST

START_TEST(a_fixed_version_is_not_left)
{
    struct world w;
    world_init(&w, &(rd_options){ .protocol = 5 });
    w.versions_max = WIRE_V4;
    (void)topology_refresh(&w.core);
    world_run(&w);
    ck_assert(!w.core.is_known);
    ck_assert_int_eq(w.core.refresh_code, RD_NO_HOST);
    ck_assert_ptr_nonnull(strstr(w.core.failure.text, "does not speak version 5"));
    world_deinit(&w);
}
END_TEST

static bool ask_for_password(struct world *w, struct mock *m, const struct wire_envelope *e)
{
    (void)w;
    if (e->opcode != OPCODE_STARTUP)
        return false;
    wire_put_string(wire_begin(&m->out, 0, e->stream, OPCODE_AUTHENTICATE), bytes_text("A"));
    wire_end(&m->out);
    return true;
}

START_TEST(a_server_with_passwords_is_told_apart)
{
    struct world w;
    world_init(&w, NULL);
    w.hook = ask_for_password;
    (void)topology_refresh(&w.core);
    world_run(&w);
    ck_assert_int_eq(w.core.refresh_code, RD_CREDENTIALS);
    ck_assert_ptr_nonnull(strstr(w.core.failure.text, "password"));
    world_deinit(&w);
}
END_TEST

START_TEST(hosts_that_do_not_listen_are_passed_over)
{
    struct world w;
    world_init(&w, NULL);
    core_node(&w.core, "127.0.0.2", 9042);
    w.is_dead[0] = true;
    world_connect(&w);
    ck_assert_str_eq(w.core.control->node->address, "127.0.0.2");
    ck_assert(!node_at(&w, 0)->is_up && node_at(&w, 1)->is_up);
    world_deinit(&w);
}
END_TEST

START_TEST(nobody_listens)
{
    struct world w;
    world_init(&w, NULL);
    w.is_dead[0] = true;
    (void)topology_refresh(&w.core);
    world_run(&w);
    ck_assert_int_eq(w.core.refresh_code, RD_NO_HOST);
    ck_assert_str_eq(w.core.failure.text, "nothing listens at 127.0.0.1");
    world_deinit(&w);
}
END_TEST

START_TEST(a_pinned_session_knows_one_node)
{
    struct world w;
    world_init(&w, &(rd_options){ .routing = RD_PINNED });
    world_connect(&w);
    ck_assert_uint_eq(w.core.nodes_count, 1);
    ck_assert_uint_eq(w.asked[OPCODE_QUERY], 2);
    world_deinit(&w);
}
END_TEST

/* ---- answers ---- */

/* Keeps the streams of SELECTs instead of answering. */
static bool hold_selects(struct world *w, struct mock *m, const struct wire_envelope *e)
{
    (void)m;
    if (e->opcode != OPCODE_QUERY || !text_has(e->body, "SELECT v"))
        return false;
    w->streams[w->streams_count++] = e->stream;
    return true;
}

START_TEST(answers_in_any_order_find_their_statements)
{
    struct world w;
    world_init(&w, NULL);
    world_connect(&w);
    w.hook = hold_selects;
    struct rd_result *r[4];
    for (int i = 0; i < 4; i++)
        r[i] = query(&w, "SELECT v");
    world_run(&w);
    ck_assert_uint_eq(w.streams_count, 4);
    static const int order[] = { 2, 0, 3, 1 };
    struct mock *m = mock_of(&w, w.core.control);
    for (int i = 0; i < 4; i++) {
        mock_row(m, w.streams[order[i]], (uint32_t)order[i] + 100, "", false);
        world_flush(&w, w.core.control);
        ck_assert_int_eq(r[order[i]]->state, REQUEST_DONE);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert(result_row(r[i]));
        ck_assert_int_eq(rd_int(r[i], 1), 100 + i);
        ck_assert(!result_row(r[i]));
        request_free(r[i]);
    }
    world_deinit(&w);
}
END_TEST

static bool refuse_unavailable(struct world *w, struct mock *m, const struct wire_envelope *e)
{
    (void)w;
    if (e->opcode != OPCODE_QUERY)
        return false;
    mock_error(m, e->stream,
               &(struct answer_error){ .code = WIRE_ERROR_UNAVAILABLE,
                                       .message = bytes_text("Cannot achieve consistency ALL"),
                                       .consistency = CL_ALL,
                                       .required = 3,
                                       .alive = 2 });
    return true;
}

START_TEST(an_error_of_the_server_has_its_numbers)
{
    struct world w;
    world_init(&w, NULL);
    world_connect(&w);
    w.hook = refuse_unavailable;
    struct rd_result *r = query(&w, "SELECT v");
    world_run(&w);
    ck_assert_int_eq(r->code, RD_UNAVAILABLE);
    ck_assert_str_eq(r->error, "Cannot achieve consistency ALL");
    ck_assert_int_eq(r->failure.required, 3);
    ck_assert_int_eq(r->failure.alive, 2);
    ck_assert_int_eq(r->failure.consistency, RD_ALL);
    request_free(r);
    world_deinit(&w);
}
END_TEST

/* Pages: the state says which comes next. */
static bool three_pages(struct world *w, struct mock *m, const struct wire_envelope *e)
{
    if (e->opcode != OPCODE_EXECUTE)
        return false;
    static const char *const states[] = { "two", "three", "" };
    struct arena arena = { 0 };
    struct request_execute x;
    ck_assert_int_eq(request_execute_decode(cursor_of(e->body), e->version, &arena, &x, NULL), OK);
    size_t page = w->streams_count++;
    ck_assert(bytes_equal(x.params.paging_state, bytes_text(page ? states[page - 1] : "")));
    ck_assert_uint_eq(x.params.values_count, 1);
    ck_assert(bytes_equal(x.params.values[0].bytes, bytes_text("key")));
    arena_deinit(&arena);
    mock_row(m, e->stream, (uint32_t)page, states[page], x.params.flags & PARAM_SKIP_METADATA);
    return true;
}

START_TEST(pages_follow_one_another)
{
    struct world w;
    world_init(&w, &(rd_options){ .protocol = _i });
    world_connect(&w);
    struct rd_statement *st = prepare(&w, "SELECT * FROM one.t WHERE k = ?");
    w.hook = three_pages;
    ck_assert_int_eq(statement_bind_text(st, 0, bytes_text("key")), RD_OK);
    struct rd_result *r = execute(&w, st);
    ck_assert_int_eq(statement_bind_text(st, 0, bytes_text("other")), RD_OK);
    for (int page = 0; page < 3; page++) {
        world_run(&w);
        ck_assert_int_eq(r->code, RD_OK);
        ck_assert(result_row(r));
        ck_assert_int_eq(rd_int(r, 1), page);
        ck_assert_str_eq(rd_column(r, 1), "v");
        ck_assert(!result_row(r));
        ck_assert_uint_eq(r->metadata.paging_state.size > 0, page < 2);
        if (page < 2)
            request_next_page(r);
    }
    request_free(r);
    world_deinit(&w);
}
END_TEST

/* ---- prepared statements ---- */

static bool forget_once(struct world *w, struct mock *m, const struct wire_envelope *e)
{
    if (e->opcode != OPCODE_EXECUTE || w->streams_count >= (size_t)w->streams[7])
        return false;
    w->streams_count++;
    mock_error(m, e->stream,
               &(struct answer_error){ .code = WIRE_ERROR_UNPREPARED,
                                       .message = bytes_text("unprepared"),
                                       .id = bytes_text("INSERT INTO one.t (?, ?)") });
    return true;
}

START_TEST(an_unprepared_statement_is_prepared_again_and_executed_once_more)
{
    struct world w;
    world_init(&w, NULL);
    world_connect(&w);
    struct rd_statement *st = prepare(&w, "INSERT INTO one.t (?, ?)");
    statement_bind_text(st, 0, bytes_text("key"));
    statement_bind_int(st, 1, 5);
    struct rd_result *r = execute(&w, st);
    world_run(&w);
    ck_assert_int_eq(r->code, RD_OK);
    request_free(r);
    unsigned prepared = w.asked[OPCODE_PREPARE], executed = w.asked[OPCODE_EXECUTE];
    w.streams[7] = (int16_t)_i; /* so often it is forgotten */
    w.hook = forget_once;
    r = execute(&w, st);
    world_run(&w);
    ck_assert_uint_eq(w.asked[OPCODE_PREPARE], prepared + 1);
    ck_assert_uint_eq(w.asked[OPCODE_EXECUTE], executed + 2);
    ck_assert_int_eq(r->code, _i == 1 ? RD_OK : RD_UNPREPARED);
    request_free(r);
    world_deinit(&w);
}
END_TEST

START_TEST(each_node_is_told_of_a_statement_once)
{
    struct world w;
    world_init(&w, &(rd_options){ .routing = RD_RANDOM });
    world_connect(&w);
    struct rd_statement *st = prepare(&w, "INSERT INTO three.t (?, ?)");
    statement_bind_text(st, 0, bytes_text("key"));
    statement_bind_null(st, 1);
    struct rd_result *r[30];
    for (int i = 0; i < 30; i++)
        r[i] = execute(&w, st);
    world_run(&w);
    for (int i = 0; i < 30; i++) {
        ck_assert_int_eq(r[i]->code, RD_OK);
        request_free(r[i]);
    }
    ck_assert_uint_eq(w.asked[OPCODE_PREPARE], 3);
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(w.seen_at[i], 10);
    world_deinit(&w);
}
END_TEST

static bool refuse_prepare(struct world *w, struct mock *m, const struct wire_envelope *e)
{
    (void)w;
    if (e->opcode != OPCODE_PREPARE || m->node == 0)
        return false;
    mock_error(m, e->stream,
               &(struct answer_error){ .code = WIRE_ERROR_INVALID,
                                       .message = bytes_text("table t does not exist") });
    return true;
}

START_TEST(what_a_node_cannot_prepare_fails_where_it_is_executed)
{
    struct world w;
    world_init(&w, NULL);
    world_connect(&w);
    w.hook = refuse_prepare;
    struct rd_statement *st = prepare(&w, "INSERT INTO three.t (?, ?)");
    statement_bind_text(st, 0, bytes_text("key"));
    statement_bind_null(st, 1);
    unsigned refused = 0;
    for (int i = 0; i < 6; i++) {
        struct rd_result *r = execute(&w, st);
        world_run(&w);
        ck_assert(r->code == RD_OK || r->code == RD_INVALID);
        refused += r->code == RD_INVALID;
        request_free(r);
    }
    ck_assert_uint_eq(refused, 4);
    world_deinit(&w);
}
END_TEST

/* ---- where statements go ---- */

START_TEST(a_key_goes_to_its_owner)
{
    /* facts 4.3: rows with bytes of 0x80 and above at tails 1, 4, 2, 15, 8 and 0 */
    static const struct {
        const char *hex;
        int64_t token;
        size_t owner; /* (-inf, -6e18] 0, (-6e18, 0] 1, (0, 6e18] 2, wraps to 0 */
    } rows[] = {
        { "00", 5048724184180415669, 2 },
        { "80", -5284281814142962636, 1 },
        { "ff", -4442228696663692417, 1 },
        { "ffffffff", 7297452126230313552, 0 },
        { "c3a9", 5461403030378599040, 2 },
        { "313233", -7468325962851647638, 0 },
        { "aacff499bee388add2f79cc1e68bb0d5fa9fc4e98eb3d8fda2c7ec91b6db80", 2911757662498336741,
          2 },
        { "fff2e5d8cbbeb1a4", -7408415412995372976, 0 },
        { "dd82a7ccf196bbe085aacff499bee388add2f79cc1e68bb0", -5520686913293490606, 1 },
        { "653cbefb85ec3111b4e38fa9bc7cbcae", INT64_MAX, 0 },
        { "004acfdfc9cfb411bb5d0426632618c4", -1, 1 },
    };
    struct world w;
    world_init(&w, NULL);
    world_connect(&w);
    struct rd_statement *st = prepare(&w, "SELECT * FROM one.t WHERE k = ?");
    int64_t token;
    ck_assert(!statement_token(st, &token));
    unsigned expected[3] = { 0 };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct buf key = { 0 };
        for (const char *h = rows[i].hex; *h; h += 2)
            buf_put_u8(&key, (uint8_t)strtoul((char[]){ h[0], h[1], 0 }, NULL, 16));
        ck_assert_int_eq(statement_bind_bytes(st, 0, buf_bytes(&key)), RD_OK);
        ck_assert(statement_token(st, &token));
        ck_assert_int_eq(token, rows[i].token);
        struct rd_result *r = execute(&w, st);
        world_run(&w);
        ck_assert_int_eq(r->code, RD_OK);
        expected[rows[i].owner]++;
        for (int n = 0; n < 3; n++)
            ck_assert_msg(w.seen_at[n] == expected[n], "row %zu at node %d", i, n);
        request_free(r);
        buf_deinit(&key);
    }
    ck_assert_uint_eq(w.core.routed_count, array_count(rows));
    ck_assert_uint_eq(w.core.at_replica_count, array_count(rows));
    world_deinit(&w);
}
END_TEST

START_TEST(routing_is_what_was_asked_for)
{
    static const struct {
        rd_routing routing;
        const char *text;
        unsigned seen[3]; /* of 12 executions with the key 00, whose owner is node 2 */
    } rows[] = {
        { RD_AWARE, "INSERT INTO one.t (?, ?)", { 0, 0, 12 } },
        { RD_AWARE, "INSERT INTO three.t (?, ?)", { 4, 4, 4 } },
        { RD_RANDOM, "INSERT INTO one.t (?, ?)", { 4, 4, 4 } },
        { RD_FORWARD, "INSERT INTO three.t (?, ?)", { 4, 4, 4 } },
        { RD_PINNED, "INSERT INTO one.t (?, ?)", { 12, 0, 0 } },
    };
    struct world w;
    world_init(&w, &(rd_options){ .routing = rows[_i].routing });
    world_connect(&w);
    struct rd_statement *st = prepare(&w, rows[_i].text);
    statement_bind_bytes(st, 0, bytes_of("", 1));
    statement_bind_int(st, 1, 1);
    for (int i = 0; i < 12; i++) {
        struct rd_result *r = execute(&w, st);
        world_run(&w);
        ck_assert_int_eq(r->code, RD_OK);
        request_free(r);
    }
    for (int n = 0; n < 3; n++)
        ck_assert_uint_eq(w.seen_at[n], rows[_i].seen[n]);
    world_deinit(&w);
}
END_TEST

START_TEST(forwarding_avoids_the_replica)
{
    struct world w;
    world_init(&w, &(rd_options){ .routing = RD_FORWARD });
    world_connect(&w);
    struct rd_statement *st = prepare(&w, "INSERT INTO one.t (?, ?)");
    statement_bind_bytes(st, 0, bytes_of("", 1));
    statement_bind_int(st, 1, 1);
    for (int i = 0; i < 12; i++) {
        struct rd_result *r = execute(&w, st);
        world_run(&w);
        ck_assert_int_eq(r->code, RD_OK);
        request_free(r);
    }
    ck_assert_uint_eq(w.seen_at[2], 0);
    ck_assert_uint_eq(w.core.at_replica_count, 0);
    w.is_dead[0] = w.is_dead[1] = true;
    lose(&w, 0, "gone");
    lose(&w, 1, "gone");
    struct rd_result *r = execute(&w, st);
    world_run(&w);
    ck_assert_int_eq(r->code, RD_OK);
    ck_assert_uint_eq(w.seen_at[2], 1);
    request_free(r);
    world_deinit(&w);
}
END_TEST

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
    Suite *s = suite_create("core");
    TCase *t = tcase_create("core");
    tcase_add_loop_test(t, a_session_learns_the_ring, 0, 6);
    tcase_add_test(t, an_old_server_is_dialled_again_with_version_4);
    tcase_add_test(t, a_fixed_version_is_not_left);
    tcase_add_test(t, a_server_with_passwords_is_told_apart);
    tcase_add_test(t, hosts_that_do_not_listen_are_passed_over);
    tcase_add_test(t, nobody_listens);
    tcase_add_test(t, a_pinned_session_knows_one_node);
    tcase_add_test(t, answers_in_any_order_find_their_statements);
    tcase_add_test(t, an_error_of_the_server_has_its_numbers);
    tcase_add_loop_test(t, pages_follow_one_another, 4, 6);
    tcase_add_loop_test(t, an_unprepared_statement_is_prepared_again_and_executed_once_more, 1, 3);
    tcase_add_test(t, each_node_is_told_of_a_statement_once);
    tcase_add_test(t, what_a_node_cannot_prepare_fails_where_it_is_executed);
    tcase_add_test(t, a_key_goes_to_its_owner);
    tcase_add_loop_test(t, routing_is_what_was_asked_for, 0, 5);
    tcase_add_test(t, forwarding_avoids_the_replica);
    tcase_add_test(t, a_statement_that_was_sent_is_never_sent_again);
    tcase_add_test(t, a_statement_that_was_not_sent_goes_to_another_node);
    tcase_add_test(t, with_nobody_left_the_reason_is_said);
    tcase_add_test(t, a_late_answer_is_nobodys);
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

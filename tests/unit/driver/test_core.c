/* test_core.c - connecting, answers and prepared statements, against scripted servers without a
 * socket; test_loss.c goes on with what goes wrong, test_route.c with where statements go. */
// SPDX-License-Identifier: Apache-2.0
#include "ask.h"

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
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}

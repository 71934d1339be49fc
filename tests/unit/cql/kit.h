/* kit.h - what the tests of the language share: a catalog with system tables, statements applied
 * to it, a store in memory, answers as text.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cql/cql.h"
#include "fake_read.h"

#include <check.h>

struct kit {
    struct arena arena;
    struct catalog catalog;
    struct fake fake;
    struct report report;
    const char *keyspace;      /* in use */
    struct cql_params params;  /* of the next statement */
    struct bytes paging_state; /* of the last answer */
    uint32_t rows_count;       /* of the last answer */
};
static struct kit kit;

#include "system_tables.h"

static inline enum err kit_try(const char *text, struct cql_plan **out)
{
    struct cql_context context = { .catalog = &kit.catalog, .keyspace = kit.keyspace };
    kit.report = (struct report){ 0 };
    return cql_prepare(&context, bytes_text(text), out, &kit.report);
}

static inline struct cql_plan *kit_prepare(const char *text)
{
    struct cql_plan *plan;
    enum err err = kit_try(text, &plan);
    ck_assert_msg(err == OK, "%s: %s", text, kit.report.text);
    return plan;
}

static inline enum err kit_bind(const struct cql_plan *plan, struct cql_action *out)
{
    kit.report = (struct report){ 0 };
    kit.params.random[0]++;
    return cql_bind(plan, &kit.catalog, &kit.params, &kit.arena, out, &kit.report);
}

static inline void kit_change(const struct cql_action *action)
{
    struct buf change = buf_in(&kit.arena);
    if (!action->change)
        return;
    change_encode(action->change, &change);
    ck_assert_int_eq(catalog_apply(&kit.catalog, kit.catalog.epoch + 1, buf_bytes(&change)), OK);
}

/* Prepares, binds and carries out anything but a SELECT. */
static inline enum err kit_execute(const char *text)
{
    struct cql_plan *plan;
    struct cql_action action = { 0 };
    enum err err = kit_try(text, &plan);
    if (err)
        return err;
    err = kit_bind(plan, &action);
    if (!err && cql_plan_kind(plan) == CQL_CHANGE)
        kit_change(&action);
    for (size_t i = 0; !err && i < action.mutations_count; i++)
        fake_apply(&kit.fake, action.mutations[i].table, action.mutations[i].encoded);
    cql_plan_unref(&plan);
    return err;
}

static inline void kit_do(const char *text)
{
    enum err err = kit_execute(text);
    ck_assert_msg(err == OK, "%s: %s", text, kit.report.text);
}

/* Rows as text: values with commas, rows with spaces; null for null. */
static inline const char *kit_rows(struct bytes body)
{
    struct answer_result result;
    struct buf text = buf_in(&kit.arena);
    ck_assert_int_eq(answer_result_decode(cursor_of(body), WIRE_V5, &kit.arena, &result), OK);
    ck_assert_int_eq(result.kind, RESULT_ROWS);
    kit.paging_state = result.rows.metadata.paging_state;
    kit.rows_count = result.rows.rows_count;
    for (uint32_t r = 0; r < result.rows.rows_count; r++) {
        for (size_t c = 0; c < result.rows.metadata.columns_count; c++) {
            struct value value = wire_value(&result.rows.rows);
            buf_put_text(&text, c ? "," : r ? " " : "");
            if (value.state == VALUE_SET)
                type_print_value(result.rows.metadata.columns[c].type, value.bytes, &text);
            else
                buf_put_text(&text, "null");
        }
    }
    ck_assert(!result.rows.rows.bad && cursor_left(&result.rows.rows) == 0);
    buf_put_u8(&text, 0);
    return (const char *)text.data;
}

static inline enum err kit_run(const struct cql_plan *plan, const char **rows)
{
    struct buf *out = arena_new(&kit.arena, struct buf);
    struct cql_run run;
    const struct read *read;
    *out = buf_in(&kit.arena);
    struct cql_answer answer = { .version = WIRE_V5, .arena = &kit.arena, .out = out };
    enum err err = cql_run_begin(&run, plan, &kit.catalog, &kit.params, &answer, &kit.report);
    if (err)
        return err;
    while (cql_run_next(&run, &read)) {
        struct read_outcome outcome = fake_read(&kit.fake, read, &kit.arena, &run.sink);
        cql_run_fed(&run, &outcome);
    }
    cql_run_end(&run);
    *rows = run.err ? "" : kit_rows(buf_bytes(out));
    return run.err;
}

static inline const char *kit_select(const char *text)
{
    struct cql_plan *plan = kit_prepare(text);
    const char *rows = "";
    enum err err = kit_run(plan, &rows);
    ck_assert_msg(err == OK, "%s: %s", text, kit.report.text);
    cql_plan_unref(&plan);
    return rows;
}

static inline void kit_setup(void)
{
    memset(&kit, 0, sizeof kit);
    arena_init(&kit.arena, 64 * 1024);
    arena_init(&kit.fake.arena, 64 * 1024);
    catalog_init(&kit.catalog);
    kit.params = (struct cql_params){
        .timestamp = 1000, .now_seconds = 100, .random = { 7, 8 }, .wall_micros = 1700000000000000
    };
    kit_system_tables();
    kit_do("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', "
           "'replication_factor': 1}");
    kit.keyspace = "ks";
}

static inline void kit_teardown(void)
{
    catalog_deinit(&kit.catalog);
    arena_deinit(&kit.fake.arena);
    arena_deinit(&kit.arena);
}

static inline int kit_main(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

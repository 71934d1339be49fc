/* test_soup.c - texts that nobody would write: whatever comes, an answer or an error comes back.
 *
 * Three kinds: tokens thrown together; good statements with a token changed, left out or doubled;
 * good statements with bytes changed, and cut at every byte.  What happens to be valid is bound to
 * random values and run.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "kit.h"

enum { SOUP_SEEDS = 40, SOUP_TEXTS = 250, SOUP_TOKENS = 30 };

static const char *const vocabulary[] = {
    "SELECT",      "INSERT",
    "INTO",        "UPDATE",
    "DELETE",      "FROM",
    "WHERE",       "AND",
    "SET",         "VALUES",
    "USING",       "TTL",
    "TIMESTAMP",   "IF",
    "NOT",         "EXISTS",
    "IN",          "TOKEN",
    "LIMIT",       "PER",
    "PARTITION",   "ORDER",
    "BY",          "ASC",
    "DESC",        "ALLOW",
    "FILTERING",   "DISTINCT",
    "JSON",        "AS",
    "CAST",        "GROUP",
    "CREATE",      "DROP",
    "TABLE",       "KEYSPACE",
    "PRIMARY",     "KEY",
    "WITH",        "CLUSTERING",
    "STATIC",      "BEGIN",
    "BATCH",       "APPLY",
    "UNLOGGED",    "USE",
    "TRUNCATE",    "CONTAINS",
    "LIKE",        "IS",
    "NULL",        "NAN",
    "INFINITY",    "TIMEOUT",
    "MASKED",      "DEFAULT",
    "COMPACT",     "STORAGE",
    "ks",          "t",
    "r",           "k",
    "c",           "d",
    "v",           "n",
    "int",         "text",
    "list",        "frozen",
    "count",       "max",
    "now",         "uuid",
    "ttl",         "writetime",
    "todate",      "blob_as_int",
    "\"K\"",       "'a'",
    "''",          "$$x$$",
    "1",           "2",
    "-1",          "1.5",
    "1e400",       "true",
    "0x",          "0x12",
    "0x1",         "1d2h",
    "P1Y",         "f47ac10b-58cc-4372-a567-0e02b2c3d479",
    "?",           ":a",
    "(",           ")",
    "[",           "]",
    "{",           "}",
    ",",           ".",
    "..",          ":",
    ";",           "*",
    "+",           "-",
    "/",           "%",
    "=",           "<",
    "<=",          ">",
    ">=",          "!=",
    "+=",          "-=",
    "--",          "/*",
    "*/",          "99999999999999999999",
    "ALTER",       "TYPE",
    "ADD",         "RENAME",
    "TO",          "map",
    "set",         "tuple",
    "counter",     "m",
    "l",           "p",
    "s",           "point",
    "system",      "local",
    "replication", "class",
};

static const char *const good[] = {
    "SELECT k, c AS x, writetime ( v ) FROM ks . t WHERE k = 1 AND c > 2 AND c <= 3 ORDER BY c "
    "DESC "
    "PER PARTITION LIMIT 3 LIMIT ?",
    "SELECT count ( * ) , max ( n ) , token ( k ) FROM t WHERE token ( k ) > - 5 ALLOW FILTERING",
    "SELECT DISTINCT k FROM t WHERE k IN ( 1 , ? , 3 ) LIMIT 2 USING TIMEOUT 30000ms",
    "SELECT * FROM t WHERE k = ? AND ( c , d ) >= ( ? , 'x' ) AND c IN ?",
    "INSERT INTO t ( k , c , d , v ) VALUES ( 1 , :c , 'x' , now ( ) ) USING TTL ? AND TIMESTAMP 5",
    "UPDATE t USING TTL 5 SET v = ? , n = null WHERE k IN ? AND c = 2 AND d = 'x'",
    "DELETE v , n FROM t USING TIMESTAMP ? WHERE k = 1 AND c = 2 AND d IN ( 'x' , 'y' )",
    "BEGIN UNLOGGED BATCH USING TIMESTAMP 7 INSERT INTO t ( k , c , d ) VALUES ( ? , 1 , 'x' ) ; "
    "DELETE FROM t WHERE k = ? APPLY BATCH ;",
    "CREATE TABLE IF NOT EXISTS x ( k int , c text , v list < int > , PRIMARY KEY ( ( k ) , c ) ) "
    "WITH CLUSTERING ORDER BY ( c DESC ) AND caching = { 'keys' : 'ALL' } AND gc_grace_seconds = 5",
    "CREATE KEYSPACE x WITH replication = { 'class' : 'SimpleStrategy' , 'replication_factor' : 3 "
    "} "
    "AND durable_writes = false",
    "ALTER TABLE IF EXISTS t ADD IF NOT EXISTS ( x list < int > , y frozen < point > STATIC )",
    "ALTER TABLE t DROP IF EXISTS ( v , n ) USING TIMESTAMP 5",
    "ALTER TABLE t RENAME k TO x AND c TO y",
    "ALTER TABLE q WITH caching = { 'keys' : 'ALL' } AND compaction = { 'class' : 'x' }",
    "CREATE TYPE IF NOT EXISTS ks . line ( a frozen < point > , b tuple < int , text > )",
    "ALTER TYPE point RENAME x TO z AND y TO w",
    "DROP TYPE IF EXISTS ks . line",
    "UPDATE q SET m [ 'a' ] = ? , l = [ 1 , ? ] + l , s = s - { ? , 'b' } , p . x = ? WHERE k = ?",
    "INSERT INTO q ( k , m , l , p ) VALUES ( ? , ? , ? , { x : ? , y : 'a' } ) USING TTL ?",
    "UPDATE q SET st = ? WHERE k = ?",
    "DELETE m [ ? ] , p . y , st FROM q WHERE k = ?",
    "DELETE FROM r WHERE k = ? AND c > ? AND c <= ?",
    "SELECT k , m , l , s , p , st FROM q WHERE k IN ( ? , 1 ) PER PARTITION LIMIT 1",
    "SELECT ( int ) 5 , blob_as_int ( 0x00000001 ) , { 'a' : 1 } , [ 1 .. 2 ] FROM t",
};

static void setup(void)
{
    kit_setup();
    kit_do("CREATE TABLE t (k int, c int, d text, v text, n int, PRIMARY KEY (k, c, d))");
    kit_do("CREATE TABLE r (k int, c int, v int, PRIMARY KEY (k, c)) "
           "WITH CLUSTERING ORDER BY (c DESC)");
    kit_do("CREATE TYPE point (x int, y text)");
    kit_do("CREATE TABLE q (k int, c int, m map<text, int>, l list<int>, s set<text>, p point, "
           "st frozen<list<int>> STATIC, PRIMARY KEY (k, c))");
    kit_do("INSERT INTO q (k, c, m, l, s, p, st) VALUES (1, 1, {'a': 1}, [1, 2], {'x'}, "
           "{x: 1, y: 'y'}, [3])");
    for (int c = 1; c < 5; c++)
        kit_do(arena_printf(
            &kit.arena, "INSERT INTO t (k, c, d, v, n) VALUES (%d, %d, 'x', 'y', 3)", c % 2, c));
}

static struct bytes random_bytes(struct prng *prng)
{
    static const uint8_t pool[] = "\0\0\0\1\0\0\0\4\0\0\0\2xyz\xff\xff\xff\xff\x7f";
    uint64_t at = prng_below(prng, sizeof pool - 1);
    uint64_t size = prng_below(prng, sizeof pool - at);
    return bytes_of(pool + at, size);
}

static void run_it(struct prng *prng, struct cql_plan *plan)
{
    struct value values[SOUP_TOKENS + 20];
    size_t count = cql_plan_metadata(plan)->bind.columns_count;
    struct cql_action action;
    const char *rows = "";
    ensure(count <= array_count(values));
    for (size_t i = 0; i < count; i++) {
        uint64_t draw = prng_below(prng, 8);
        values[i].state = draw > 1 ? VALUE_SET : (enum value_state)(draw + 1);
        values[i].bytes = random_bytes(prng);
        size_t fixed = type_fixed_bytes(cql_plan_metadata(plan)->bind.columns[i].type);
        if (fixed && prng_chance(prng, 70))
            values[i].bytes = bytes_of("\0\0\0\1\0\0\0\2\0\0\0\0\0\0\0", fixed);
    }
    kit.params.values = values;
    kit.params.values_count = count - (count && prng_chance(prng, 5));
    kit.params.page_size = (int32_t)prng_below(prng, 4);
    kit.params.paging_state = prng_chance(prng, 30) ? random_bytes(prng) : (struct bytes){ 0 };
    if (cql_plan_kind(plan) == CQL_SELECT)
        (void)!kit_run(plan, &rows);
    else
        (void)!kit_bind(plan, &action);
    kit.params.values_count = 0;
}

static bool try_it(struct prng *prng, struct bytes text)
{
    struct cql_plan *plan = NULL;
    struct cql_context context = { .catalog = &kit.catalog,
                                   .keyspace = prng_chance(prng, 90) ? "ks" : NULL };
    struct report report = { 0 };
    enum err err = cql_prepare(&context, text, &plan, &report);
    ck_assert_msg((err == OK) == (plan != NULL), "%.*s", (int)text.size, (const char *)text.data);
    ck_assert_msg(err == OK || (report.err == err && report.text[0]), "%.*s", (int)text.size,
                  (const char *)text.data);
    if (plan) {
        run_it(prng, plan);
        cql_plan_unref(&plan);
    }
    return err == OK;
}

static void put_random(struct prng *prng, struct buf *text)
{
    uint64_t which = prng_below(prng, array_count(vocabulary));
    buf_printf(text, "%s ", vocabulary[which]);
}

START_TEST(tokens_thrown_together_never_crash)
{
    struct prng prng = { (uint64_t)_i };
    for (int i = 0; i < SOUP_TEXTS; i++) {
        struct buf text = buf_in(&kit.arena);
        uint64_t count = prng_below(&prng, SOUP_TOKENS);
        for (uint64_t t = 0; t < count; t++)
            put_random(&prng, &text);
        try_it(&prng, buf_bytes(&text));
    }
}
END_TEST

/* A good statement, token by token, most of them kept. */
static void put_bent(struct prng *prng, const char *statement, unsigned percent, struct buf *text)
{
    while (*statement) {
        const char *end = strchr(statement, ' ');
        size_t size = end ? (size_t)(end - statement) : strlen(statement);
        bool is_bent = prng_chance(prng, percent);
        uint64_t how = prng_below(prng, 3);
        if (is_bent && how)
            put_random(prng, text);
        if (!is_bent || how == 2) {
            buf_put(text, statement, size);
            buf_put_u8(text, ' ');
        }
        statement += end ? size + 1 : size;
    }
}

START_TEST(good_statements_bent_a_little_never_crash)
{
    struct prng prng = { (uint64_t)_i + 1000 };
    unsigned good_count = 0;
    for (int i = 0; i < SOUP_TEXTS; i++) {
        struct buf text = buf_in(&kit.arena);
        uint64_t which = prng_below(&prng, array_count(good));
        put_bent(&prng, good[which], i % 8, &text);
        good_count += try_it(&prng, buf_bytes(&text));
    }
    ck_assert_uint_gt(good_count, 10);
}
END_TEST

START_TEST(good_statements_with_wrong_bytes_never_crash)
{
    struct prng prng = { (uint64_t)_i + 2000 };
    for (int i = 0; i < SOUP_TEXTS; i++) {
        uint64_t which = prng_below(&prng, array_count(good));
        struct bytes text = arena_copy(&kit.arena, bytes_text(good[which]));
        for (uint64_t n = prng_below(&prng, 4); n; n--) {
            uint64_t at = prng_below(&prng, text.size);
            ((uint8_t *)text.data)[at] = (uint8_t)prng_next(&prng);
        }
        try_it(&prng, text);
    }
}
END_TEST

START_TEST(a_statement_cut_at_any_byte_never_crashes)
{
    struct prng prng = { (uint64_t)_i };
    for (size_t n = 0; n < strlen(good[_i]); n++)
        try_it(&prng, bytes_of(good[_i], n));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("soup");
    TCase *tcase = tcase_create("soup");
    tcase_add_checked_fixture(tcase, setup, kit_teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, tokens_thrown_together_never_crash, 0, SOUP_SEEDS);
    tcase_add_loop_test(tcase, good_statements_bent_a_little_never_crash, 0, SOUP_SEEDS);
    tcase_add_loop_test(tcase, good_statements_with_wrong_bytes_never_crash, 0, SOUP_SEEDS);
    tcase_add_loop_test(tcase, a_statement_cut_at_any_byte_never_crashes, 0, array_count(good));
    suite_add_tcase(suite, tcase);
    return kit_main(suite);
}

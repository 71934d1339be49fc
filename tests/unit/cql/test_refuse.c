/* test_refuse.c - statements that are refused: with which error, where, and in which words. */
// SPDX-License-Identifier: Apache-2.0
#include "kit.h"

static void setup(void)
{
    kit_setup();
    kit_do("CREATE TABLE t (k int, c int, d text, v text, n int, u uuid, b blob, w duration, "
           "PRIMARY KEY (k, c, d))");
    kit_do("CREATE TABLE m (k int, c int, d int, PRIMARY KEY (k, c, d)) "
           "WITH CLUSTERING ORDER BY (c ASC, d DESC)");
}

static const struct {
    const char *text;
    enum err err;
    const char *said; /* contained in the report */
} refusals[] = {
    /* what cannot be parsed: place and token */
    { "", ERR_SYNTAX, "line 1:0 unexpected end" },
    { ";", ERR_SYNTAX, "line 1:0 unexpected ';'" },
    { "SELEC * FROM t", ERR_SYNTAX, "line 1:0 unexpected 'SELEC'" },
    { "SELECT * FORM t", ERR_SYNTAX, "line 1:9 unexpected 'FORM'" },
    { "SELECT *\n  FROM t WHERE k == 1", ERR_SYNTAX, "line 2:18 unexpected '='" },
    { "SELECT * FROM", ERR_SYNTAX, "line 1:13 unexpected end" },
    { "SELECT * FROM t WHERE k = 'abc", ERR_SYNTAX, "line 1:26 a quoted text that never ends" },
    { "SELECT * FROM \"t", ERR_SYNTAX, "line 1:14 a quoted text that never ends" },
    { "SELECT * /* FROM t", ERR_SYNTAX, "line 1:9 a comment that never ends" },
    { "SELECT * FROM t WHERE k = $$abc", ERR_SYNTAX, "line 1:26 a quoted text that never ends" },
    { "SELECT * FROM t WHERE k = 'ü' AND & = 1", ERR_SYNTAX, "line 1:34 unexpected character '&'" },
    { "SELECT * FROM t WHERE k = €", ERR_SYNTAX, "line 1:26 unexpected character '€'" },
    { "SELECT * FROM t\x01", ERR_SYNTAX, "line 1:15 unexpected character 0x01" },
    { "SELECT \xff FROM t", ERR_SYNTAX, "not UTF-8" },
    { "SELECT * FROM t; SELECT * FROM t", ERR_SYNTAX, "line 1:17 unexpected 'SELECT'" },
    { "SELECT *, k FROM t", ERR_SYNTAX, "unexpected ','" },
    { "SELECT * FROM \"\"", ERR_SYNTAX, "an empty name" },
    { "SELECT * FROM ?", ERR_SYNTAX, "line 1:14 unexpected '?'" },
    { "USE :k", ERR_SYNTAX, "line 1:4 unexpected ':'" },
    { "SELECT * FROM t LIMIT 1 WHERE k = 1", ERR_SYNTAX, "line 1:24 unexpected 'WHERE'" },
    { "SELECT * FROM t WHERE k = 1 AND", ERR_SYNTAX, "line 1:31 unexpected end" },
    { "SELECT * FROM t WHERE k = c", ERR_SYNTAX, "line 1:26 unexpected 'c'" },
    { "INSERT INTO t (k, c) VALUES (1, 2", ERR_SYNTAX, "line 1:33 unexpected end" },
    { "INSERT INTO t (k, c) VALUES (1, k)", ERR_SYNTAX, "line 1:32 unexpected 'k'" },
    { "UPDATE t SET v = 1", ERR_SYNTAX, "line 1:18 unexpected end" },
    { "DELETE FROM t", ERR_SYNTAX, "line 1:13 unexpected end" },
    { "CREATE TABLE index (k int PRIMARY KEY)", ERR_SYNTAX, "line 1:13 unexpected 'index'" },
    { "SELECT select FROM t", ERR_SYNTAX, "line 1:7 unexpected 'select'" },
    { "BEGIN BATCH SELECT * FROM t APPLY BATCH", ERR_SYNTAX, "line 1:12 unexpected 'SELECT'" },
    { "DELETE FROM t USING TTL 5 WHERE k = 1", ERR_SYNTAX, "line 1:24 a DELETE has no TTL" },
    { "INSERT INTO t (k) VALUES (1) USING TTL 1 AND TTL 2", ERR_SYNTAX, "given twice" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH read_repair_chance = 0.1", ERR_SYNTAX,
      "Unknown property 'read_repair_chance'" },
    { "CREATE KEYSPACE x WITH replikation = {'class': 'SimpleStrategy'}", ERR_SYNTAX,
      "Unknown property 'replikation'" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH gc_grace_seconds = 'soon'", ERR_SYNTAX,
      "line 1:40 Invalid integer value soon for 'gc_grace_seconds'" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH crc_check_chance = 0x1", ERR_SYNTAX,
      "Invalid double value 0x1" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH crc_check_chance = nan", ERR_SYNTAX,
      "Invalid double value nan" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH gc_grace_seconds = 1.5", ERR_SYNTAX, "value 1.5" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH comment = 'a' AND comment = 'b'", ERR_SYNTAX,
      "line 1:58 Multiple definition for property 'comment'" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH compaction = 'STCS'", ERR_SYNTAX,
      "should be a map" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH comment = {'a': 'b'}", ERR_SYNTAX, "be a string" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH comment = ?", ERR_SYNTAX, "comment is no literal" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH caching = {'keys': ?}", ERR_SYNTAX, "maps texts" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH caching = {'keys': 'ALL', 'keys': 'NONE'}",
      ERR_SYNTAX, "'keys' is given twice" },

    /* names */
    { "SELECT * FROM nowhere", ERR_INVALID, "table nowhere does not exist (line 1:14)" },
    { "SELECT * FROM no.place", ERR_INVALID, "keyspace no does not exist (line 1:14)" },
    { "SELECT * FROM system_schema.scylla_tables", ERR_INVALID, "table scylla_tables does not" },
    { "SELECT x FROM t", ERR_INVALID, "undefined column name x in table ks.t (line 1:7)" },
    { "SELECT * FROM t WHERE x = 1", ERR_INVALID, "undefined column name x" },
    { "SELECT * FROM t WHERE K = 1 AND \"C\" = 1", ERR_INVALID, "undefined column name C" },
    { "INSERT INTO t (k, x) VALUES (1, 2)", ERR_INVALID, "undefined column name x" },
    { "UPDATE t SET x = 1 WHERE k = 1", ERR_INVALID, "undefined column name x" },
    { "SELECT foo(k) FROM t", ERR_INVALID, "unknown function foo" },
    { "SELECT other.now() FROM t", ERR_INVALID, "unknown function other.now" },

    /* system keyspaces */
    { "INSERT INTO system.local (key) VALUES ('x')", ERR_UNAUTHORIZED, "not user-modifiable" },
    { "DELETE FROM system.peers WHERE peer = '127.0.0.1'", ERR_UNAUTHORIZED, "keyspace system" },
    { "TRUNCATE system_schema.tables", ERR_UNAUTHORIZED, "system_schema is not user-mod" },

    /* values */
    { "SELECT * FROM t WHERE k = 'a'", ERR_INVALID, "string a is no value for k of type int" },
    { "SELECT * FROM t WHERE k = 2147483648", ERR_INVALID, "cannot read 2147483648 as int for k" },
    { "SELECT * FROM t WHERE k = 1.5", ERR_INVALID, "float 1.5 is no value for k of type int" },
    { "INSERT INTO t (k, c, d, v) VALUES (1, 2, 'x', 5)", ERR_INVALID, "integer 5 is no value" },
    { "INSERT INTO t (k, c, d, u) VALUES (1, 2, 'x', 'no')", ERR_INVALID, "for u of type uuid" },
    { "INSERT INTO t (k, c, d, b) VALUES (1, 2, 'x', 0x123)", ERR_INVALID, "cannot read 0x123" },
    { "INSERT INTO t (k, c, d, b) VALUES (1, 2, 'x', 'ab')", ERR_INVALID, "of type blob" },
    { "INSERT INTO t (k, c, d, v) VALUES (1, 2, 'x', [1])", ERR_INVALID,
      "literal is no value for" },
    { "INSERT INTO t (k, c, d, v) VALUES (1, 2, 'x', now())", ERR_INVALID, "now gives timeuuid" },
    { "SELECT * FROM t WHERE k = true", ERR_INVALID, "boolean true is no value" },
    { "SELECT * FROM t WHERE k = (text) 'a'", ERR_INVALID, "type text cannot stand for k" },
    { "SELECT 5 FROM t", ERR_INVALID, "needs its type" },
    { "SELECT todate(k) FROM t", ERR_INVALID, "todate does not take these arguments" },
    { "SELECT sum(v) FROM t", ERR_INVALID, "sum of this type" },
    { "SELECT max(count(*)) FROM t", ERR_INVALID, "cannot be an aggregate's argument" },
    { "SELECT ttl(k) FROM t", ERR_INVALID, "part of the primary key" },
    { "SELECT token(c) FROM t", ERR_INVALID, "partition key columns in their order" },

    /* WHERE */
    { "SELECT * FROM t WHERE c = 1", ERR_INVALID, "needs ALLOW FILTERING" },
    { "SELECT * FROM t WHERE k > 1", ERR_INVALID, "needs ALLOW FILTERING" },
    { "SELECT * FROM t WHERE k = 1 AND d = 'x'", ERR_INVALID, "needs ALLOW FILTERING" },
    { "SELECT * FROM t WHERE k = 1 AND v = 'x'", ERR_INVALID, "needs ALLOW FILTERING" },
    { "SELECT * FROM t WHERE k = 1 AND c > 1 AND d = 'x'", ERR_INVALID, "ALLOW FILTERING" },
    { "SELECT * FROM t WHERE k = 1 AND v = 'x' ALLOW FILTERING", ERR_INVALID, "not there yet" },
    { "SELECT * FROM t WHERE k = 1 AND k = 2", ERR_INVALID, "k is restricted twice" },
    { "SELECT * FROM t WHERE k = 1 AND c = 1 AND c > 2", ERR_INVALID, "c is restricted twice" },
    { "SELECT * FROM t WHERE k = 1 AND c > 1 AND c = 2", ERR_INVALID, "c is restricted twice" },
    { "SELECT * FROM t WHERE k = 1 AND c > 1 AND c >= 2", ERR_INVALID, "bounded twice" },
    { "SELECT * FROM t WHERE k != 1", ERR_INVALID, "!= is not supported" },
    { "SELECT * FROM t WHERE k IS NOT NULL", ERR_INVALID, "materialized views" },
    { "SELECT * FROM t WHERE k = 1 AND v CONTAINS 'x'", ERR_INVALID, "CONTAINS is not there yet" },
    { "SELECT * FROM t WHERE k = 1 AND v LIKE 'x%'", ERR_INVALID, "LIKE is not there yet" },
    { "SELECT * FROM t WHERE expr(idx, 'x')", ERR_INVALID, "expr() is not there yet" },
    { "SELECT * FROM t WHERE k = 1 AND (d, c) > ('x', 1)", ERR_INVALID, "side by side" },
    { "SELECT * FROM t WHERE k = 1 AND (c, d) > (1)", ERR_INVALID, "a tuple of 2 values" },
    { "SELECT * FROM t WHERE k = 1 AND (k, c) > (1, 1)", ERR_INVALID, "no clustering column" },
    { "SELECT * FROM m WHERE k = 1 AND (c, d) > (1, 1)", ERR_INVALID, "both orders is not there" },
    { "SELECT * FROM t WHERE token(c) > 1", ERR_INVALID, "partition key columns" },
    { "SELECT * FROM t WHERE token(k) > 1 AND token(k) > 2", ERR_INVALID, "bounded twice" },
    { "SELECT * FROM t WHERE token(k) > 1 AND k = 2", ERR_INVALID, "not there yet" },
    { "SELECT * FROM t WHERE token(k) IN (1)", ERR_SYNTAX, "unexpected 'IN'" },
    { "SELECT * FROM t ORDER BY c", ERR_INVALID, "ORDER BY needs the partition key" },
    { "SELECT * FROM t WHERE k = 1 ORDER BY v", ERR_INVALID, "no clustering column" },
    { "SELECT * FROM t WHERE k = 1 ORDER BY d", ERR_INVALID, "in the order of the key" },
    { "SELECT * FROM t WHERE k = 1 ORDER BY c ASC, d DESC", ERR_INVALID, "reversed in every" },
    { "SELECT * FROM t WHERE k IN (1, 2) ORDER BY c", ERR_INVALID, "not there yet" },
    { "SELECT DISTINCT k, v FROM t", ERR_INVALID, "partition key columns only" },
    { "SELECT DISTINCT k FROM t WHERE k = 1 AND c = 1", ERR_INVALID, "partition key only" },

    /* writes */
    { "INSERT INTO t (k, c) VALUES (1, 2)", ERR_INVALID, "the key column d is missing" },
    { "INSERT INTO t (k, c, d) VALUES (1, 2)", ERR_INVALID, "3 columns and 2 values" },
    { "INSERT INTO t (k, c, d, v, v) VALUES (1, 2, 'x', 'y', 'z')", ERR_INVALID, "given twice" },
    { "INSERT INTO t (k, k, d) VALUES (1, 2, 'x')", ERR_INVALID, "the column k is given twice" },
    { "UPDATE t SET k = 1 WHERE k = 1 AND c = 1 AND d = 'x'", ERR_INVALID, "primary key" },
    { "UPDATE t SET v = 'x' WHERE k = 1 AND c = 1", ERR_INVALID, "the key column d is missing" },
    { "UPDATE t SET v = 'x' WHERE c = 1", ERR_INVALID, "ALLOW FILTERING" },
    { "UPDATE t SET v = 'x' WHERE k = 1 AND c = 1 AND d > 'x'", ERR_INVALID, "column d" },
    { "UPDATE t SET n = n + 1 WHERE k = 1 AND c = 1 AND d = 'x'", ERR_INVALID, "not there yet" },
    { "UPDATE t SET n += 1 WHERE k = 1 AND c = 1 AND d = 'x'", ERR_INVALID, "not there yet" },
    { "UPDATE t SET n['a'] = 1 WHERE k = 1 AND c = 1 AND d = 'x'", ERR_INVALID, "non collection" },
    { "UPDATE t SET n.f = 1 WHERE k = 1 AND c = 1 AND d = 'x'", ERR_INVALID, "Invalid operation" },
    { "UPDATE t SET v = 'x' WHERE k = 1 AND c = 1 AND d = 'x' IF EXISTS", ERR_INVALID,
      "a conditional write (IF) is not there yet (line 1:55)" },
    { "INSERT INTO t (k, c, d) VALUES (1, 2, 'x') IF NOT EXISTS", ERR_INVALID, "not there yet" },
    { "DELETE v FROM t WHERE k = 1", ERR_INVALID, "column c is missing" },
    { "INSERT INTO t JSON '{}'", ERR_INVALID, "INSERT JSON is not there yet" },
    { "BEGIN COUNTER BATCH APPLY BATCH", ERR_INVALID, "COUNTER batch is not there yet" },
    { "BEGIN BATCH USING TIMESTAMP 1 DELETE FROM t USING TIMESTAMP 2 WHERE k = 1 APPLY BATCH",
      ERR_INVALID, "not both" },

    /* tables and keyspaces */
    { "CREATE TABLE x (k int)", ERR_INVALID, "has no PRIMARY KEY" },
    { "CREATE TABLE x (k int PRIMARY KEY, c int PRIMARY KEY)", ERR_INVALID, "more than one" },
    { "CREATE TABLE x (k int PRIMARY KEY, PRIMARY KEY (k))", ERR_INVALID, "more than one" },
    { "CREATE TABLE x (k int, PRIMARY KEY (z))", ERR_INVALID, "column z is not defined" },
    { "CREATE TABLE x (k int, PRIMARY KEY (k, k))", ERR_INVALID, "in the primary key twice" },
    { "CREATE TABLE x (k int, k int, PRIMARY KEY (k))", ERR_INVALID, "k is defined twice" },
    { "CREATE TABLE x (k duration PRIMARY KEY)", ERR_INVALID,
      "duration type is not supported for PRIMARY KEY column 'k'" },
    { "CREATE TABLE x (k nothing PRIMARY KEY)", ERR_INVALID, "unknown type nothing" },
    { "CREATE TABLE x (k a.b PRIMARY KEY)", ERR_INVALID, "user type in keyspace a;" },
    { "CREATE TABLE \"x-y\" (k int PRIMARY KEY)", ERR_INVALID, "letters, digits" },
    { "CREATE TABLE x (k int, c int, PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (k ASC)",
      ERR_INVALID, "k stands where c is wanted" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH CLUSTERING ORDER BY (k ASC)", ERR_INVALID,
      "names all clustering columns" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH bloom_filter_fp_chance = 2", ERR_CONFIG,
      "bloom_filter_fp_chance must be above 6.71e-05 and at most 1 (got 2) (line 1:40)" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH default_time_to_live = -1", ERR_CONFIG, "-1" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH compaction = {'class': 'Best'}", ERR_CONFIG,
      "unknown class 'Best'" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH compaction = {'min_threshold': 4}", ERR_CONFIG,
      "'class' is missing" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH compression = {'class': 'LZ4Compressor', "
      "'chunk_length_in_kb': 5}",
      ERR_CONFIG, "power of two" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH caching = {'keys': 'SOME'}", ERR_CONFIG, "keys is" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH min_index_interval = 4096", ERR_CONFIG,
      "max_index_interval must be at least min_index_interval (4096)" },
    { "CREATE TABLE x (k int PRIMARY KEY) WITH read_repair = 'MAYBE'", ERR_CONFIG, "BLOCKING" },
    { "CREATE KEYSPACE x WITH durable_writes = true", ERR_CONFIG, "replication is missing" },
    { "CREATE KEYSPACE x WITH replication = {'replication_factor': 1}", ERR_CONFIG, "a class" },
    { "CREATE KEYSPACE x WITH replication = {'class': 'LocalStrategy'}", ERR_CONFIG, "unknown" },
    { "CREATE KEYSPACE x WITH replication = {'class': 'SimpleStrategy'}", ERR_CONFIG, "needs a" },
    { "CREATE KEYSPACE x WITH replication = {'class': 'SimpleStrategy', "
      "'replication_factor': 'many'}",
      ERR_CONFIG, "no replication factor" },
    { "CREATE KEYSPACE x WITH replication = {'class': 'NetworkTopologyStrategy'}", ERR_CONFIG,
      "needs a factor" },
};

START_TEST(a_wrong_statement_is_refused_in_its_place)
{
    struct cql_plan *plan = NULL;
    enum err err = kit_try(refusals[_i].text, &plan);
    ck_assert_msg(err == refusals[_i].err && strstr(kit.report.text, refusals[_i].said),
                  "%s\n gave %s: %s\n not  %s: %s", refusals[_i].text, err_name(err),
                  kit.report.text, err_name(refusals[_i].err), refusals[_i].said);
    ck_assert_ptr_null(plan);
    ck_assert_int_eq(kit.report.err, err);
}
END_TEST

/* Valid in Cassandra 5.0: never a syntax error. */
static const char *const not_yet[] = {
    "ALTER MATERIALIZED VIEW v WITH comment = 'x'",
    "ALTER ROLE r WITH LOGIN = true",
    "ALTER USER u SUPERUSER",
    "CREATE INDEX ON t (v)",
    "CREATE CUSTOM INDEX i ON t (v) USING 'sai'",
    "CREATE MATERIALIZED VIEW v AS SELECT * FROM t WHERE k IS NOT NULL PRIMARY KEY (k)",
    "CREATE FUNCTION f (a int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS $$return a;$$",
    "CREATE OR REPLACE FUNCTION f () RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE java AS 'x'",
    "CREATE AGGREGATE a (int) SFUNC f STYPE int",
    "CREATE TRIGGER x ON t USING 'c'",
    "CREATE ROLE r WITH PASSWORD = 'x'",
    "CREATE USER u WITH PASSWORD 'x' NOSUPERUSER",
    "DROP INDEX i",
    "DROP MATERIALIZED VIEW v",
    "DROP FUNCTION f(int)",
    "DROP AGGREGATE a",
    "DROP TRIGGER x ON t",
    "DROP ROLE r",
    "DROP USER u",
    "DROP IDENTITY 'x'",
    "ADD IDENTITY 'x' TO ROLE 'r'",
    "DESCRIBE KEYSPACES",
    "DESC TABLE t",
    "describe cluster",
    "DESCRIBE",
    "LIST ROLES",
    "LIST USERS",
    "LIST ALL PERMISSIONS OF r",
    "GRANT SELECT ON KEYSPACE ks TO r",
    "GRANT r TO r2",
    "REVOKE r FROM r2",
    "SELECT JSON * FROM t",
    "SELECT k FROM t GROUP BY k",
    "SELECT CAST(k AS text) FROM t",
    "SELECT k + 1 FROM t",
    "SELECT -k FROM t",
    "SELECT v['a'] FROM t",
    "SELECT v['a'..'b'] FROM t",
    "SELECT v.f FROM t",
    "SELECT [k] FROM t",
    "SELECT abs(k) FROM t",
    "SELECT to_json(k) FROM t",
    "SELECT * FROM t WHERE k = 1 ORDER BY n ANN OF [1.0] LIMIT 5",
    "SELECT * FROM t WHERE k = 1 AND n['a'] = 5",
    "SELECT * FROM t WHERE k = 1 AND n['a'] IN (1, 2)",
    "SELECT * FROM t WHERE (k = 1) AND v CONTAINS KEY 'a'",
    "SELECT * FROM t WHERE k = 1 AND (c, d) IN ?",
    "SELECT * FROM t WHERE k = 1 AND (c, d) = ?",
    "INSERT INTO t JSON :x DEFAULT UNSET IF NOT EXISTS USING TTL 5",
    "UPDATE t SET v = 'x' WHERE k = 1 AND c = 1 AND d = 'x' IF n IN (1, 2) AND v CONTAINS 'x'",
    "UPDATE t SET v = 'x' WHERE k = 1 AND c = 1 AND d = 'x' IF n['a'] != 5 AND v.f = 3",
    "CREATE TABLE x (k int PRIMARY KEY, a 'org.apache.cassandra.db.marshal.X')",
    "CREATE TABLE x (k int PRIMARY KEY, a text MASKED WITH DEFAULT)",
    "CREATE TABLE x (k int PRIMARY KEY, a text MASKED WITH mask_inner(1, null))",
    "CREATE TABLE x (k int PRIMARY KEY) WITH COMPACT STORAGE",
    "ALTER TABLE t ALTER v MASKED WITH DEFAULT",
    "ALTER TABLE t ALTER IF EXISTS v MASKED WITH mask_inner(1, null)",
    "ALTER TABLE t ALTER v DROP MASKED",
    "ALTER TABLE t DROP COMPACT STORAGE",
    "ALTER TABLE t ADD x text MASKED WITH DEFAULT",
};

START_TEST(what_cassandra_knows_and_this_does_not_is_not_called_wrong)
{
    struct cql_plan *plan = NULL;
    enum err err = kit_try(not_yet[_i], &plan);
    ck_assert_msg(err == ERR_INVALID && strstr(kit.report.text, "not there yet"), "%s gave %s: %s",
                  not_yet[_i], err_name(err), kit.report.text);
    ck_assert_msg(strstr(kit.report.text, "(line 1:"), "%s: %s", not_yet[_i], kit.report.text);
}
END_TEST

/* What depends on values or on the moment. */
static const struct {
    const char *text;
    enum err err;
    const char *said;
} bound[] = {
    { "USE nowhere", ERR_INVALID, "Keyspace 'nowhere' does not exist" },
    { "DROP KEYSPACE nowhere", ERR_INVALID, "keyspace nowhere does not exist" },
    { "DROP TABLE nowhere", ERR_INVALID, "table nowhere does not exist" },
    { "DROP TABLE no.place", ERR_INVALID, "keyspace no does not exist" },
    { "DROP KEYSPACE system", ERR_UNAUTHORIZED, "not user-modifiable" },
    { "DROP KEYSPACE system_auth", ERR_UNAUTHORIZED, "not user-modifiable" },
    { "CREATE TABLE system.x (k int PRIMARY KEY)", ERR_UNAUTHORIZED, "not user-modifiable" },
    { "DROP TABLE system.local", ERR_UNAUTHORIZED, "not user-modifiable" },
    { "CREATE TABLE no.x (k int PRIMARY KEY)", ERR_INVALID, "keyspace no does not exist" },
    { "CREATE TABLE t (k int PRIMARY KEY)", ERR_EXISTS, "ks.t exists" },
    { "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
      ERR_EXISTS, "ks exists" },
    { "CREATE KEYSPACE x WITH replication = {'class': 'NetworkTopologyStrategy', "
      "'replication_factor': 1}",
      ERR_CONFIG, "no data centre" },
    { "INSERT INTO t (k, c, d) VALUES (null, 1, 'x')", ERR_INVALID, "null value for the key" },
    { "INSERT INTO t (k, c, d) VALUES (1, null, 'x')", ERR_INVALID, "null value for the key" },
    { "INSERT INTO t (k, c, d) VALUES (1, 1, 'x') USING TTL -5", ERR_INVALID, "a TTL of -5" },
    { "INSERT INTO t (k, c, d) VALUES (1, 1, 'x') USING TTL 630720001", ERR_INVALID, "a TTL of" },
    { "INSERT INTO e (k) VALUES ('')", ERR_INVALID, "the key may not be empty" },
};

START_TEST(what_values_make_wrong_is_refused_when_bound)
{
    kit_do("CREATE TABLE e (k text PRIMARY KEY)");
    enum err err = kit_execute(bound[_i].text);
    ck_assert_msg(err == bound[_i].err && strstr(kit.report.text, bound[_i].said), "%s gave %s: %s",
                  bound[_i].text, err_name(err), kit.report.text);
}
END_TEST

static const struct {
    const char *text, *said;
} select_bound[] = {
    { "SELECT * FROM t LIMIT 0", "LIMIT must be strictly positive" },
    { "SELECT * FROM t LIMIT -1", "LIMIT must be strictly positive" },
    { "SELECT * FROM t LIMIT null", "LIMIT is null" },
    { "SELECT * FROM t PER PARTITION LIMIT 0", "PER PARTITION LIMIT must be" },
    { "SELECT * FROM t WHERE k = null", "null value for the key column k" },
    { "SELECT * FROM t WHERE k = 1 AND c > null", "null value for the key column c" },
    { "SELECT * FROM t WHERE k IN (1, null)", "null value for the key column k" },
    { "SELECT * FROM t WHERE token(k) > null", "compared with nothing" },
};

START_TEST(a_select_with_impossible_values_is_refused)
{
    struct cql_plan *plan = kit_prepare(select_bound[_i].text);
    const char *rows;
    ck_assert_int_eq(kit_run(plan, &rows), ERR_INVALID);
    ck_assert_msg(strstr(kit.report.text, select_bound[_i].said), "%s", kit.report.text);
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(without_a_keyspace_a_bare_name_is_refused)
{
    struct cql_plan *plan;
    kit.keyspace = NULL;
    ck_assert_int_eq(kit_try("SELECT * FROM t", &plan), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(kit.report.text, "no keyspace is in use"));
    plan = kit_prepare("SELECT * FROM ks.t");
    ck_assert(!cql_plan_uses_keyspace(plan));
    cql_plan_unref(&plan);
}
END_TEST

static const char *repeated(const char *head, const char *piece, size_t count, const char *tail)
{
    struct buf text = buf_in(&kit.arena);
    buf_put_text(&text, head);
    for (size_t i = 0; i < count; i++)
        buf_put_text(&text, piece);
    buf_put_text(&text, tail);
    buf_put_u8(&text, 0);
    return (const char *)text.data;
}

START_TEST(every_size_has_its_limit)
{
    static const struct {
        const char *head, *piece, *tail, *said;
        size_t count;
    } sizes[] = {
        { "SELECT * FROM t WHERE k = ", "[", "1", "nested deeper", 17 },
        { "SELECT * FROM t WHERE k = ", "(", "1", "nested deeper", 5000 },
        { "SELECT * FROM t WHERE k = ", "f(", "1", "nested deeper", 5000 },
        { "SELECT 1", "+1", " FROM t", "nested deeper", 5000 },
        { "CREATE TABLE x (k ", "frozen<", "int", "nested deeper", 5000 },
        { "SELECT * FROM t WHERE k = 1", " AND c = 1", "", "more than 100 relations", 100 },
        { "SELECT * FROM t WHERE k IN (?", ", ?", ")", "bind markers", 65535 },
        { "SELECT * FROM t WHERE k IN (1", ",1", ")", "more than 4096 values", 4096 },
        { "SELECT * FROM t WHERE k IN (1", ",1", ")", "more than 131072 terms", 200000 },
        { "SELECT * FROM t WHERE k = 1", " ", "", "above the limit", CQL_TEXT_BYTES_MAX },
    };
    for (size_t i = 0; i < array_count(sizes); i++) {
        struct cql_plan *plan = NULL;
        const char *text = repeated(sizes[i].head, sizes[i].piece, sizes[i].count, sizes[i].tail);
        enum err err = kit_try(text, &plan);
        ck_assert_msg(err == ERR_INVALID || err == ERR_SYNTAX, "%zu: %s", i, err_name(err));
        ck_assert_msg(strstr(kit.report.text, sizes[i].said) || err == ERR_SYNTAX, "%zu: %s", i,
                      kit.report.text);
        ck_assert_ptr_null(plan);
    }
}
END_TEST

START_TEST(in_multiplies_up_to_a_limit)
{
    struct cql_plan *plan =
        kit_prepare(repeated("SELECT * FROM t WHERE k IN (1", ", 1", 1000, ")"));
    const char *rows;
    ck_assert_int_eq(kit_run(plan, &rows), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(kit.report.text, "more than 1000 combinations"));
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(a_key_has_at_most_65535_bytes)
{
    kit_do("CREATE TABLE e (k text PRIMARY KEY)");
    kit_do("CREATE TABLE f (a text, b text, PRIMARY KEY ((a, b)))");
    kit_do("CREATE TABLE g (a int, b text, PRIMARY KEY (a, b))");
    kit_do(repeated("INSERT INTO e (k) VALUES ('", "x", 65535, "')"));
    ck_assert_int_eq(kit_execute(repeated("INSERT INTO e (k) VALUES ('", "x", 65536, "')")),
                     ERR_INVALID);
    ck_assert_int_eq(kit_execute(repeated("INSERT INTO f (a, b) VALUES ('x', '", "x", 65530, "')")),
                     ERR_INVALID);
    kit_do(repeated("INSERT INTO g (a, b) VALUES (1, '", "x", 65535, "')"));
    ck_assert_int_eq(kit_execute(repeated("INSERT INTO g (a, b) VALUES (1, '", "x", 65536, "')")),
                     ERR_INVALID);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("refuse");
    TCase *tcase = tcase_create("refusals");
    tcase_add_checked_fixture(tcase, setup, kit_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_wrong_statement_is_refused_in_its_place, 0, array_count(refusals));
    tcase_add_loop_test(tcase, what_cassandra_knows_and_this_does_not_is_not_called_wrong, 0,
                        array_count(not_yet));
    tcase_add_loop_test(tcase, what_values_make_wrong_is_refused_when_bound, 0, array_count(bound));
    tcase_add_loop_test(tcase, a_select_with_impossible_values_is_refused, 0,
                        array_count(select_bound));
    tcase_add_test(tcase, without_a_keyspace_a_bare_name_is_refused);
    tcase_add_test(tcase, every_size_has_its_limit);
    tcase_add_test(tcase, in_multiplies_up_to_a_limit);
    tcase_add_test(tcase, a_key_has_at_most_65535_bytes);
    suite_add_tcase(suite, tcase);
    return kit_main(suite);
}

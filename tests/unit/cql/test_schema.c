/* test_schema.c - tables and user types made, altered and dropped by statements: what is there
 * then, what is refused, with which error.
 */
// SPDX-License-Identifier: Apache-2.0
#include "kit.h"

static void setup(void)
{
    kit_setup();
    kit_do("CREATE KEYSPACE other WITH replication = {'class': 'SimpleStrategy', "
           "'replication_factor': 1}");
    kit_do("CREATE TYPE point (x int, y frozen<list<int>>)");
    kit_do("CREATE TYPE ks.line (a frozen<point>, b frozen<point>, tags set<text>)");
    kit_do("CREATE TYPE other.thing (x int)");
    kit_do("CREATE TABLE t (k int, c text, s text STATIC, v int, w set<int>, u point, "
           "PRIMARY KEY (k, c)) WITH comment = 'c'");
    kit_do("CREATE TABLE n (k int PRIMARY KEY, n counter)");
    kit_do("CREATE TABLE p (k frozen<point> PRIMARY KEY)");
    kit_do("CREATE TABLE \"Odd\" (\"K\" int PRIMARY KEY, \"v w\" int)");
}

static const struct table *table(const char *name)
{
    const struct table *t = catalog_table(&kit.catalog, "ks", name);
    ck_assert_ptr_nonnull(t);
    return t;
}

/* `name type`, in order, with `static` and a key's order. */
static const char *columns(const char *name)
{
    const struct table *t = table(name);
    struct buf out = buf_in(&kit.arena);
    for (size_t i = 0; i < t->columns_count; i++) {
        const struct column *c = &t->columns[i];
        buf_printf(&out, "%s%s ", i ? ", " : "", c->name);
        type_print(c->type, &out);
        buf_printf(&out, "%s#%u", c->kind == COLUMN_STATIC ? " static" : "", c->number);
    }
    return arena_text(&kit.arena, buf_bytes(&out));
}

static const char *fields(const char *name)
{
    const struct type *type = catalog_type(&kit.catalog, "ks", name);
    struct buf out = buf_in(&kit.arena);
    ck_assert_ptr_nonnull(type);
    for (size_t i = 0; i < type->parts_count; i++) {
        buf_printf(&out, "%s%s ", i ? ", " : "", type->fields[i]);
        type_print(type->parts[i], &out);
    }
    return arena_text(&kit.arena, buf_bytes(&out));
}

static const struct {
    const char *type, *kept; /* kept: NULL: as written */
} types[] = {
    { "int", NULL },
    { "varchar", "text" },
    { "list<int>", NULL },
    { "set<uuid>", NULL },
    { "map<text, frozen<list<int>>>", NULL },
    { "frozen<map<text, list<int>>>", "frozen<map<text, frozen<list<int>>>>" },
    { "tuple<int, list<text>>", "frozen<tuple<int, frozen<list<text>>>>" },
    { "frozen<tuple<int>>", NULL },
    { "list<tuple<int, text>>", "list<frozen<tuple<int, text>>>" },
    { "vector<float, 3>", NULL },
    { "frozen<vector<list<int>, 2>>", "vector<frozen<list<int>>, 2>" },
    { "point", NULL },
    { "ks.point", "point" },
    { "frozen<line>", NULL },
    { "frozen<set<line>>", "frozen<set<frozen<line>>>" },
    { "list<frozen<line>>", NULL },
    { "duration", NULL },
    { "map<int, duration>", NULL },
    { "'org.apache.cassandra.db.marshal.UTF8Type'", "text" },
    { "'Int32Type'", "int" },
};

START_TEST(a_column_may_have_any_type_of_cassandras)
{
    const char *kept = types[_i].kept ? types[_i].kept : types[_i].type;
    kit_do(arena_printf(&kit.arena, "CREATE TABLE x (k int PRIMARY KEY, v %s)", types[_i].type));
    ck_assert_str_eq(columns("x"), arena_printf(&kit.arena, "k int#0, v %s#1", kept));
    kit_do(arena_printf(&kit.arena, "ALTER TABLE x ADD w %s", types[_i].type));
    ck_assert(type_equal(table("x")->columns[1].type, table("x")->columns[2].type));
    kit_do(arena_printf(&kit.arena,
                        "CREATE TABLE y (k int, c int, v %s STATIC, "
                        "PRIMARY KEY (k, c))",
                        types[_i].type));
    kit_do("ALTER TABLE y ADD z int");
}
END_TEST

static const char *const keys[] = { "frozen<list<int>>",
                                    "frozen<set<text>>",
                                    "frozen<map<int, text>>",
                                    "tuple<int, text>",
                                    "vector<float, 3>",
                                    "frozen<point>",
                                    "frozen<list<frozen<line>>>",
                                    "blob",
                                    "boolean",
                                    "inet" };

START_TEST(a_key_may_have_any_frozen_type)
{
    kit_do(arena_printf(&kit.arena, "CREATE TABLE x (k %s, c %s, PRIMARY KEY (k, c))", keys[_i],
                        keys[_i]));
    ck_assert_uint_eq(table("x")->clustering_count, 1);
}
END_TEST

START_TEST(static_and_regular_columns_stand_by_their_names)
{
    kit_do("CREATE TABLE x (z int, y int STATIC, a int, b int STATIC, k int, c int, "
           "PRIMARY KEY (k, c))");
    ck_assert_str_eq(columns("x"),
                     "k int#0, c int#1, b int static#2, y int static#3, a int#4, z int#5");
    kit_do("ALTER TABLE x ADD (m int STATIC, n int)");
    ck_assert_str_eq(columns("x"), "k int#0, c int#1, b int static#2, m int static#6, "
                                   "y int static#3, a int#4, n int#7, z int#5");
}
END_TEST

START_TEST(columns_are_dropped_and_come_back_as_others)
{
    kit.params.wall_micros = 123456;
    kit_do("ALTER TABLE t DROP v");
    kit_do("ALTER TABLE t DROP (s, w) USING TIMESTAMP 5");
    ck_assert_str_eq(columns("t"), "k int#0, c text#1, u point#3");
    const struct table *t = table("t");
    ck_assert_uint_eq(t->dropped_count, 3);
    ck_assert_str_eq(t->dropped[0].name, "s");
    ck_assert(t->dropped[0].kind == COLUMN_STATIC && t->dropped[0].dropped_at == 5);
    ck_assert_str_eq(t->dropped[1].name, "v");
    ck_assert(t->dropped[1].kind == COLUMN_REGULAR && t->dropped[1].dropped_at == 123456);
    ck_assert_str_eq(t->dropped[2].name, "w");
    ck_assert(type_is_multicell(t->dropped[2].type));
    kit_do("ALTER TABLE t ADD v int");
    kit_do("ALTER TABLE t DROP v USING TIMESTAMP -7");
    ck_assert_uint_eq(table("t")->dropped_count, 3);
    ck_assert_int_eq(table("t")->dropped[1].dropped_at, -7);
    ck_assert_uint_eq(table("t")->dropped[1].number, 6);
    kit_do("ALTER TABLE t ADD v blob"); /* any bytes are a blob */
    ck_assert_str_eq(columns("t"), "k int#0, c text#1, u point#3, v blob#7");
}
END_TEST

START_TEST(what_was_altered_keeps_the_rest)
{
    struct uuid id = table("t")->id;
    kit_do("ALTER TABLE t WITH gc_grace_seconds = 7 AND comment = 'd'");
    kit_do("ALTER TABLE t RENAME k TO \"K\" AND c TO d");
    kit_do("ALTER TABLE t WITH compression = {'class': 'ZstdCompressor'}");
    const struct table *t = table("t");
    ck_assert(uuid_equal(&t->id, &id));
    ck_assert_str_eq(columns("t"), "K int#0, d text#1, s text static#2, u point#3, v int#4, "
                                   "w set<int>#5");
    ck_assert_str_eq(t->params->comment, "d");
    ck_assert_int_eq(t->params->gc_grace_seconds, 7);
    ck_assert(t->params->compression.kind == COMPRESSOR_ZSTD);
    kit_do("ALTER TABLE t WITH compression = {}");
    ck_assert(table("t")->params->compression.kind == COMPRESSOR_NONE);
    ck_assert_int_eq(table("t")->params->gc_grace_seconds, 7);
}
END_TEST

START_TEST(the_chance_of_a_filter_stays_when_the_class_of_compaction_goes)
{
    kit_do("CREATE TABLE x (k int PRIMARY KEY) WITH "
           "compaction = {'class': 'LeveledCompactionStrategy'}");
    ck_assert(table("x")->params->bloom_filter_fp_chance == 0.1);
    kit_do("ALTER TABLE x WITH compaction = {'class': 'SizeTieredCompactionStrategy'}");
    ck_assert(table("x")->params->bloom_filter_fp_chance == 0.1);
    kit_do("ALTER TABLE x WITH bloom_filter_fp_chance = 0.5");
    ck_assert(table("x")->params->bloom_filter_fp_chance == 0.5);
    kit_do("ALTER TABLE t WITH compaction = {'class': 'LeveledCompactionStrategy'}");
    ck_assert(table("t")->params->bloom_filter_fp_chance == 0.01);
}
END_TEST

START_TEST(types_are_altered_in_all_that_use_them)
{
    kit_do("ALTER TABLE t ADD l list<frozen<line>>");
    kit_do("DROP TABLE p");
    kit_do("ALTER TYPE point ADD z frozen<set<text>>");
    kit_do("ALTER TYPE point RENAME x TO \"X\" AND y TO yy");
    ck_assert_str_eq(fields("point"), "X int, yy frozen<list<int>>, z frozen<set<text>>");
    const struct type *u = table_column(table("t"), bytes_text("u"))->type;
    const struct type *l = table_column(table("t"), bytes_text("l"))->type;
    ck_assert_uint_eq(u->parts_count, 3);
    ck_assert_str_eq(u->fields[0], "X");
    ck_assert_str_eq(l->parts[0]->parts[1]->fields[2], "z");
    kit_do("ALTER TYPE line RENAME tags TO t AND t TO tags"); /* one after the other */
    ck_assert_str_eq(fields("line"), "a frozen<point>, b frozen<point>, tags set<text>");
    kit_do("ALTER TABLE t DROP l");
    kit_do("DROP TYPE line");
    ck_assert_ptr_null(catalog_type(&kit.catalog, "ks", "line"));
    ck_assert_str_eq(table("t")->dropped[0].name, "l"); /* without the type that is gone */
    kit_do("CREATE TYPE \"The Line\" (\"a b\" int)");
    kit_do("CREATE TABLE q (k int PRIMARY KEY, v frozen<\"The Line\">)");
    ck_assert_str_eq(columns("q"), "k int#0, v frozen<\"The Line\">#1");
}
END_TEST

START_TEST(keyspaces_are_altered_in_what_is_named)
{
    kit_do("ALTER KEYSPACE ks WITH durable_writes = false");
    const struct keyspace *ks = catalog_keyspace(&kit.catalog, "ks");
    ck_assert(!ks->is_durable && ks->replication == REPLICATION_SIMPLE && ks->factor == 1);
    kit_do("ALTER KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 3}");
    ck_assert(!ks->is_durable && ks->replication == REPLICATION_TOPOLOGY);
    ck_assert_uint_eq(ks->datacenters[0].factor, 3);
    kit_do("ALTER SCHEMA IF EXISTS nowhere WITH durable_writes = true");
    kit_do("ALTER KEYSPACE ks WITH durable_writes = true");
    ck_assert(ks->is_durable && ks->replication == REPLICATION_TOPOLOGY);
}
END_TEST

START_TEST(a_table_that_names_no_compaction_gets_the_nodes)
{
    const char *pairs[] = { "class", "UnifiedCompactionStrategy", "scaling_parameters", "T4" };
    struct option compaction = { "compaction", NULL, 2, pairs };
    struct cql_context context = { &kit.catalog, "ks", &compaction };
    static const char *const texts[] = {
        "CREATE TABLE x (k int PRIMARY KEY) WITH comment = 'c'",
        "CREATE TABLE y (k int PRIMARY KEY) WITH compaction = "
        "{'class': 'LeveledCompactionStrategy'}",
    };
    for (size_t i = 0; i < array_count(texts); i++) {
        struct cql_plan *plan;
        struct cql_action action;
        ck_assert_int_eq(cql_prepare(&context, bytes_text(texts[i]), &plan, &kit.report), OK);
        ck_assert_int_eq(kit_bind(plan, &action), OK);
        kit_change(&action);
        cql_plan_unref(&plan);
    }
    const struct compaction_params *x = &table("x")->params->compaction;
    ck_assert(x->class == COMPACTION_UNIFIED && x->is_given);
    ck_assert_str_eq(compaction_option(x, "scaling_parameters"), "T4");
    ck_assert(table("y")->params->compaction.class == COMPACTION_LEVELED);
    pairs[3] = "T0";
    struct cql_plan *plan;
    ck_assert_int_eq(
        cql_prepare(&context, bytes_text("CREATE TABLE z (k int PRIMARY KEY)"), &plan, &kit.report),
        ERR_CONFIG);
}
END_TEST

/* Nothing to do: no change is made, and no error. */
static const char *const idle[] = {
    "CREATE TYPE IF NOT EXISTS point (x text)",
    "DROP TYPE IF EXISTS nothing",
    "DROP TYPE IF EXISTS nowhere.nothing",
    "ALTER TYPE IF EXISTS nothing ADD x int",
    "ALTER TYPE point ADD IF NOT EXISTS x text",
    "ALTER TYPE point RENAME IF EXISTS q TO r",
    "ALTER TABLE IF EXISTS nothing ADD x int",
    "ALTER TABLE IF EXISTS nowhere.nothing DROP x",
    "ALTER TABLE t ADD IF NOT EXISTS v text",
    "ALTER TABLE t DROP IF EXISTS q",
    "ALTER TABLE t DROP IF EXISTS (q, r)",
    "ALTER TABLE t RENAME IF EXISTS q TO r",
    "ALTER KEYSPACE IF EXISTS nowhere WITH durable_writes = true",
};

START_TEST(what_is_there_or_gone_already_makes_no_change)
{
    struct cql_plan *plan = kit_prepare(idle[_i]);
    struct cql_action action;
    ck_assert_msg(kit_bind(plan, &action) == OK, "%s: %s", idle[_i], kit.report.text);
    ck_assert_ptr_null(action.change);
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(of_several_columns_those_that_are_new_are_added)
{
    kit_do("ALTER TABLE t ADD IF NOT EXISTS (v text, x int)");
    ck_assert_ptr_nonnull(table_column(table("t"), bytes_text("x")));
    kit_do("ALTER TABLE t DROP IF EXISTS (x, y)");
    ck_assert_ptr_null(table_column(table("t"), bytes_text("x")));
}
END_TEST

static const struct {
    const char *text;
    enum err err;
    const char *said;
} refusals[] = {
    /* types */
    { "CREATE TABLE x (k int PRIMARY KEY, v nothing)", ERR_INVALID, "unknown type nothing" },
    { "CREATE TABLE x (k int PRIMARY KEY, v list<nothing>)", ERR_INVALID,
      "type nothing (line 1:42" },
    { "CREATE TABLE x (k int PRIMARY KEY, v thing)", ERR_INVALID, "unknown type thing" },
    { "CREATE TABLE x (k int PRIMARY KEY, v other.thing)", ERR_INVALID,
      "cannot refer to a user type in keyspace other" },
    { "CREATE TABLE x (k int PRIMARY KEY, v array<int>)", ERR_INVALID, "unknown type array" },
    { "CREATE TABLE x (k int PRIMARY KEY, v frozen<int>)", ERR_INVALID,
      "frozen<> is only allowed" },
    { "CREATE TABLE x (k int PRIMARY KEY, v list<int, int>)", ERR_SYNTAX, "list has one type" },
    { "CREATE TABLE x (k int PRIMARY KEY, v map<int>)", ERR_SYNTAX, "map has two types" },
    { "CREATE TABLE x (k int PRIMARY KEY, v frozen<int, int>)", ERR_SYNTAX, "frozen has one" },
    { "CREATE TABLE x (k int PRIMARY KEY, v list<5>)", ERR_SYNTAX, "unexpected '5'" },
    { "CREATE TABLE x (k int PRIMARY KEY, v vector<float>)", ERR_SYNTAX, "a dimension" },
    { "CREATE TABLE x (k int PRIMARY KEY, v vector<float, int>)", ERR_SYNTAX, "a dimension" },
    { "CREATE TABLE x (k int PRIMARY KEY, v vector<float, 0>)", ERR_INVALID, "from 1 to" },
    { "CREATE TABLE x (k int PRIMARY KEY, v vector<float, 99999999999>)", ERR_INVALID, "from 1" },
    { "CREATE TABLE x (k int PRIMARY KEY, v list<list<int>>)", ERR_INVALID,
      "non-frozen collections are not allowed inside collections: list<list<int>>" },
    { "CREATE TABLE x (k int PRIMARY KEY, v map<list<int>, int>)", ERR_INVALID, "non-frozen" },
    { "CREATE TABLE x (k int PRIMARY KEY, v list<point>)", ERR_INVALID, "non-frozen user types" },
    { "CREATE TABLE x (k int PRIMARY KEY, v line)", ERR_INVALID, "nested non-frozen collections" },
    { "CREATE TABLE x (k int PRIMARY KEY, v list<counter>)", ERR_INVALID, "counters are not" },
    { "CREATE TABLE x (k int PRIMARY KEY, v set<duration>)", ERR_INVALID, "durations are not" },
    { "CREATE TABLE x (k int PRIMARY KEY, v map<duration, int>)", ERR_INVALID, "durations" },
    { "CREATE TABLE x (k int PRIMARY KEY, v 'no.such.Type')", ERR_INVALID, "not there yet" },
    { "CREATE TABLE x (k int PRIMARY KEY, v 'List(')", ERR_CONFIG, "unable to find" },

    /* keys, statics, counters */
    { "CREATE TABLE x (k list<int> PRIMARY KEY)", ERR_INVALID,
      "Invalid non-frozen collection type for PRIMARY KEY column 'k'" },
    { "CREATE TABLE x (k int, c point, PRIMARY KEY (k, c))", ERR_INVALID,
      "Invalid non-frozen user-defined type for PRIMARY KEY column 'c'" },
    { "CREATE TABLE x (k counter PRIMARY KEY)", ERR_INVALID, "counter type is not supported" },
    { "CREATE TABLE x (k int, c frozen<list<duration>>, PRIMARY KEY (k, c))", ERR_INVALID,
      "duration type is not supported for PRIMARY KEY column 'c'" },
    { "CREATE TABLE x (k int PRIMARY KEY, s int STATIC)", ERR_INVALID, "Static columns are only" },
    { "CREATE TABLE x (k int, s int STATIC, PRIMARY KEY (k, s))", ERR_INVALID,
      "Static column 's' cannot be part of the PRIMARY KEY" },
    { "CREATE TABLE x (k int PRIMARY KEY, a counter, b int)", ERR_INVALID, "Cannot mix counter" },
    { "CREATE TABLE x (k int PRIMARY KEY, a counter) WITH default_time_to_live = 5", ERR_INVALID,
      "Cannot set default_time_to_live on a table with counters" },

    /* CREATE, ALTER and DROP TYPE */
    { "CREATE TYPE point (x int)", ERR_INVALID, "A user type with name 'point' already exists" },
    { "CREATE TYPE nowhere.p (x int)", ERR_INVALID, "keyspace nowhere does not exist" },
    { "CREATE TYPE system.p (x int)", ERR_UNAUTHORIZED, "not user-modifiable" },
    { "CREATE TYPE p (x int, x text)", ERR_INVALID, "Duplicate field name 'x' in type 'p'" },
    { "CREATE TYPE p (x counter)", ERR_INVALID, "A user type cannot contain counters" },
    { "CREATE TYPE p (x point)", ERR_INVALID, "A user type cannot contain non-frozen UDTs" },
    { "CREATE TYPE p (x list<point>)", ERR_INVALID, "non-frozen user types" },
    { "CREATE TYPE p (x frozen<p>)", ERR_INVALID, "unknown type p" },
    { "CREATE TYPE p ()", ERR_SYNTAX, "unexpected ')'" },
    { "CREATE TYPE int (x int)", ERR_SYNTAX, "Invalid (reserved) user type name int" },
    { "CREATE TYPE date (x int)", ERR_SYNTAX, "(reserved)" },
    { "CREATE TYPE macaddr (x int)", ERR_SYNTAX, "(reserved)" },
    { "CREATE TYPE frozen (x int)", ERR_SYNTAX, "(reserved)" },
    { "ALTER TYPE nothing ADD x int", ERR_INVALID, "Type 'ks.nothing' doesn't exist" },
    { "ALTER TYPE line ADD a int", ERR_INVALID, "a field with name a already exists" },
    { "ALTER TYPE point ADD p frozen<line>", ERR_INVALID, "circular reference" },
    { "ALTER TYPE point ADD p frozen<point>", ERR_INVALID, "circular reference" },
    { "ALTER TYPE point ADD z int", ERR_INVALID, "used in the primary key of table p" },
    { "ALTER TYPE line ADD p point", ERR_INVALID, "non-frozen UDTs" },
    { "ALTER TYPE line ADD n counter", ERR_INVALID, "counters" },
    { "ALTER TYPE line ADD (m int, n int)", ERR_SYNTAX, "ADD of a field" },
    { "ALTER TYPE line ADD m int STATIC", ERR_SYNTAX, "ADD of a field" },
    { "ALTER TYPE line DROP a", ERR_SYNTAX, "ADD of a field" },
    { "ALTER TYPE line WITH comment = ''", ERR_SYNTAX, "ADD of a field" },
    { "ALTER TYPE line ALTER a TYPE int", ERR_INVALID, "Altering field types is no longer" },
    { "ALTER TYPE line RENAME q TO r", ERR_INVALID, "unrecognized field 'q'" },
    { "ALTER TYPE line RENAME a TO b", ERR_INVALID, "Duplicate field name 'b' in type 'line'" },
    { "DROP TYPE nothing", ERR_INVALID, "Type 'ks.nothing' doesn't exist" },
    { "DROP TYPE point", ERR_INVALID, "still used by user type line" },
    { "DROP TYPE system.x", ERR_UNAUTHORIZED, "not user-modifiable" },

    /* ALTER TABLE */
    { "ALTER TABLE nothing ADD x int", ERR_INVALID, "Table 'ks.nothing' doesn't exist" },
    { "ALTER TABLE system.local ADD x int", ERR_UNAUTHORIZED, "not user-modifiable" },
    { "ALTER TABLE t ADD v int", ERR_INVALID, "Column with name 'v' already exists" },
    { "ALTER TABLE t ADD (x int, x int)", ERR_INVALID, "Column with name 'x' already exists" },
    { "ALTER TABLE t ADD x int PRIMARY KEY", ERR_SYNTAX, "unexpected 'PRIMARY'" },
    { "ALTER TABLE t ADD n counter", ERR_CONFIG, "Cannot have a counter column (\"n\") in a non" },
    { "ALTER TABLE n ADD v int", ERR_CONFIG, "Cannot have a non counter column (\"v\")" },
    { "ALTER TABLE n ADD s counter STATIC", ERR_INVALID, "Static columns are only useful" },
    { "ALTER TABLE t DROP q", ERR_INVALID, "Column q was not found in table 'ks.t'" },
    { "ALTER TABLE t DROP c", ERR_INVALID, "Cannot drop PRIMARY KEY column c" },
    { "ALTER TABLE t DROP u", ERR_INVALID, "Cannot drop non-frozen column u of user type point" },
    { "ALTER TABLE t DROP v USING TIMESTAMP ?", ERR_SYNTAX, "a whole number" },
    { "ALTER TABLE t DROP v USING TIMESTAMP 99999999999999999999", ERR_SYNTAX, "a whole number" },
    { "ALTER TABLE t RENAME v TO x", ERR_INVALID, "Cannot rename non PRIMARY KEY column v" },
    { "ALTER TABLE t RENAME q TO x", ERR_INVALID, "Column q was not found" },
    { "ALTER TABLE t RENAME k TO v", ERR_INVALID, "another column with that name already exists" },
    { "ALTER TABLE t ALTER v TYPE text", ERR_INVALID, "Altering column types is no longer" },
    { "ALTER TABLE t WITH id = f47ac10b-58cc-4372-a567-0e02b2c3d479", ERR_CONFIG,
      "Cannot alter table id." },
    { "ALTER TABLE t WITH warp = 9", ERR_SYNTAX, "Unknown property 'warp'" },
    { "ALTER TABLE t WITH gc_grace_seconds = -1", ERR_CONFIG, "gc_grace_seconds must be" },
    { "ALTER TABLE t WITH min_index_interval = 4096", ERR_CONFIG, "max_index_interval must be" },
    { "ALTER TABLE t WITH CLUSTERING ORDER BY (c DESC)", ERR_SYNTAX, "unexpected" },
    { "ALTER TABLE n WITH default_time_to_live = 5", ERR_INVALID, "a table with counters" },
    { "ALTER TABLE t", ERR_SYNTAX, "unexpected end" },

    /* ALTER KEYSPACE */
    { "ALTER KEYSPACE nowhere WITH durable_writes = true", ERR_INVALID, "does not exist" },
    { "ALTER KEYSPACE system WITH durable_writes = true", ERR_UNAUTHORIZED, "not user-mod" },
    { "ALTER KEYSPACE ks WITH replication = {'class': 'Best'}", ERR_CONFIG, "unknown replication" },
    { "ALTER KEYSPACE ks WITH speed = 1", ERR_SYNTAX, "Unknown property 'speed'" },
    { "ALTER KEYSPACE ks WITH durable_writes = true AND durable_writes = false", ERR_SYNTAX,
      "Multiple definition for property 'durable_writes'" },
};

START_TEST(a_change_that_cannot_be_is_refused_with_its_error)
{
    struct uuid version = kit.catalog.version;
    enum err err = kit_execute(refusals[_i].text);
    ck_assert_msg(err == refusals[_i].err && strstr(kit.report.text, refusals[_i].said),
                  "%s\n gave %s: %s\n not  %s: %s", refusals[_i].text, err_name(err),
                  kit.report.text, err_name(refusals[_i].err), refusals[_i].said);
    ck_assert(uuid_equal(&version, &kit.catalog.version));
}
END_TEST

static const struct {
    const char *dropped, *added;
    bool fits;
} readded[] = {
    { "x int", "x int", true },
    { "x int", "x blob", true },
    { "x ascii", "x text", true },
    { "x frozen<line>", "x frozen<line>", true },
    { "x list<frozen<point>>", "x list<frozen<point>>", true },
    { "x int", "x text", false },
    { "x int", "x bigint", false },
    { "x text", "x ascii", false },
    { "x int", "x int STATIC", false },
    { "x int STATIC", "x int", false },
    { "x list<int>", "x frozen<list<int>>", false },
    { "x list<int>", "x blob", false },
    { "x set<int>", "x list<int>", false },
    { "x frozen<point>", "x frozen<line>", false },
};

START_TEST(a_dropped_column_comes_back_with_a_type_that_fits)
{
    kit_do(arena_printf(&kit.arena, "ALTER TABLE t ADD %s", readded[_i].dropped));
    kit_do("ALTER TABLE t DROP x");
    enum err err = kit_execute(arena_printf(&kit.arena, "ALTER TABLE t ADD %s", readded[_i].added));
    ck_assert_msg(err == (readded[_i].fits ? OK : ERR_INVALID), "%s", kit.report.text);
    if (err)
        ck_assert_ptr_nonnull(strstr(kit.report.text, "Cannot re-add previously dropped column"));
}
END_TEST

START_TEST(a_counter_never_comes_back)
{
    kit_do("CREATE TABLE m (k int PRIMARY KEY, a counter, b counter)");
    kit_do("ALTER TABLE m DROP a");
    ck_assert_int_eq(kit_execute("ALTER TABLE m ADD a counter"), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(kit.report.text, "previously dropped counter column a"));
    kit_do("ALTER TABLE m ADD c counter");
}
END_TEST

static const struct {
    const char *text, *change, *target, *name;
} events[] = {
    { "ALTER KEYSPACE ks WITH durable_writes = true", "UPDATED", "KEYSPACE", "" },
    { "ALTER TABLE t ADD x int", "UPDATED", "TABLE", "t" },
    { "ALTER TABLE t DROP v", "UPDATED", "TABLE", "t" },
    { "ALTER TABLE t RENAME k TO l", "UPDATED", "TABLE", "t" },
    { "ALTER TABLE t WITH comment = ''", "UPDATED", "TABLE", "t" },
    { "CREATE TYPE p (x int)", "CREATED", "TYPE", "p" },
    { "ALTER TYPE line ADD x int", "UPDATED", "TYPE", "line" },
    { "ALTER TYPE line RENAME a TO x", "UPDATED", "TYPE", "line" },
    { "DROP TYPE line", "DROPPED", "TYPE", "line" },
};

START_TEST(a_change_tells_what_it_was)
{
    struct cql_plan *plan = kit_prepare(events[_i].text);
    struct cql_action action;
    ck_assert_int_eq(kit_bind(plan, &action), OK);
    ck_assert_ptr_nonnull(action.change);
    ck_assert_str_eq(action.event.change, events[_i].change);
    ck_assert_str_eq(action.event.target, events[_i].target);
    ck_assert(bytes_equal(action.event.name, bytes_text(events[_i].name)));
    kit_change(&action);
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(a_prepared_change_sees_the_types_of_the_moment)
{
    struct cql_action action;
    struct cql_plan *create = kit_prepare("CREATE TABLE x (k int PRIMARY KEY, v frozen<line>)");
    struct cql_plan *add = kit_prepare("ALTER TABLE t ADD x list<frozen<line>>");
    kit_do("ALTER TYPE line ADD z int");
    ck_assert_int_eq(kit_bind(create, &action), OK);
    kit_change(&action);
    ck_assert_uint_eq(table("x")->columns[1].type->parts_count, 4);
    ck_assert_int_eq(kit_bind(add, &action), OK);
    kit_change(&action);
    kit_do("DROP TABLE x");
    kit_do("ALTER TABLE t DROP x");
    kit_do("DROP TYPE line");
    ck_assert_int_eq(kit_bind(create, &action), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(kit.report.text, "a user type is gone"));
    ck_assert_int_eq(kit_bind(add, &action), ERR_INVALID);
    ck_assert_ptr_null(action.change);
    cql_plan_unref(&create);
    cql_plan_unref(&add);
}
END_TEST

START_TEST(words_of_alter_are_names_elsewhere)
{
    kit_do("CREATE TABLE type (type int PRIMARY KEY, compact int, static int)");
    kit_do("ALTER TABLE type DROP compact");
    kit_do("ALTER TABLE type ADD compact int");
    kit_do("ALTER TABLE type RENAME type TO key");
    ck_assert_str_eq(columns("type"), "key int#0, compact int#3, static int#2");
    kit_do("CREATE TYPE type (type int)");
    kit_do("ALTER TYPE type RENAME type TO storage");
    kit_do("ALTER TABLE \"Odd\" RENAME \"K\" TO \"k\"\"\"");
    ck_assert_str_eq(columns("Odd"), "k\" int#0, v w int#1");
}
END_TEST

START_TEST(what_was_written_before_an_alter_is_read_after_it)
{
    kit_do("CREATE TABLE x (k int PRIMARY KEY, a int, b text)");
    kit_do("INSERT INTO x (k, a, b) VALUES (1, 2, 'b')");
    kit_do("ALTER TABLE x ADD aa int");
    ck_assert_str_eq(kit_select("SELECT * FROM x"), "1,2,null,b");
    kit_do("INSERT INTO x (k, aa) VALUES (1, 3)");
    kit_do("ALTER TABLE x DROP a");
    ck_assert_str_eq(kit_select("SELECT * FROM x"), "1,3,b");
    kit_do("ALTER TABLE x ADD a int");
    ck_assert_str_eq(kit_select("SELECT * FROM x"), "1,null,3,b"); /* another column */
    kit_do("ALTER TABLE x RENAME k TO key");
    ck_assert_str_eq(kit_select("SELECT key, b FROM x WHERE key = 1"), "1,b");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schema");
    TCase *tcase = tcase_create("schema");
    tcase_add_checked_fixture(tcase, setup, kit_teardown);
    tcase_add_loop_test(tcase, a_column_may_have_any_type_of_cassandras, 0, array_count(types));
    tcase_add_loop_test(tcase, a_key_may_have_any_frozen_type, 0, array_count(keys));
    tcase_add_test(tcase, static_and_regular_columns_stand_by_their_names);
    tcase_add_test(tcase, columns_are_dropped_and_come_back_as_others);
    tcase_add_test(tcase, what_was_altered_keeps_the_rest);
    tcase_add_test(tcase, the_chance_of_a_filter_stays_when_the_class_of_compaction_goes);
    tcase_add_test(tcase, types_are_altered_in_all_that_use_them);
    tcase_add_test(tcase, keyspaces_are_altered_in_what_is_named);
    tcase_add_test(tcase, a_table_that_names_no_compaction_gets_the_nodes);
    tcase_add_loop_test(tcase, what_is_there_or_gone_already_makes_no_change, 0, array_count(idle));
    tcase_add_test(tcase, of_several_columns_those_that_are_new_are_added);
    tcase_add_loop_test(tcase, a_change_that_cannot_be_is_refused_with_its_error, 0,
                        array_count(refusals));
    tcase_add_loop_test(tcase, a_dropped_column_comes_back_with_a_type_that_fits, 0,
                        array_count(readded));
    tcase_add_test(tcase, a_counter_never_comes_back);
    tcase_add_loop_test(tcase, a_change_tells_what_it_was, 0, array_count(events));
    tcase_add_test(tcase, a_prepared_change_sees_the_types_of_the_moment);
    tcase_add_test(tcase, words_of_alter_are_names_elsewhere);
    tcase_add_test(tcase, what_was_written_before_an_alter_is_read_after_it);
    suite_add_tcase(suite, tcase);
    return kit_main(suite);
}

/* test_catalog.c - altered tables and user types: what follows an ALTER, what refuses it, and that
 * tables and types never contradict each other.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "model/model.h"
#include "model/schema_type.h"

#include <check.h>

static struct arena arena;
static struct catalog catalog;

static enum err apply(const struct schema_change *change)
{
    struct buf out = buf_in(&arena);
    change_encode(change, &out);
    return catalog_apply(&catalog, catalog.epoch + 1, buf_bytes(&out));
}

static void setup(void)
{
    struct keyspace keyspace = { .name = "ks", .replication = REPLICATION_SIMPLE, .factor = 1 };
    arena_init(&arena, 65536);
    catalog_init(&catalog);
    ck_assert_int_eq(
        apply(&(struct schema_change){ CHANGE_CREATE_KEYSPACE, .keyspace = &keyspace }), OK);
}
static void teardown(void)
{
    catalog_deinit(&catalog);
    arena_deinit(&arena);
}

static const struct type *find(void *context, struct bytes name)
{
    (void)context;
    return catalog_type(&catalog, "ks", arena_text(&arena, name));
}
static const struct type *type_of(const char *text)
{
    const struct type *type;
    struct type_names names = { find, NULL };
    ck_assert_int_eq(type_parse_in(&arena, bytes_text(text), &names, &type), OK);
    return type_copy(&arena, type); /* the keyspace's own may go */
}
static const char *printed(const struct type *type)
{
    struct buf out = buf_in(&arena);
    type_print(type, &out);
    return arena_text(&arena, buf_bytes(&out));
}

/* `field type; field type` */
static struct type *definition(const char *name, const char *fields)
{
    struct type *type = arena_new(&arena, struct type);
    *type = (struct type){ .kind = TYPE_UDT, .keyspace = "ks", .name = name };
    type->parts = arena_array(&arena, const struct type *, 16);
    type->fields = arena_array(&arena, const char *, 16);
    while (*fields) {
        size_t field = strcspn(fields, " "), size = strcspn(fields, ";");
        type->fields[type->parts_count] = arena_text(&arena, bytes_of(fields, field));
        type->parts[type->parts_count++] =
            type_of(arena_text(&arena, bytes_of(fields + field + 1, size - field - 1)));
        fields += size + (fields[size] == ';');
    }
    return type;
}
static enum err type_change(enum change_kind kind, const char *name, const char *fields)
{
    return apply(&(struct schema_change){ kind, .type = definition(name, fields) });
}

/* `p`artition, `c`lustering, `s`tatic, `r`egular: `p k int; r v text`; numbers in that order. */
static struct table *table_of(const char *name, const char *columns)
{
    struct table *table = arena_new(&arena, struct table);
    table->keyspace = "ks", table->name = name;
    table->id = uuid_named(bytes_text(name));
    table->columns = arena_array(&arena, struct column, 16);
    while (*columns) {
        struct column *column = &table->columns[table->columns_count];
        size_t size = strcspn(columns, ";"), field = strcspn(columns + 2, " ");
        column->kind = (enum column_kind)(strchr("pcsr", *columns) - "pcsr");
        column->name = arena_text(&arena, bytes_of(columns + 2, field));
        column->type = type_of(arena_text(&arena, bytes_of(columns + field + 3, size - field - 3)));
        column->number = (uint32_t)table->columns_count++;
        column->position =
            (uint16_t)(column->kind == COLUMN_PARTITION    ? table->partition_count++
                       : column->kind == COLUMN_CLUSTERING ? table->clustering_count++
                                                           : 0);
        columns += size + (columns[size] == ';');
    }
    table->numbers_used = (uint32_t)table->columns_count;
    return table;
}
static enum err create_table(const char *name, const char *columns)
{
    struct table *table = table_of(name, columns);
    return apply(&(struct schema_change){ CHANGE_CREATE_TABLE, .table = table });
}
static enum err alter(struct table *table)
{
    const struct table *now = catalog_table(&catalog, "ks", table->name);
    return apply(&(struct schema_change){ CHANGE_ALTER_TABLE, .table = table,
                                          .base = now ? now->epoch : 0 });
}

START_TEST(a_column_is_added_and_dropped_and_its_number_is_never_used_again)
{
    ck_assert_int_eq(create_table("t", "p k int;c c int;s s int;r v int"), OK);
    struct table *before = catalog_table(&catalog, "ks", "t");
    table_ref(before);
    ck_assert_int_eq(alter(table_of("t", "p k int;c c int;s s int;r v int;r w text")), OK);
    struct table *now = catalog_table(&catalog, "ks", "t");
    ck_assert_ptr_ne(now, before);
    ck_assert(uuid_equal(&now->id, &before->id) && now->epoch == catalog.epoch);
    ck_assert_ptr_eq(catalog_table_by_id(&catalog, &now->id), now);
    ck_assert_uint_eq(now->numbers_used, 5);
    ck_assert_ptr_null(table_column(before, bytes_text("w")));
    table_unref(&before);

    struct table *dropped = table_of("t", "p k int;c c int;s s int;r v int");
    dropped->numbers_used = 5;
    dropped->dropped_count = 1;
    dropped->dropped = &(struct dropped_column){ "w", type_of("text"), COLUMN_REGULAR, 4, 1000 };
    ck_assert_int_eq(alter(dropped), OK);
    now = catalog_table(&catalog, "ks", "t");
    ck_assert_ptr_null(table_column_by_number(now, 4));
    ck_assert_uint_eq(now->numbers_used, 5);
    ck_assert_int_eq(now->dropped[0].dropped_at, 1000);

    struct table *again = table_of("t", "p k int;c c int;s s int;r v int;r w text");
    ck_assert_int_eq(alter(again), ERR_INVALID); /* with the number that it had */
    again->columns[4].number = 5, again->numbers_used = 6;
    again->dropped_count = 1, again->dropped = dropped->dropped;
    ck_assert_int_eq(alter(again), OK);
    ck_assert_str_eq(table_column_by_number(catalog_table(&catalog, "ks", "t"), 5)->name, "w");
}
END_TEST

START_TEST(a_key_may_get_another_name_and_nothing_else)
{
    static const char *const fits[] = { "p K int;c c int;r v int", "p k int;c d int;r v int" };
    static const char *const does_not[] = { "p k text;c c int;r v int", "p k int;c c text;r v int",
                                            "p k int;r c int;r v int",  "p k int;p c int;r v int",
                                            "p k int;c c int;r v text", "p k int;c c int;s v int" };
    ck_assert_int_eq(create_table("t", "p k int;c c int;r v int"), OK);
    for (size_t i = 0; i < array_count(does_not); i++)
        ck_assert_int_eq(alter(table_of("t", does_not[i])), ERR_INVALID);
    struct table *reversed = table_of("t", "p k int;c c int;r v int");
    reversed->columns[1].is_reversed = true;
    ck_assert_int_eq(alter(reversed), ERR_INVALID);
    for (size_t i = 0; i < array_count(fits); i++)
        ck_assert_int_eq(alter(table_of("t", fits[i])), OK);
    ck_assert_ptr_nonnull(table_column(catalog_table(&catalog, "ks", "t"), bytes_text("d")));
}
END_TEST

START_TEST(an_alter_needs_the_table_that_it_was_made_of)
{
    struct table *table = table_of("t", "p k int;r v int");
    struct schema_change change = { CHANGE_ALTER_TABLE, .table = table, .base = 2 };
    ck_assert_int_eq(apply(&change), ERR_NOT_FOUND);
    ck_assert_int_eq(create_table("t", "p k int;r v int"), OK);
    ck_assert_int_eq(apply(&change), ERR_INVALID);
    change.base = 3;
    ck_assert_int_eq(apply(&change), OK);
    ck_assert_int_eq(apply(&change), ERR_INVALID); /* it is another one now */
    table->id = uuid_named(bytes_text("other"));
    ck_assert_int_eq(alter(table), ERR_NOT_FOUND);
}
END_TEST

START_TEST(a_type_is_there_once_and_goes_when_nothing_holds_it)
{
    ck_assert_int_eq(type_change(CHANGE_DROP_TYPE, "a", ""), ERR_NOT_FOUND);
    ck_assert_int_eq(type_change(CHANGE_CREATE_TYPE, "a", "x int;y list<int>"), OK);
    ck_assert_int_eq(type_change(CHANGE_CREATE_TYPE, "a", "x int"), ERR_EXISTS);
    ck_assert_int_eq(type_change(CHANGE_CREATE_TYPE, "b", "a frozen<a>"), OK);
    ck_assert_int_eq(type_change(CHANGE_DROP_TYPE, "a", ""), ERR_INVALID);
    ck_assert_int_eq(create_table("t", "p k int;r v map<int, frozen<b>>"), OK);
    ck_assert_int_eq(type_change(CHANGE_DROP_TYPE, "b", ""), ERR_INVALID);
    ck_assert_ptr_nonnull(catalog_type(&catalog, "ks", "b"));
    struct table *table = table_of("t", "p k int");
    ck_assert_int_eq(apply(&(struct schema_change){ CHANGE_DROP_TABLE, .table = table }), OK);
    ck_assert_int_eq(type_change(CHANGE_DROP_TYPE, "b", ""), OK);
    ck_assert_int_eq(type_change(CHANGE_DROP_TYPE, "a", ""), OK);
    ck_assert_ptr_null(catalog_type(&catalog, "ks", "a"));
}
END_TEST

START_TEST(a_type_that_is_not_the_keyspaces_own_is_refused)
{
    ck_assert_int_eq(type_change(CHANGE_CREATE_TYPE, "a", "x int"), OK);
    struct table *table = table_of("t", "p k int;r v frozen<a>");
    struct type *b = definition("b", "a frozen<a>");
    ck_assert_int_eq(type_change(CHANGE_ALTER_TYPE, "a", "x int;y int"), OK);
    struct schema_change create = { CHANGE_CREATE_TABLE, .table = table };
    ck_assert_int_eq(apply(&create), ERR_INVALID);
    ck_assert_int_eq(apply(&(struct schema_change){ CHANGE_CREATE_TYPE, .type = b }), ERR_INVALID);
    ck_assert_int_eq(create_table("t", "p k int"), OK);
    table->columns[1].number = 1;
    ck_assert_int_eq(alter(table), ERR_INVALID);
    struct type *foreign = definition("a", "x int;y int");
    foreign->keyspace = "other";
    table->columns[1].type = foreign;
    ck_assert_int_eq(alter(table), ERR_INVALID);
}
END_TEST

START_TEST(an_altered_type_is_another_in_all_that_hold_it)
{
    ck_assert_int_eq(type_change(CHANGE_CREATE_TYPE, "a", "x int"), OK);
    ck_assert_int_eq(type_change(CHANGE_CREATE_TYPE, "b", "a frozen<a>;l list<int>"), OK);
    ck_assert_int_eq(create_table("t", "p k int;r u a;r v map<int, frozen<b>>"), OK);
    ck_assert_int_eq(create_table("u", "p k int;r v int"), OK);
    struct table *before = catalog_table(&catalog, "ks", "t");
    struct table *other = catalog_table(&catalog, "ks", "u");
    table_ref(before);
    ck_assert_int_eq(type_change(CHANGE_ALTER_TYPE, "a", "z int;y set<text>"), ERR_INVALID);
    ck_assert_int_eq(type_change(CHANGE_ALTER_TYPE, "a", "z int;y frozen<set<text>>"), OK);
    struct table *now = catalog_table(&catalog, "ks", "t");
    ck_assert_ptr_ne(now, before);
    ck_assert_ptr_eq(catalog_table(&catalog, "ks", "u"), other);
    ck_assert_uint_eq(now->epoch, catalog.epoch);
    ck_assert_uint_eq(before->columns[1].type->parts_count, 1);
    const struct type *u = now->columns[1].type, *b = now->columns[2].type->parts[1];
    ck_assert(!u->is_frozen && b->is_frozen && b->parts[0]->is_frozen);
    ck_assert_uint_eq(u->parts_count, 2);
    ck_assert_str_eq(u->fields[0], "z");
    ck_assert_uint_eq(b->parts[0]->parts_count, 2);
    ck_assert_str_eq(b->parts[0]->fields[1], "y");
    ck_assert_str_eq(printed(b->parts[0]->parts[1]), "frozen<set<text>>");
    ck_assert_uint_eq(catalog_type(&catalog, "ks", "b")->parts[0]->parts_count, 2);
    table_unref(&before);
}
END_TEST

START_TEST(a_type_keeps_its_fields_and_never_holds_itself)
{
    ck_assert_int_eq(type_change(CHANGE_ALTER_TYPE, "a", "x int"), ERR_NOT_FOUND);
    ck_assert_int_eq(type_change(CHANGE_CREATE_TYPE, "a", "x int;y int"), OK);
    ck_assert_int_eq(type_change(CHANGE_CREATE_TYPE, "b", "a frozen<a>"), OK);
    ck_assert_int_eq(type_change(CHANGE_ALTER_TYPE, "a", "x int"), ERR_INVALID);
    ck_assert_int_eq(type_change(CHANGE_ALTER_TYPE, "a", "x int;y text"), ERR_INVALID);
    ck_assert_int_eq(type_change(CHANGE_ALTER_TYPE, "a", "x int;y int;z frozen<a>"), ERR_INVALID);
    ck_assert_int_eq(type_change(CHANGE_ALTER_TYPE, "a", "x int;y int;z frozen<b>"), ERR_INVALID);
    ck_assert_uint_eq(catalog_type(&catalog, "ks", "a")->parts_count, 2);
}
END_TEST

START_TEST(a_type_that_would_make_a_column_too_deep_changes_nothing)
{
    char name[16], fields[64];
    ck_assert_int_eq(type_change(CHANGE_CREATE_TYPE, "t0", "x int"), OK);
    for (int i = 1; i < TYPE_DEPTH_MAX - 1; i++) {
        snprintf(name, sizeof name, "t%d", i);
        snprintf(fields, sizeof fields, "x frozen<t%d>", i - 1);
        ck_assert_int_eq(
            type_change(CHANGE_CREATE_TYPE, arena_text(&arena, bytes_text(name)), fields), OK);
    }
    snprintf(fields, sizeof fields, "p k int;r v frozen<%s>", name);
    ck_assert_int_eq(create_table("deep", fields), OK);
    struct table *table = catalog_table(&catalog, "ks", "deep");
    ck_assert_int_eq(type_change(CHANGE_ALTER_TYPE, "t0", "x int;y frozen<list<frozen<set<int>>>>"),
                     ERR_INVALID);
    ck_assert_ptr_eq(catalog_table(&catalog, "ks", "deep"), table);
    ck_assert_uint_eq(catalog_type(&catalog, "ks", "t0")->parts_count, 1);
    ck_assert_int_eq(type_change(CHANGE_ALTER_TYPE, "t0", "x int;y int"), OK);
    ck_assert_ptr_ne(catalog_table(&catalog, "ks", "deep"), table);
}
END_TEST

START_TEST(a_keyspace_is_altered_where_it_stands)
{
    struct datacenter_factor factors[] = { { "dc1", 3 } };
    struct keyspace *keyspace = catalog_keyspace(&catalog, "ks");
    struct keyspace to = { .name = "ks",
                           .replication = REPLICATION_TOPOLOGY,
                           .datacenters_count = 1,
                           .datacenters = factors,
                           .is_durable = true };
    ck_assert_int_eq(create_table("t", "p k int"), OK);
    ck_assert_int_eq(apply(&(struct schema_change){ CHANGE_ALTER_KEYSPACE, .keyspace = &to }), OK);
    ck_assert_ptr_eq(catalog_keyspace(&catalog, "ks"), keyspace);
    ck_assert(keyspace->replication == REPLICATION_TOPOLOGY && keyspace->is_durable);
    ck_assert_str_eq(keyspace->datacenters[0].name, "dc1");
    ck_assert_ptr_nonnull(catalog_table(&catalog, "ks", "t"));
    to.name = "none";
    ck_assert_int_eq(apply(&(struct schema_change){ CHANGE_ALTER_KEYSPACE, .keyspace = &to }),
                     ERR_NOT_FOUND);
}
END_TEST

/* Every user type in a column or in another type is the keyspace's own definition. */
static void types_agree(const struct type *type)
{
    if (type->kind == TYPE_UDT) {
        const struct type *known = catalog_type(&catalog, "ks", type->name);
        ck_assert_ptr_nonnull(known);
        ck_assert(type_same_definition(type->is_frozen ? type_frozen(&arena, known) : known, type));
    }
    for (size_t i = 0; i < type->parts_count; i++)
        types_agree(type->parts[i]);
}
static void catalog_agrees(void)
{
    const struct keyspace *keyspace = catalog_keyspace(&catalog, "ks");
    size_t at = 0;
    for (struct table *t; (t = map_next(&keyspace->tables, &at)) != NULL;)
        for (size_t i = 0; i < t->columns_count; i++)
            types_agree(t->columns[i].type);
    at = 0;
    for (struct user_type *t; (t = map_next(&keyspace->types, &at)) != NULL;)
        types_agree(t->type);
}

static const char *random_fields(struct prng *prng, size_t least)
{
    struct buf out = buf_in(&arena);
    size_t count = least + prng_below(prng, 2);
    for (size_t i = 0; i < count || i == 0; i++) {
        char name = (char)('a' + prng_below(prng, 4));
        bool is_udt = catalog_type(&catalog, "ks", (char[]){ name, 0 }) && prng_chance(prng, 50);
        buf_printf(&out, is_udt ? "%sf%zu frozen<%c>" : "%sf%zu int", i ? ";" : "", i, name);
    }
    return arena_text(&arena, buf_bytes(&out));
}

START_TEST(tables_and_types_agree_after_any_changes)
{
    struct prng prng = { (uint64_t)_i };
    unsigned done = 0;
    for (int i = 0; i < 200; i++) {
        static const enum change_kind kinds[] = { CHANGE_CREATE_TYPE, CHANGE_ALTER_TYPE,
                                                  CHANGE_ALTER_TYPE, CHANGE_DROP_TYPE };
        const char *name = arena_printf(&arena, "%c", (char)('a' + (char)prng_below(&prng, 4)));
        enum change_kind kind = kinds[prng_below(&prng, array_count(kinds))];
        const struct type *now = catalog_type(&catalog, "ks", name);
        const char *fields = random_fields(&prng, now ? now->parts_count : 1);
        if (prng_chance(&prng, 70)) {
            done += type_change(kind, name, fields) == OK;
        } else if (prng_chance(&prng, 70)) {
            size_t first = strcspn(fields, " ") + 1;
            const char *type =
                arena_text(&arena, bytes_of(fields + first, strcspn(fields + first, ";")));
            done += create_table(name, arena_printf(&arena, "p k int;r v %s", type)) == OK;
        } else {
            struct table *table = table_of(name, "p k int");
            done += apply(&(struct schema_change){ CHANGE_DROP_TABLE, .table = table }) == OK;
        }
        catalog_agrees();
    }
    ck_assert_uint_gt(done, 20);
}
END_TEST

START_TEST(types_are_copied_expanded_and_encoded_whole)
{
    static const char *const texts[] = { "int",
                                         "map<text, frozen<list<int>>>",
                                         "frozen<tuple<int, frozen<a>>>",
                                         "vector<float, 3>",
                                         "list<frozen<b>>",
                                         "b",
                                         "'org.example.Some'" };
    static const char *const expanded[] = { "int",
                                            "map<text, frozen<list<int>>>",
                                            "frozen<tuple<int, frozen<tuple<int>>>>",
                                            "vector<float, 3>",
                                            "list<frozen<tuple<frozen<tuple<int>>, text>>>",
                                            "frozen<tuple<frozen<tuple<int>>, text>>",
                                            "'org.example.Some'" };
    ck_assert_int_eq(type_change(CHANGE_CREATE_TYPE, "a", "x int"), OK);
    ck_assert_int_eq(type_change(CHANGE_CREATE_TYPE, "b", "a frozen<a>;t text"), OK);
    for (size_t i = 0; i < array_count(texts); i++) {
        const struct type *type = type_of(texts[i]);
        ck_assert(type_equal(type_copy(&arena, type), type));
        ck_assert_str_eq(printed(type_expanded(&arena, type)), expanded[i]);
        ck_assert(type_uses(type, "ks", "a") == (strchr("abf", texts[i][0]) || i == 4));
        ck_assert(!type_uses(type, "other", "a"));
        struct buf out = buf_in(&arena);
        type_encode(type, &out);
        struct cursor c = cursor_of(buf_bytes(&out));
        const struct type *decoded = type_decode(&c, &arena);
        ck_assert(!c.bad && cursor_left(&c) == 0);
        ck_assert(type_equal(decoded, type));
    }
}
END_TEST

START_TEST(a_type_as_bytes_ends_at_its_depth)
{
    const struct type *type = type_native(TYPE_INT);
    for (int depth = 1; depth <= TYPE_DEPTH_MAX + 1; depth++) {
        struct type *list = arena_new(&arena, struct type);
        *list = (struct type){ .kind = TYPE_LIST, .is_frozen = true, .parts_count = 1 };
        list->parts = arena_array(&arena, const struct type *, 1);
        list->parts[0] = type;
        type = list;
        struct buf out = buf_in(&arena);
        type_encode(type, &out);
        struct cursor c = cursor_of(buf_bytes(&out));
        ck_assert((type_decode(&c, &arena) != NULL) == (depth <= TYPE_DEPTH_MAX));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog");
    TCase *tcase = tcase_create("catalog");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_column_is_added_and_dropped_and_its_number_is_never_used_again);
    tcase_add_test(tcase, a_key_may_get_another_name_and_nothing_else);
    tcase_add_test(tcase, an_alter_needs_the_table_that_it_was_made_of);
    tcase_add_test(tcase, a_type_is_there_once_and_goes_when_nothing_holds_it);
    tcase_add_test(tcase, a_type_that_is_not_the_keyspaces_own_is_refused);
    tcase_add_test(tcase, an_altered_type_is_another_in_all_that_hold_it);
    tcase_add_test(tcase, a_type_keeps_its_fields_and_never_holds_itself);
    tcase_add_test(tcase, a_type_that_would_make_a_column_too_deep_changes_nothing);
    tcase_add_test(tcase, a_keyspace_is_altered_where_it_stands);
    tcase_add_loop_test(tcase, tables_and_types_agree_after_any_changes, 0, 50);
    tcase_add_test(tcase, types_are_copied_expanded_and_encoded_whole);
    tcase_add_test(tcase, a_type_as_bytes_ends_at_its_depth);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

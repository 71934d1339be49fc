/* test_schema.c - the catalog: changes survive their bytes, apply alike everywhere, and what does
 * not fit leaves nothing but an epoch.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

#include <check.h>

static struct arena arena;
static struct catalog catalog;
static void setup(void)
{
    arena_init(&arena, 65536);
    catalog_init(&catalog);
}
static void teardown(void)
{
    catalog_deinit(&catalog);
    arena_deinit(&arena);
}

static struct bytes encoded(const struct schema_change *change)
{
    struct buf out = buf_in(&arena);
    change_encode(change, &out);
    return buf_bytes(&out);
}

static struct bytes create_keyspace(const char *name)
{
    static struct datacenter_factor datacenters[] = { { "dc1", 3 }, { "dc2", 2 } };
    struct keyspace keyspace = { .name = name,
                                 .replication = REPLICATION_TOPOLOGY,
                                 .datacenters_count = 2,
                                 .datacenters = datacenters,
                                 .is_durable = true };
    struct schema_change change = { CHANGE_CREATE_KEYSPACE, .keyspace = &keyspace };
    return encoded(&change);
}

static struct bytes drop_keyspace(const char *name)
{
    struct keyspace keyspace = { .name = name };
    struct schema_change change = { CHANGE_DROP_KEYSPACE, .keyspace = &keyspace };
    return encoded(&change);
}

static struct bytes table_change(enum change_kind kind, const char *keyspace, const char *name)
{
    static const enum type_kind kinds[] = { TYPE_TIMEUUID, TYPE_INT };
    static const char *pairs[] = { "class", "UnifiedCompactionStrategy", "scaling", "" };
    static struct option options[] = { { "comment", "it's", 0, NULL },
                                       { "compaction", NULL, 2, pairs },
                                       { "extensions", NULL, 0, NULL } };
    struct table *table = sample_table(2, 2, kinds, 2);
    table->keyspace = keyspace, table->name = name;
    table->id = uuid_named(bytes_text(name));
    table->options_count = 3, table->options = options;
    ck_assert_int_eq(type_parse(&table->arena, bytes_text("map<text, frozen<list<int>>>"),
                                &table->columns[6].type),
                     OK);
    struct schema_change change = { kind, .table = table };
    struct bytes bytes = encoded(&change);
    table_unref(&table);
    return bytes;
}

static enum err apply(struct bytes change)
{
    return catalog_apply(&catalog, catalog.epoch + 1, change);
}

START_TEST(a_created_table_is_found_as_it_was_made)
{
    struct uuid id = uuid_named(bytes_text("t"));
    ck_assert_int_eq(apply(create_keyspace("ks")), OK);
    ck_assert_int_eq(apply(table_change(CHANGE_CREATE_TABLE, "ks", "t")), OK);
    const struct keyspace *keyspace = catalog_keyspace(&catalog, "ks");
    ck_assert_int_eq(keyspace->replication, REPLICATION_TOPOLOGY);
    ck_assert(keyspace->is_durable && !keyspace->is_system);
    ck_assert_uint_eq(keyspace->datacenters_count, 2);
    ck_assert_str_eq(keyspace->datacenters[1].name, "dc2");
    ck_assert_uint_eq(keyspace->datacenters[1].factor, 2);

    const struct table *table = catalog_table(&catalog, "ks", "t");
    ck_assert_ptr_nonnull(table);
    ck_assert_ptr_eq(catalog_table_by_id(&catalog, &id), table);
    ck_assert_uint_eq(table->epoch, 2);
    ck_assert_str_eq(table->keyspace, "ks");
    ck_assert_uint_eq(table->columns_count, 7);
    ck_assert(table->partition_count == 2 && table->clustering_count == 2);
    ck_assert_str_eq(table_partition(table, 1)->name, "k1");
    ck_assert_uint_eq(table_partition(table, 1)->position, 1);
    ck_assert(!table_clustering(table, 0)->is_reversed && table_clustering(table, 1)->is_reversed);
    ck_assert_ptr_eq(table_clustering(table, 0)->type, type_native(TYPE_TIMEUUID));
    const struct column *column = table_column(table, bytes_text("v2"));
    ck_assert_ptr_eq(column, table_column_by_number(table, 6));
    ck_assert(column->kind == COLUMN_REGULAR && column->type->kind == TYPE_MAP);
    ck_assert_ptr_null(table_column(table, bytes_text("v")));
    ck_assert_ptr_null(table_column_by_number(table, 7));
    ck_assert_uint_eq(table->options_count, 3);
    ck_assert_str_eq(table->options[0].value, "it's");
    ck_assert_uint_eq(table->options[1].pairs_count, 2);
    ck_assert_str_eq(table->options[1].pairs[1], "UnifiedCompactionStrategy");
    ck_assert_ptr_null(table->options[2].value);
}
END_TEST

START_TEST(what_does_not_fit_leaves_only_the_epoch)
{
    ck_assert_int_eq(apply(table_change(CHANGE_CREATE_TABLE, "ks", "t")), ERR_NOT_FOUND);
    ck_assert_int_eq(apply(drop_keyspace("ks")), ERR_NOT_FOUND);
    ck_assert_int_eq(apply(create_keyspace("ks")), OK);
    struct uuid version = catalog.version;
    ck_assert_int_eq(apply(create_keyspace("ks")), ERR_EXISTS);
    ck_assert_int_eq(apply(table_change(CHANGE_DROP_TABLE, "ks", "t")), ERR_NOT_FOUND);
    ck_assert_int_eq(apply(bytes_text("garbage")), ERR_CORRUPT);
    ck_assert(uuid_equal(&version, &catalog.version));
    ck_assert_uint_eq(catalog.epoch, 6);
    ck_assert_int_eq(apply(table_change(CHANGE_CREATE_TABLE, "ks", "t")), OK);
    ck_assert(!uuid_equal(&version, &catalog.version));
    version = catalog.version;
    ck_assert_int_eq(apply(table_change(CHANGE_CREATE_TABLE, "ks", "t")), ERR_EXISTS);
    catalog_advance(&catalog, catalog.epoch + 1);
    ck_assert(uuid_equal(&version, &catalog.version));
    ck_assert_uint_eq(catalog.epoch, 9);
}
END_TEST

START_TEST(a_drop_needs_the_id_of_what_it_drops)
{
    struct table other = { .keyspace = "ks", .name = "t", .id = uuid_named(bytes_text("else")) };
    struct schema_change change = { CHANGE_DROP_TABLE, .table = &other };
    ck_assert_int_eq(apply(create_keyspace("ks")), OK);
    ck_assert_int_eq(apply(table_change(CHANGE_CREATE_TABLE, "ks", "t")), OK);
    ck_assert_int_eq(apply(encoded(&change)), ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(catalog_table(&catalog, "ks", "t"));
    ck_assert_int_eq(apply(table_change(CHANGE_DROP_TABLE, "ks", "t")), OK);
    ck_assert_ptr_null(catalog_table(&catalog, "ks", "t"));
    ck_assert_ptr_null(catalog_table_by_id(&catalog, &other.id));
}
END_TEST

START_TEST(a_table_outlives_its_drop_for_who_holds_it)
{
    ck_assert_int_eq(apply(create_keyspace("ks")), OK);
    ck_assert_int_eq(apply(table_change(CHANGE_CREATE_TABLE, "ks", "t")), OK);
    struct table *table = catalog_table(&catalog, "ks", "t");
    struct uuid id = table->id;
    table_ref(table);
    ck_assert_int_eq(apply(drop_keyspace("ks")), OK);
    ck_assert_ptr_null(catalog_keyspace(&catalog, "ks"));
    ck_assert_ptr_null(catalog_table_by_id(&catalog, &id));
    ck_assert_str_eq(table->columns[0].name, "k0");
    table_unref(&table);
    ck_assert_ptr_null(table);
}
END_TEST

START_TEST(the_same_changes_give_the_same_version_and_others_another)
{
    struct catalog other;
    catalog_init(&other);
    ck_assert(uuid_equal(&other.version, &catalog.version));
    ck_assert(!uuid_is_zero(&other.version));
    ck_assert_int_eq(apply(create_keyspace("a")), OK);
    ck_assert_int_eq(catalog_apply(&other, 1, create_keyspace("a")), OK);
    ck_assert(uuid_equal(&other.version, &catalog.version));
    ck_assert_int_eq(apply(create_keyspace("b")), OK);
    ck_assert_int_eq(catalog_apply(&other, 2, create_keyspace("c")), OK);
    ck_assert(!uuid_equal(&other.version, &catalog.version));
    catalog_deinit(&other);
}
END_TEST

START_TEST(system_tables_are_there_and_cannot_be_changed)
{
    struct table *table = sample_table(1, 0, NULL, 0);
    table->keyspace = "system", table->name = "local";
    table->is_virtual = true;
    catalog_add_system(&catalog, table);
    ck_assert_ptr_eq(catalog_table(&catalog, "system", "local"), table);
    const struct keyspace *keyspace = catalog_keyspace(&catalog, "system");
    ck_assert(keyspace->is_system && keyspace->replication == REPLICATION_LOCAL);
    ck_assert_int_eq(apply(drop_keyspace("system")), ERR_NOT_FOUND);
    ck_assert_int_eq(apply(create_keyspace("system")), ERR_EXISTS);
    ck_assert_int_eq(apply(table_change(CHANGE_CREATE_TABLE, "system", "t")), ERR_NOT_FOUND);
    ck_assert_ptr_eq(catalog_table(&catalog, "system", "local"), table);
}
END_TEST

/* place (x int, "It's y" frozen<list<text>>) */
static struct bytes type_change(enum change_kind kind)
{
    const struct type *text = type_native(TYPE_TEXT);
    struct type list = { .kind = TYPE_LIST, .is_frozen = true, .parts_count = 1, .parts = &text };
    static const char *fields[] = { "x", "It's y" };
    const struct type *parts[] = { type_native(TYPE_INT), &list };
    struct type place = { .kind = TYPE_UDT,
                          .keyspace = "ks",
                          .name = "place",
                          .parts_count = 2,
                          .parts = parts,
                          .fields = fields };
    return encoded(&(struct schema_change){ kind, .type = &place });
}

static struct bytes alter_table(void)
{
    struct dropped_column dropped[] = { { "a", type_native(TYPE_INT), COLUMN_STATIC, 17, -5 },
                                        { "b", type_native(TYPE_TEXT), COLUMN_REGULAR, 9, 77 } };
    struct table *table = sample_table(1, 0, NULL, 0);
    table->numbers_used = 18;
    table->dropped_count = 2, table->dropped = dropped;
    struct schema_change change = { CHANGE_ALTER_TABLE, .table = table, .base = 300 };
    struct bytes bytes = encoded(&change);
    table_unref(&table);
    return bytes;
}

START_TEST(what_a_table_was_altered_by_survives_its_bytes)
{
    struct schema_change decoded;
    ck_assert_int_eq(change_decode(alter_table(), &arena, &decoded), OK);
    ck_assert_int_eq(decoded.kind, CHANGE_ALTER_TABLE);
    ck_assert_uint_eq(decoded.base, 300);
    ck_assert_uint_eq(decoded.table->numbers_used, 18);
    ck_assert_uint_eq(decoded.table->dropped_count, 2);
    const struct dropped_column *dropped = decoded.table->dropped;
    ck_assert_str_eq(dropped[0].name, "a");
    ck_assert(dropped[0].kind == COLUMN_STATIC && dropped[0].number == 17);
    ck_assert(dropped[0].dropped_at == -5 && dropped[0].type == type_native(TYPE_INT));
    ck_assert_str_eq(dropped[1].name, "b");
    ck_assert_int_eq(change_decode(type_change(CHANGE_ALTER_TYPE), &arena, &decoded), OK);
    ck_assert_str_eq(decoded.type->name, "place");
    ck_assert_str_eq(decoded.type->fields[1], "It's y");
    ck_assert(decoded.type->parts[1]->kind == TYPE_LIST && decoded.type->parts[1]->is_frozen);
}
END_TEST

/* A table as the first version wrote it: k text, v int, WITH comment = 'c'. */
START_TEST(a_change_of_the_first_version_is_read)
{
    struct schema_change decoded;
    struct buf out = buf_in(&arena);
    struct uuid id = uuid_named(bytes_text("t"));
    buf_put(&out, "\x01\x03\x02ks\x01t", 7);
    buf_put(&out, id.b, sizeof id.b);
    buf_put(&out, "\x02\x01k\x04text\x00\x00\x00\x00", 12);
    buf_put(&out, "\x01v\x03int\x03\x01\x00\x00", 10);
    buf_put(&out,
            "\x01\x07"
            "comment\x00\x01"
            "c",
            12);
    ck_assert_int_eq(change_decode(buf_bytes(&out), &arena, &decoded), OK);
    ck_assert_uint_eq(decoded.table->columns_count, 2);
    ck_assert_uint_eq(decoded.table->numbers_used, 2);
    ck_assert_ptr_eq(decoded.table->columns[1].type, type_native(TYPE_INT));
    ck_assert_str_eq(decoded.table->params->comment, "c");
    ck_assert_uint_eq(decoded.table->dropped_count, 0);
    out.data[1] = CHANGE_CREATE_TYPE; /* there were no types then */
    ck_assert_int_eq(change_decode(buf_bytes(&out), &arena, &decoded), ERR_CORRUPT);
    out.data[0] = 3;
    ck_assert_int_eq(change_decode(buf_bytes(&out), &arena, &decoded), ERR_CORRUPT);
}
END_TEST

START_TEST(options_that_are_wrong_do_not_cost_the_table)
{
    struct option options[] = { { "comment", "kept", 0, NULL },
                                { "gc_grace_seconds", "-1", 0, NULL } };
    struct table *table = sample_table(1, 0, NULL, 0);
    table->options_count = 2, table->options = options;
    struct bytes create = encoded(&(struct schema_change){ CHANGE_CREATE_TABLE, .table = table });
    table_unref(&table);
    ck_assert_int_eq(apply(create_keyspace("ks")), OK);
    ck_assert_int_eq(apply(create), OK);
    const struct table *made = catalog_table(&catalog, "ks", "t");
    ck_assert_str_eq(made->params->comment, "kept");
    ck_assert_int_eq(made->params->gc_grace_seconds, 864000);
}
END_TEST

START_TEST(a_change_cut_or_flipped_is_corrupt_or_another_change)
{
    struct bytes changes[] = { create_keyspace("ks"),
                               drop_keyspace("ks"),
                               table_change(CHANGE_CREATE_TABLE, "ks", "t"),
                               table_change(CHANGE_DROP_TABLE, "ks", "t"),
                               alter_table(),
                               type_change(CHANGE_CREATE_TYPE),
                               type_change(CHANGE_ALTER_TYPE),
                               type_change(CHANGE_DROP_TYPE) };
    struct schema_change decoded;
    for (size_t i = 0; i < array_count(changes); i++)
        for (size_t at = 0; at < changes[i].size; at++) {
            struct arena scratch = { 0 };
            struct bytes cut = arena_copy(&scratch, bytes_of(changes[i].data, at));
            ck_assert_int_eq(change_decode(cut, &scratch, &decoded), ERR_CORRUPT);
            for (unsigned flip = 1; flip < 256; flip = flip * 2 + 1) {
                uint8_t *copy = arena_alloc(&scratch, changes[i].size);
                memcpy(copy, changes[i].data, changes[i].size);
                copy[at] ^= (uint8_t)flip;
                struct bytes flipped = bytes_of(copy, changes[i].size);
                enum err err = change_decode(flipped, &scratch, &decoded);
                ck_assert(err == OK || err == ERR_CORRUPT);
                if (err == OK) /* what decodes means exactly these bytes' content */
                    ck_assert_uint_gt(encoded(&decoded).size, 0);
            }
            ck_assert_uint_le(scratch.used_bytes, 20 * (64 * changes[i].size + 4096));
            arena_deinit(&scratch);
        }
}
END_TEST

START_TEST(flipped_changes_leave_a_catalog_that_works)
{
    struct bytes create = table_change(CHANGE_CREATE_TABLE, "ks", "t");
    for (size_t at = 0; at < create.size; at++) {
        uint8_t *copy = arena_alloc(&arena, create.size);
        memcpy(copy, create.data, create.size);
        copy[at] ^= 1;
        catalog_deinit(&catalog);
        catalog_init(&catalog);
        ck_assert_int_eq(apply(create_keyspace("ks")), OK);
        enum err err = apply(bytes_of(copy, create.size));
        ck_assert(err == OK || err == ERR_CORRUPT || err == ERR_NOT_FOUND);
        ck_assert_uint_eq(catalog.tables.count, err == OK ? 1 : 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schema");
    TCase *tcase = tcase_create("catalog");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_created_table_is_found_as_it_was_made);
    tcase_add_test(tcase, what_does_not_fit_leaves_only_the_epoch);
    tcase_add_test(tcase, a_drop_needs_the_id_of_what_it_drops);
    tcase_add_test(tcase, a_table_outlives_its_drop_for_who_holds_it);
    tcase_add_test(tcase, the_same_changes_give_the_same_version_and_others_another);
    tcase_add_test(tcase, system_tables_are_there_and_cannot_be_changed);
    tcase_add_test(tcase, what_a_table_was_altered_by_survives_its_bytes);
    tcase_add_test(tcase, a_change_of_the_first_version_is_read);
    tcase_add_test(tcase, options_that_are_wrong_do_not_cost_the_table);
    tcase_add_test(tcase, a_change_cut_or_flipped_is_corrupt_or_another_change);
    tcase_add_test(tcase, flipped_changes_leave_a_catalog_that_works);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

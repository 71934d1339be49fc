/* test_buf.c - growing buffers, cursors that cannot run over, and the vints of
 * facts/sstable-big-oa.md 0.1.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/buf.h"
#include "base/prng.h"

#include <check.h>

struct vint {
    uint64_t value;
    size_t size;
    const char *bytes;
};

static const struct vint vints[] = {
    { 0, 1, "\x00" },
    { 127, 1, "\x7f" },
    { 128, 2, "\x80\x80" },
    { 255, 2, "\x80\xff" },
    { 300, 2, "\x81\x2c" },
    { 16383, 2, "\xbf\xff" },
    { 16384, 3, "\xc0\x40\x00" },
    { 2097151, 3, "\xdf\xff\xff" },
    { 2097152, 4, "\xe0\x20\x00\x00" },
    { UINT32_MAX, 5, "\xf0\xff\xff\xff\xff" },
    { (uint64_t)1 << 49, 8, "\xfe\x02\x00\x00\x00\x00\x00\x00" },
    { (uint64_t)1 << 56, 9, "\xff\x01\x00\x00\x00\x00\x00\x00\x00" },
    { UINT64_MAX, 9, "\xff\xff\xff\xff\xff\xff\xff\xff\xff" },
};

START_TEST(a_vint_is_written_and_read_as_in_cassandra)
{
    const struct vint *v = &vints[_i];
    struct buf b = { 0 };
    buf_put_vint(&b, v->value);
    ck_assert_uint_eq(b.size, v->size);
    ck_assert_uint_eq(vint_size(v->value), v->size);
    ck_assert_mem_eq(b.data, v->bytes, v->size);
    struct cursor c = cursor_of(buf_bytes(&b));
    ck_assert_uint_eq(cursor_vint(&c), v->value);
    ck_assert(!c.bad && cursor_left(&c) == 0);
    buf_deinit(&b);
}
END_TEST

struct signed_vint {
    int64_t value;
    size_t size;
    const char *bytes;
};

static const struct signed_vint signed_vints[] = {
    { 0, 1, "\x00" },
    { -1, 1, "\x01" },
    { 1, 1, "\x02" },
    { -64, 1, "\x7f" },
    { 64, 2, "\x80\x80" },
    { -60166, 3, "\xc1\xd6\x0b" },
    { INT32_MAX, 5, "\xf0\xff\xff\xff\xfe" },
    { INT64_MIN, 9, "\xff\xff\xff\xff\xff\xff\xff\xff\xff" },
    { INT64_MAX, 9, "\xff\xff\xff\xff\xff\xff\xff\xff\xfe" },
};

START_TEST(a_signed_vint_is_zigzag)
{
    const struct signed_vint *v = &signed_vints[_i];
    struct buf b = { 0 };
    buf_put_signed_vint(&b, v->value);
    ck_assert_uint_eq(b.size, v->size);
    ck_assert_mem_eq(b.data, v->bytes, v->size);
    struct cursor c = cursor_of(buf_bytes(&b));
    ck_assert_int_eq(cursor_signed_vint(&c), v->value);
    ck_assert(!c.bad);
    buf_deinit(&b);
}
END_TEST

START_TEST(vints_of_every_length_come_back_and_do_not_when_cut)
{
    struct prng prng = { 3 };
    struct buf b = { 0 };
    bool ok = true;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t v = prng_next(&prng);
        v >>= prng_below(&prng, 64);
        buf_clear(&b);
        buf_put_vint(&b, v);
        struct cursor c = cursor_of(buf_bytes(&b));
        ok = ok && b.size == vint_size(v) && cursor_vint(&c) == v && !c.bad;
        for (size_t cut = 0; cut < b.size; cut++) {
            struct cursor short_one = cursor_of(bytes_of(b.data, cut));
            ok = ok && cursor_vint(&short_one) == 0 && short_one.bad;
        }
    }
    ck_assert(ok);
    buf_deinit(&b);
}
END_TEST

START_TEST(a_cursor_fails_once_and_stays_failed)
{
    struct cursor c = cursor_of(bytes_of("\x01\x02\x03", 3));
    ck_assert_uint_eq(cursor_be16(&c), 0x0102);
    ck_assert_uint_eq(cursor_be32(&c), 0);
    ck_assert(c.bad);
    ck_assert_uint_eq(cursor_u8(&c), 0);
    ck_assert_uint_eq(cursor_bytes(&c, 0).size, 0);
    ck_assert_ptr_null(cursor_sized(&c).data);
    ck_assert(c.bad);
}
END_TEST

START_TEST(a_lying_count_is_bad)
{
    struct buf b = { 0 };
    buf_put_vint(&b, 4);
    buf_put_text(&b, "abcdefgh");
    struct cursor honest = cursor_of(buf_bytes(&b)), lying = honest;
    ck_assert_uint_eq(cursor_count(&honest, 2), 4);
    ck_assert(!honest.bad);
    ck_assert_uint_eq(cursor_count(&lying, 3), 0);
    ck_assert(lying.bad);
    buf_clear(&b);
    buf_put_vint(&b, UINT64_MAX);
    struct cursor huge = cursor_of(buf_bytes(&b));
    ck_assert_ptr_null(cursor_sized(&huge).data);
    ck_assert(huge.bad);
    buf_deinit(&b);
}
END_TEST

static void fill_and_check(struct buf *b)
{
    for (unsigned i = 0; i < 3000; i++) {
        buf_put_u8(b, (uint8_t)i);
        buf_put_be16(b, (uint16_t)i);
        buf_put_be32(b, i);
        buf_put_be64(b, i);
        buf_put_sized(b, bytes_text("sized"));
        buf_printf(b, "%u ", i);
    }
    struct cursor c = cursor_of(buf_bytes(b));
    for (unsigned i = 0; i < 3000; i++) {
        char text[16];
        ck_assert_uint_eq(cursor_u8(&c), (uint8_t)i);
        ck_assert_uint_eq(cursor_be16(&c), (uint16_t)i);
        ck_assert_uint_eq(cursor_be32(&c), i);
        ck_assert_uint_eq(cursor_be64(&c), i);
        ck_assert(bytes_equal(cursor_sized(&c), bytes_text("sized")));
        size_t size = (size_t)snprintf(text, sizeof text, "%u ", i);
        ck_assert(bytes_equal(cursor_bytes(&c, size), bytes_of(text, size)));
    }
    ck_assert(!c.bad && cursor_left(&c) == 0);
}

START_TEST(a_buffer_grows_on_the_heap)
{
    struct buf b = { 0 };
    fill_and_check(&b);
    buf_deinit(&b);
    ck_assert(b.data == NULL && b.room == 0);
}
END_TEST

START_TEST(a_buffer_grows_in_an_arena_also_when_others_allocate)
{
    struct arena arena;
    arena_init(&arena, 4096);
    struct buf b = buf_in(&arena);
    fill_and_check(&b);
    struct buf again = buf_in(&arena);
    for (unsigned i = 0; i < 1000; i++) {
        buf_put_be32(&again, i);
        memset(arena_alloc(&arena, 8), 0xff, 8);
    }
    for (unsigned i = 0; i < 1000; i++)
        ck_assert_uint_eq(get_be32(again.data + 4 * i), i);
    buf_deinit(&b);
    arena_deinit(&arena);
}
END_TEST

START_TEST(a_printed_text_of_any_length_fits)
{
    for (int size = 0; size < 300; size++) {
        struct buf b = { 0 };
        buf_printf(&b, "%*s", size, "");
        buf_printf(&b, "%s", "end");
        ck_assert_uint_eq(b.size, (size_t)size + 3);
        ck_assert_mem_eq(b.data + size, "end", 3);
        buf_deinit(&b);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("buf");
    TCase *t = tcase_create("buf");
    tcase_add_loop_test(t, a_vint_is_written_and_read_as_in_cassandra, 0, (int)array_count(vints));
    tcase_add_loop_test(t, a_signed_vint_is_zigzag, 0, (int)array_count(signed_vints));
    tcase_add_test(t, vints_of_every_length_come_back_and_do_not_when_cut);
    tcase_add_test(t, a_cursor_fails_once_and_stays_failed);
    tcase_add_test(t, a_lying_count_is_bad);
    tcase_add_test(t, a_buffer_grows_on_the_heap);
    tcase_add_test(t, a_buffer_grows_in_an_arena_also_when_others_allocate);
    tcase_add_test(t, a_printed_text_of_any_length_fits);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}

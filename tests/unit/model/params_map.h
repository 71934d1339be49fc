/* params_map.h - options that are maps, written as one text, and what came of them. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/model.h"

#include <check.h>

static struct arena arena;
static struct table_params params;
static void setup(void)
{
    arena_init(&arena, 65536);
    params = table_params_default;
}
static void teardown(void) { arena_deinit(&arena); }

/* `name: value, name: value` as a map; "": an empty one. */
static struct option map_of(const char *name, const char *text)
{
    struct option map = { .name = name };
    map.pairs = arena_array(&arena, const char *, 40);
    while (*text) {
        size_t key = strcspn(text, ":"), value = strcspn(text + key, ";");
        map.pairs[2 * map.pairs_count] = arena_text(&arena, bytes_of(text, key));
        map.pairs[2 * map.pairs_count++ + 1] =
            arena_text(&arena, bytes_of(text + key + 2, value - 2));
        text += key + value;
        text += strspn(text, "; ");
    }
    return map;
}

static struct report said; /* of the last map */

static enum err put_map(const char *name, const char *text)
{
    struct option option = map_of(name, text);
    said = (struct report){ 0 };
    enum err err = table_params_put(&params, &arena, &option, &said);
    ck_assert_int_eq(said.err, err);
    return err;
}

static const char *shown(size_t count, const char *const *pairs)
{
    struct buf out = buf_in(&arena);
    for (size_t i = 0; i < count; i++)
        buf_printf(&out, "%s%s: %s", i ? "; " : "", pairs[2 * i], pairs[2 * i + 1]);
    return arena_text(&arena, buf_bytes(&out));
}

/* setting.h - a setting as data, and values of its kinds.  Private to config/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "config/config.h"

enum setting_kind {
    SETTING_TEXT,
    SETTING_ADDRESS,
    SETTING_TEXTS,
    SETTING_SEEDS,
    SETTING_COUNT,
    SETTING_NS,
    SETTING_BYTES,
    SETTING_RATE,
    SETTING_CHOICE,
    SETTING_COMPACTION,
};

struct setting {
    const char *name;
    enum setting_kind kind;
    size_t offset; /* of its field in struct config */
    const char *initial, *allowed, *text;
};

/* By enum config_key. */
const struct setting *setting_at(enum config_key);
/* NULL when there is none.  `seeds` is seed_provider's short name. */
const struct setting *setting_find(struct bytes name);
enum config_key setting_key(const struct setting *);
/* The known name that is most like this one, or NULL when none is near. */
const char *setting_nearest(struct bytes name);
/* The place of its field. */
void *setting_field(const struct setting *, struct config *);

/* Puts a single value into its field; what is kept is `text` itself.  On ERR_CONFIG the reason
 * stands in `why`, a sentence without place or name. */
enum err setting_put(const struct setting *, struct config *, const char *text, struct buf *why);
/* "1 to 1024", "-1, or 1 to 1024", "one of group, batch, periodic", or the words. */
void setting_print_allowed(const struct setting *, struct buf *out);
/* A value as the file has it; only for kinds of a single value. */
void setting_print(const struct setting *, const struct config *, struct buf *out);
/* A text as YAML, in quotes where it needs them. */
void setting_print_text(const char *text, struct buf *out);

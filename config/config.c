/* config.c - the defaults.
 *
 * A default stands in the table as the text that a file would have, and goes the way that a file's
 * value goes, so the table cannot hold a default that it forbids.
 */
// SPDX-License-Identifier: Apache-2.0
#include "config/setting.h"

/* The initial text is a member of a static table, so its address lasts. */
static void initial_put(const struct setting *s, struct config *config)
{
    if (s->kind == SETTING_COMPACTION)
        return; /* zeros: not set */
    if (s->kind == SETTING_TEXTS || s->kind == SETTING_SEEDS) {
        *(struct config_texts *)setting_field(s, config) = (struct config_texts){ &s->initial, 1 };
        return;
    }
    struct buf why = { 0 };
    enum err err = setting_put(s, config, s->initial, &why);
    ensure(err == OK);
    buf_deinit(&why);
}

void config_defaults(struct config *config)
{
    *config = (struct config){ 0 };
    for (int key = 0; key < CONFIG_KEYS_COUNT; key++)
        initial_put(setting_at((enum config_key)key), config);
}

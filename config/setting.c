/* setting.c - the table as data, and finding a setting by name.
 *
 * A name that is not there is answered with the nearest one that is: by prefix first, since
 * cassandra.yaml's old names are the present ones with a unit behind (read_request_timeout_in_ms),
 * then by the count of letters to change.
 */
// SPDX-License-Identifier: Apache-2.0
#include "config/setting.h"

#define OFFSET_TEXT(name) offsetof(struct config, name)
#define OFFSET_ADDRESS(name) offsetof(struct config, name)
#define OFFSET_TEXTS(name) offsetof(struct config, name)
#define OFFSET_SEEDS(name) offsetof(struct config, seeds)
#define OFFSET_COUNT(name) offsetof(struct config, name)
#define OFFSET_NS(name) offsetof(struct config, name##_ns)
#define OFFSET_BYTES(name) offsetof(struct config, name##_bytes)
#define OFFSET_RATE(name) offsetof(struct config, name##_bytes_per_second)
#define OFFSET_CHOICE(name) offsetof(struct config, name)
#define OFFSET_COMPACTION(name) offsetof(struct config, name)

static const struct setting settings[CONFIG_KEYS_COUNT] = {
#define ROW(kind, name, initial, allowed, text) \
    [CONFIG_KEY_##name] = { #name, SETTING_##kind, OFFSET_##kind(name), initial, allowed, text },
    CONFIG_SETTINGS(CONFIG_NOTHING, ROW)
#undef ROW
};

const struct setting *setting_at(enum config_key key)
{
    ensure((unsigned)key < CONFIG_KEYS_COUNT);
    return &settings[key];
}

enum config_key setting_key(const struct setting *s)
{
    ensure(s >= settings && s < settings + CONFIG_KEYS_COUNT);
    return (enum config_key)(s - settings);
}

const struct setting *setting_find(struct bytes name)
{
    if (bytes_equal(name, bytes_text("seeds")))
        return &settings[CONFIG_KEY_seed_provider];
    for (size_t i = 0; i < CONFIG_KEYS_COUNT; i++)
        if (bytes_equal(name, bytes_text(settings[i].name)))
            return &settings[i];
    return NULL;
}

void *setting_field(const struct setting *s, struct config *config)
{
    return (char *)config + s->offset;
}

enum { NAME_BYTES_MAX = 63 };

/* How many letters must be added, taken or changed to make one name of the other. */
static size_t letters_apart(struct bytes a, struct bytes b)
{
    size_t row[NAME_BYTES_MAX + 1];
    ensure(b.size <= NAME_BYTES_MAX);
    for (size_t j = 0; j <= b.size; j++)
        row[j] = j;
    for (size_t i = 0; i < a.size; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b.size; j++) {
            size_t changed = diagonal + (a.data[i] != b.data[j]);
            diagonal = row[j + 1];
            row[j + 1] = u64_min(changed, u64_min(diagonal, row[j]) + 1);
        }
    }
    return row[b.size];
}

static bool is_prefix(struct bytes shorter, struct bytes longer)
{
    return shorter.size <= longer.size && memcmp(shorter.data, longer.data, shorter.size) == 0;
}

const char *setting_nearest(struct bytes name)
{
    const char *nearest = NULL;
    size_t least = name.size / 3 + 1;
    if (name.size < 3 || name.size > NAME_BYTES_MAX)
        return NULL;
    for (size_t i = 0; i < CONFIG_KEYS_COUNT; i++) {
        struct bytes known = bytes_text(settings[i].name);
        if (is_prefix(known, name) || (name.size >= 8 && is_prefix(name, known)))
            return settings[i].name;
        size_t apart = letters_apart(name, known);
        if (apart < least) {
            least = apart;
            nearest = settings[i].name;
        }
    }
    return nearest;
}

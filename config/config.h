/* config.h - the settings of a node: rondo.yaml, checked and with units.
 *
 * The facade of config/.  It parses text that the caller has read, and prints text for the caller
 * to write: no I/O here.  What is said twice, misspelt, of the wrong type or out of range stops
 * with one sentence:
 *
 *     rondo.yaml:12:23: read_request_timeout: '5' has no unit; a duration is 10s, 500ms or 1h;
 *     allowed: 10ms to 1h
 *
 *     settings.h   the table: name, kind, default, allowed, text
 *     setting.h    a setting as data: reading and printing a value of each kind
 *     parse.c      YAML events to settings        check.c    what settings demand of one another
 *     print.c      the commented file
 *     tree.h       files of another shape (sweeps, tables): any YAML as a tree with its places
 *
 *     config_defaults(&config);
 *     err = config_parse(&config, &arena, path, text, &report);
 *     if (err == OK)
 *         err = config_check(&config, &report);
 *
 * Limits: zeros that mean "computed" (memory_limit_bytes, shards, ...) stay zeros; node/ computes,
 * since only it knows the machine.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"
#include "config/settings.h"
#include "config/tree.h"

struct arena;
struct buf;

/* In the order of the table's choices. */
enum config_commitlog_sync { CONFIG_SYNC_GROUP, CONFIG_SYNC_BATCH, CONFIG_SYNC_PERIODIC };
enum config_commitlog_compression { CONFIG_LOG_PLAIN, CONFIG_LOG_LZ4 };
enum config_allow_insecure { CONFIG_LOOPBACK_ONLY, CONFIG_INSECURE_ALLOWED };
enum config_native_transport_throw_on_overload {
    CONFIG_THROW_ON_OVERLOAD_FALSE,
    CONFIG_THROW_ON_OVERLOAD_TRUE
};
enum config_hinted_handoff_enabled { CONFIG_HANDOFF_TRUE, CONFIG_HANDOFF_FALSE };
enum config_hints_compression { CONFIG_HINTS_PLAIN, CONFIG_HINTS_LZ4 };
enum config_auto_snapshot { CONFIG_SNAPSHOT_TRUE, CONFIG_SNAPSHOT_FALSE };
enum config_scylla_sharding { CONFIG_SHARDING_OFF, CONFIG_SHARDING_ON };
enum config_storage_compatibility_mode { CONFIG_CASSANDRA_4, CONFIG_UPGRADING, CONFIG_NONE };
enum config_log_level { CONFIG_LOG_DEBUG, CONFIG_LOG_INFO, CONFIG_LOG_WARN, CONFIG_LOG_ERROR };

enum { CONFIG_TEXTS_MAX = 64, CONFIG_PAIRS_MAX = 16 };

struct config_texts {
    const char *const *items;
    size_t count; /* 1 .. CONFIG_TEXTS_MAX */
};

struct config_pair {
    const char *name, *value;
};
struct config_compaction {
    const char *class_name; /* without org.apache...; NULL: not set */
    struct config_pair pairs[CONFIG_PAIRS_MAX];
    size_t pairs_count;
};

/* Where in the file a setting's name stood; line 0: not there. */
struct config_place {
    unsigned line, column;
};

#define CONFIG_NOTHING(title)
#define CONFIG_KEY(kind, name, initial, allowed, text) CONFIG_KEY_##name,
enum config_key { CONFIG_SETTINGS(CONFIG_NOTHING, CONFIG_KEY) CONFIG_KEYS_COUNT };
#undef CONFIG_KEY

#define CONFIG_FIELD_TEXT(name) const char *name
#define CONFIG_FIELD_ADDRESS(name) const char *name
#define CONFIG_FIELD_TEXTS(name) struct config_texts name
#define CONFIG_FIELD_SEEDS(name) struct config_texts seeds
#define CONFIG_FIELD_COUNT(name) int name
#define CONFIG_FIELD_NS(name) uint64_t name##_ns
#define CONFIG_FIELD_BYTES(name) uint64_t name##_bytes
#define CONFIG_FIELD_RATE(name) uint64_t name##_bytes_per_second
#define CONFIG_FIELD_CHOICE(name) enum config_##name name
#define CONFIG_FIELD_COMPACTION(name) struct config_compaction name
#define CONFIG_FIELD(kind, name, initial, allowed, text) CONFIG_FIELD_##kind(name);

/* Texts are never NULL; one that is not set is "".  They live as long as the arena of config_parse,
 * the defaults for ever. */
struct config {
    CONFIG_SETTINGS(CONFIG_NOTHING, CONFIG_FIELD)
    const char *file_name; /* NULL: defaults only */
    struct config_place places[CONFIG_KEYS_COUNT];
};

/* The table's defaults: a node on loopback with its data in ./rondo-data. */
void config_defaults(struct config *);
/* Puts what the text says into the config and leaves the rest as it is; texts are copied to the
 * arena.  ERR_CONFIG with the sentence, file:line:column first, at the first thing that is wrong
 * (the config is then half changed).  `file_name` must live as long as the config. */
enum err config_parse(struct config *, struct arena *, const char *file_name, struct bytes text,
                      struct report *);
/* What settings demand of one another: OK, or ERR_CONFIG with the sentence. */
enum err config_check(const struct config *, struct report *);
/* The whole file, every setting with its text; NULL: the sample that is shipped, which is the
 * defaults with the unified compaction at T4. */
void config_print(const struct config *, struct buf *out);

/* sweep.h - a sweep: one stream of writes under many settings.  What the file says, what came of
 * it.
 *
 *     sweep_file.c, sweep_setting.c  the file       sweep_model.c   what the formulas predict
 *     sweep.c         the command                   sweep_engine.c  one setting, measured on a
 * store sweep_rows.c    rows of results, as JSON, kept in the folder sweep_table.c   ... as a table
 * sweep_page.c, sweep_draw.c  ... as a page
 *
 * The stream loads `rows` documents, register by register, in `load_flushes` even parts, and then
 * updates `updates` rows drawn at random, with repetition, in `update_flushes` even parts; after
 * each part the memtable is flushed.  So it has the same flushes whatever is measured.  A stop is
 * the place after one of them, once compaction has nothing left to do.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/stand.h"

enum { SWEEP_STOPS_MAX = 32, SWEEP_SETTINGS_MAX = 32, SWEEP_SPREAD = 16 };

struct sweep_setting {
    const char *name;
    const char *form; /* settings of the same form have the same floor: partition, compression */
    enum stand_partition partition;
    const char *options; /* of the table, as CQL writes them behind WITH; sizes scaled */
};
struct sweep {
    uint64_t fingerprint; /* of the file, its table, the rows asked for and this version */
    const char *title;    /* "what is this": one line for the page */
    struct stand stand;
    uint64_t rows, updates, load_flushes, update_flushes, seed;
    size_t chosen_count;
    const struct stand_column *chosen[STAND_COLUMNS_MAX]; /* that updates write */
    double scale;   /* of everything that strategies measure in bytes */
    unsigned nodes; /* 0: the engine alone */
    uint64_t reads; /* at each stop, warm */
    uint64_t cold_reads;
    size_t stops_count;
    uint64_t stops[SWEEP_STOPS_MAX]; /* flushes, ascending */
    size_t settings_count;
    struct sweep_setting settings[SWEEP_SETTINGS_MAX];
};

/* Reads a sweep from its text; `folder` is where `table: path` is looked up.  `rows` not 0: scaled
 * to so many, and everything with them.  ERR_CONFIG: the report says what is wrong and where. */
enum err sweep_read(struct sweep *, struct arena *, const char *file_name, struct bytes text,
                    uint64_t rows, struct report *);
/* The list of settings; what else the sweep says has been read. */
enum err sweep_read_settings(struct sweep *, struct arena *, const struct config_tree *,
                             const struct config_node *list);
/* The whole text of a file, in the arena; ERR_CONFIG with the reason. */
enum err sweep_text(const char *path, struct arena *, struct bytes *out, struct report *);
static inline uint64_t sweep_flushes(const struct sweep *s)
{
    return s->load_flushes + s->update_flushes;
}
/* The writes of a flush (from 0): those of the stream from *first on, *count of them; is it of
 * updates? */
bool sweep_part(const struct sweep *, uint64_t flush, uint64_t *first, uint64_t *count);
/* Which row the i-th update writes. */
uint64_t sweep_update_row(const struct sweep *, uint64_t i);
/* The setting's table, in a catalog of its own.  Only for settings that have been read. */
enum err sweep_catalog(const struct sweep *, const struct sweep_setting *, struct catalog *,
                       struct report *);

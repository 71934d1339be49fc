/* data.h - what this shard has of one table: its view, and what happens to it.
 *
 *     freeze   active ──> frozen, a new active        flushed   frozen ──> file
 *     void     everything that is older ──> nothing   change    files ──> files
 *
 * Private to store/.  Each change makes a new view within one turn.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/floor.h"
#include "store/meter.h"
#include "store/view.h"

struct flush;
struct table_data {
    struct uuid id;
    struct list link;     /* of the store's */
    struct table *table;  /* counted: as it was last seen */
    char *folder;         /* its path */
    bool is_folder_made;  /* and durable */
    struct view *view;    /* never NULL */
    struct floor floor;   /* of the commit log: what stands in files of that name */
    struct buf floors;    /* uint64_t: the generations of those that it knows */
    struct arena arena;   /* of `floor` */
    uint64_t *account;    /* of memtables */
    uint64_t numbers;     /* the active memtable's number */
    uint64_t wanted;      /* memtables up to this number are to be flushed */
    uint64_t flushed;     /* ... are in files, or void */
    struct flush *flush;  /* under way */
    unsigned holds;       /* while there are any, no flush begins and no compaction places files */
    unsigned pins;        /* while there are any, no compaction places files */
    unsigned compactions; /* under way */
    unsigned placings;    /* ... of them: between their swap and the view that shows it */
    bool is_erasing;      /* shard 0: TRUNCATE changes its files */
    bool is_unwanted;     /* dropped: what is in memory need not become a file */
    bool is_broken_off;   /* at replay: the next record begins a new span */
    unsigned failures;    /* of flushes in a row */
    uint64_t retry_ns;    /* not before */
    struct report failed; /* of the last one */
    struct table_meter meter;
};

/* `folder` is copied. */
struct table_data *data_new(struct table *, const char *folder, uint64_t *account);
void data_free(struct table_data **);
void data_see(struct table_data *, struct table *); /* the table as it is now */

/* Freezes the active memtable if it has anything; the number up to which all are frozen. */
uint64_t data_freeze(struct table_data *);
/* The oldest frozen one, or NULL. */
struct memtable_shared *data_oldest(const struct table_data *);
/* The oldest frozen one is in these files now (none: it had nothing that counts). */
void data_flushed(struct table_data *, struct sstable *const *files, size_t count);
void data_add(struct table_data *, struct sstable *);
/* Those go, as far as they are there, and these come. */
struct data_change {
    struct sstable *const *gone, *const *come;
    size_t gone_count, come_count;
};
void data_change(struct table_data *, const struct data_change *);
/* A file says so: `floor` is raised. */
void data_raise_floor(struct table_data *, const struct floor *, uint64_t generation);
/* All files and all memtables up to this number go. */
void data_void(struct table_data *, uint64_t upto);

/* Bytes of the active memtable; of all that are frozen. */
uint64_t data_active_bytes(const struct table_data *);
uint64_t data_frozen_bytes(const struct table_data *);
/* The first place in the folder that a memtable still needs; false: none. */
bool data_needs(const struct table_data *, uint64_t folder, struct journal_position *out);
/* Has a memtable rows from another folder than this? */
bool data_is_foreign(const struct table_data *, uint64_t folder);

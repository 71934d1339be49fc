/* compact_inside.h - what the files of store_compact share.  Private to store/compact*.c.
 *
 *     compact.c         the op: from its inputs to the view that shows its outputs
 *     compact_plan.c    which inputs; what the writer is told; what may be purged
 *     compact_void.c    what is said to the commit log when nothing is left
 *     relevel.c         a file under another level, without reading it
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/merging.h"
#include "store/outputs.h"
#include "store/slice.h"

struct compaction {
    struct op op;
    struct list link; /* of the store's */
    struct waiter waiter;
    struct store *store;
    struct table_data *data;
    struct table *table; /* counted: the columns of the outputs */
    struct io_req *done;
    struct io_req req;
    const struct compact_options *options;
    struct compact_result *result;
    struct report *failed;
    struct arena *arena; /* the caller's: of the result */
    struct arena own;
    struct sstable **going; /* the inputs, then the expired ones; counted and busy */
    size_t going_count, inputs_count;
    struct cardinality seen;   /* keys of all inputs */
    size_t seen_count;         /* inputs that are in it */
    uint64_t keys, partitions; /* of the inputs: distinct ones; summed */
    struct sstable_writer_options writer;
    struct merging *merging;
    struct outputs outputs;
    struct slices slices;
    size_t cut_at;             /* the next of the options' cuts */
    uint64_t paced_bytes;      /* the pace was asked for */
    bool has_napped;           /* for the pace: it is asked again */
    uint64_t free_bytes;       /* of the disk, when it was last asked */
    uint64_t looked_bytes;     /* had been written then */
    struct floor floor;        /* compact_void.c; in `own` */
    uint64_t floor_generation; /* 0: none is needed */
    struct buf floor_text;
    bool is_placing;
    bool is_short; /* the disk was, when it was last thought of */
    enum err err;
};

/* ---- compact_plan.c ---- */
/* The files that go become busy and counted.  ERR_NOT_FOUND, ERR_CORRUPT: none of them. */
enum err compaction_choose(struct compaction *);
void compaction_let_go(struct compaction *);
/* The keys of the next input are counted; false: all are. */
bool compaction_count_keys(struct compaction *);
/* What all outputs have in common. */
void compaction_describe(struct compaction *);
/* ... and what the next one has for itself, which begins with this token. */
void compaction_describe_next(struct compaction *, int64_t token);
/* Has the output that is being fed come to its end, when this token is the next? */
bool compaction_passes(struct compaction *, int64_t token);
/* For merging: the oldest timestamp that anything but the inputs may have of the partition. */
int64_t compaction_timestamp_min(void *compaction, int64_t token, struct bytes key);

/* What the files that go say of the commit log, as far as it still has it; in `own`. */
size_t compaction_spans(struct compaction *, struct log_span **out);

/* ---- compact_void.c ---- */
/* Nothing is left, and the log does not know: true, and a floor is being made as an output.  Once
 * it has its name, compaction_voided. */
bool compaction_void(struct compaction *, struct io_req *, struct op *);
void compaction_voided(struct compaction *);

/* ---- relevel.c ---- */
/* The one input's components are there once more, under a new generation's temporary names, and
 * noted as an output; its level is that of outputs[0]. */
void relevel(struct compaction *, struct io_req *, struct op *);

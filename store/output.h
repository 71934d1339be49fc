/* output.h - one SSTable on its way to disk, under temporary names.
 *
 *     output_open ──> [ feed the writer ──> output_drain when it is full
 *                                       ──> output_code, if it is coded apart ] ... ──>
 * output_finish or at any time: output_abandon
 *
 * Private to store/.  Whoever makes SSTables (outputs.h, import.h) feeds the writer
 * (sstable/writer.h) row by row and lets go when it is full.  Data and index are streamed: synced
 * every 8 MiB, while the next ones are written, and what is synced is dropped from the system's
 * cache.  The files get their final
 * names by a swap.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"
#include "sstable/sstable.h"
#include "store/slice.h"

struct output;
struct output_options {
    const char *folder; /* of the table; it is there */
    uint64_t generation;
    uint32_t shards, shard; /* who writes: for Checksums.db */
    struct sstable_writer_options writer;
};
/* Completes with OK and *out; else nothing is left behind.  The options are copied. */
void output_open(struct io *, struct io_req *, struct op *, const struct output_options *,
                 struct output **out);
struct sstable_writer *output_writer(struct output *);
bool output_is_full(const struct output *);
/* Writes what waits.  After an error only output_abandon is left. */
void output_drain(struct output *, struct io_req *, struct op *);
/* Between two pieces of what it is fed: full chunks are coded, as long as they go into the slice.
 * OP_GO: none waits; OP_YIELD: in the next slice; OP_WAIT: the table's compression takes longer
 * than a slice, so a worker does it, and `req` completes then: until then the writer is not
 * touched. */
enum op_how output_code(struct output *, struct slices *, struct io_req *, struct op *);
/* Every component is written and synced.  ERR_NOT_FOUND: there was nothing to write.  The writer's
 * part is done by a worker. */
void output_finish(struct output *, struct io_req *, struct op *);
/* After output_finish: the components' final names, for the swap; Data.db is the last of them, so
 * that who lists the folder meanwhile takes no half a file for a whole one. */
size_t output_names(const struct output *, const char *names[COMPONENT_COUNT]);
struct sstable_name output_name(const struct output *);
uint64_t output_bytes(const struct output *);      /* of all components, written so far */
uint64_t output_data_bytes(const struct output *); /* of Data.db */
/* Closes and removes the temporary files; *taken becomes NULL at once. */
void output_abandon(struct output **taken, struct io_req *, struct op *);
/* After output_finish and the swap: frees what is in memory. */
void output_free(struct output **);

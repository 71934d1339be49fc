/* sweep_measure.h - what reads cost at one stop of a sweep, and what the files are. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/histogram.h"
#include "base/prng.h"
#include "command/sweep_row.h"
#include "store/store.h"

struct sweep_measure {
    struct op op;
    /* given */
    struct io *io;
    struct store *store;
    const struct sweep *sweep;
    const struct stand_writer *writer;
    uint64_t rows;             /* loaded so far */
    struct sweep_figures *out; /* files, sizes of components, reads: the rest is left */
    struct report *failed;
    /* its own */
    struct io_req req;
    struct arena arena;
    struct read_sink sink;
    struct read read;
    struct read_outcome outcome;
    struct stand_probe probe;
    struct prng prng;
    struct histogram warm, cold;
    struct read_total total;
    uint64_t done, began_ns, spread[SWEEP_SPREAD], cold_unpacked;
    bool is_timed;
};
/* The op is the caller's child: it ends by itself, op.err tells how and `failed` why. */
void sweep_measure_start(struct sweep_measure *, struct op *parent);

/* load.h - a load under way: shared by load.c (rows in) and load_flight.c (rows under way). */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/csv.h"
#include "command/options.h"
#include "command/progress.h"
#include "command/rejects.h"

/* A row that was read: waiting for its answer, or for its next try. */
struct load_row {
    uint64_t line;
    struct buf text, raw, fields; /* as in struct csv */
    unsigned tries_count;
};

struct load {
    const struct options *options;
    rd_session *session;
    rd_statement *insert;
    struct csv csv;
    struct buf names; /* of the columns, each with its zero */
    size_t columns;
    struct rejects rejects;
    struct progress bar;
    uint64_t loaded_count, retried_count;
    /* rows under way */
    struct load_row *rows;
    unsigned rows_count;
    unsigned *free, free_count;       /* indices that are not in use */
    unsigned *waiting, waiting_count; /* indices of rows that will be sent again */
    unsigned pause_ms;
    char failure[512]; /* not "": the load cannot go on */
};

void flight_init(struct load *, unsigned rows_count);
void flight_deinit(struct load *);
/* Sends the row that the CSV stands at; waits for room when there is none.  What is wrong with the
 * row goes to the rejects, what is wrong with the cluster to `failure`. */
void flight_send(struct load *);
/* Waits until every row under way has its answer, tries again included. */
void flight_land(struct load *);

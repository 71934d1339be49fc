/* dump.h - rows as JSON, as Cassandra's sstabledump prints them: names, order and forms are its
 * own.
 *
 *     dump_begin ──> [ dump_partition ──> static row? ──> rows, markers ──> dump_partition_end ]
 * ... ──> dump_end
 *
 *     {"table kind":"REGULAR","partition":{"key":["a"],"position":0},"rows":[
 *       {"type":"row","position":30,"clustering":[1],"liveness_info":{"tstamp":"..."},"cells":[
 *         {"name":"v","value":2}]}]}
 *
 * tests/oracle/README.md has the whole form.  Positions are of the plain Data stream.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "sstable/unfiltered.h"

struct dump {
    const struct layout *layout; /* columns come in its order */
    bool has_raw_times;          /* -t: numbers instead of dates */
    bool is_lines;               /* -l: a line a partition instead of one array */
    int64_t now_seconds;         /* what is before it has expired */
    struct json json;            /* .out: where all goes */
    struct buf text;             /* dump's own; freed by dump_end */
};
void dump_begin(struct dump *, const struct layout *, struct buf *out);
/* Only the key, as a JSON array: -e.  Not between dump_partition and its end. */
void dump_key(struct dump *, struct bytes key);
void dump_partition(struct dump *, struct bytes key, struct deletion, uint64_t position);
/* A static row too; rows that have nothing must not come. */
void dump_row(struct dump *, const struct row *, uint64_t position);
void dump_marker(struct dump *, const struct marker *);
void dump_partition_end(struct dump *);
void dump_end(struct dump *);

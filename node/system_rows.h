/* system_rows.h - rows of a system table as they are made, and a read of them.
 *
 *     rows_begin(rows);
 *     rows_text(rows, "key", "local");          by column name; a column that is not given is null
 *     rows_int(rows, "rpc_port", 9042);
 *     rows_end(rows);                            one row is there
 *
 * Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"
#include "model/model.h"

struct errands;

struct system_row {
    int64_t token;
    struct bytes place; /* comparable_partition */
    struct bytes key;
    struct row row;
};
struct system_rows {
    const struct table *table;
    struct arena *arena;
    const struct errands *said; /* what the shards were asked for it; NULL: nothing */
    struct bytes *values;       /* of the row being made, by column index; data NULL: null */
    struct system_row *rows;
    size_t count, room;
};

void rows_init(struct system_rows *, const struct table *, struct arena *);
void rows_begin(struct system_rows *);
void rows_bytes(struct system_rows *, const char *column, struct bytes);
void rows_text(struct system_rows *, const char *column, const char *text); /* NULL: null */
void rows_bool(struct system_rows *, const char *column, bool);
void rows_int(struct system_rows *, const char *column, int32_t);
void rows_bigint(struct system_rows *, const char *column, int64_t);
void rows_double(struct system_rows *, const char *column, double);
void rows_uuid(struct system_rows *, const char *column, const struct uuid *);
void rows_inet(struct system_rows *, const char *column, const struct io_addr *);
/* A list or set of texts; a map of texts from count pairs (key, value, key, value). */
void rows_texts(struct system_rows *, const char *column, const char *const *texts, size_t count);
void rows_map(struct system_rows *, const char *column, const char *const *pairs, size_t count);
void rows_end(struct system_rows *);

/* Reads what was made as a store would: order, slices, position and limits. */
void rows_read(struct system_rows *, const struct read *, struct read_sink *,
               struct read_outcome *);

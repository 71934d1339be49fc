/* compact_wish.h - what somebody wants to have compacted, read from the words of an operation.
 *
 *     keyspace, table       all files: of one table, of a keyspace, of all
 *     files                 names of Data.db files with a blank between them; their tables are
 * found splits                SizeTiered: into several files (of whole tables alone) start_token,
 * end_token, or partition       files that touch these tokens, both included
 *
 * Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/operation.h"

struct compact_wish {
    struct table *const *tables; /* the operation's */
    size_t tables_count, at;
    bool splits, is_range;
    int64_t first, last;
    size_t files_count;
    const uint64_t *files; /* generations, which are unique in a node */
    struct compact_place { /* of each: to be found */
        int shard;
        struct uuid table;
    } * places;
};
/* Chooses the operation's tables as well.  Else what failed is said. */
enum err compact_wish_read(struct operation *, struct compact_wish *);
/* The generation that a Data.db file's name says, at whatever path; else what failed is said. */
enum err compact_file_parse(struct operation *, const char *path, uint64_t *out);

/* model.h - the facade of model/: what a table is and what a row is.  Pure: no disk, no network, no
 * CQL text; owns nothing outside arenas.
 *
 *     type.h        types and their values; type_java.h their names in files; type_parts.h walks
 *                   over what is in a value, type_build.h makes one
 *     schema.h      columns, tables, keyspaces, the catalog, changes to it; params.h what the
 *                   options of a table mean, schema_type.h types as a schema keeps them,
 *                   schema_cql.h the statements that make it again
 *     comparable.h  clustering keys that memcmp orders
 *     row.h         cells, rows, deletions; who wins; partition keys and tokens
 *     row_counter.h what is in a counter's cell
 *     row_codec.h   one row or range tombstone as bytes
 *     ranges.h      the range tombstones of a partition
 *     mutation.h    a change to one partition, as bytes
 *     read.h        what is asked, how rows come out, how answers merge
 *     digest.h      what an answer comes to, in 16 bytes
 *     difference.h  what one answer lacks of all together, as mutations
 *
 * Inside: number.h (integers of any length), order.h, clock.h and scan.h (text), answer.h.
 *
 * Limits: a varint or the number of a decimal ends at 4096 bytes; counters are merged and carried
 * through, not counted.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/comparable.h"
#include "model/difference.h"
#include "model/digest.h"
#include "model/mutation.h"
#include "model/ranges.h"
#include "model/read.h"
#include "model/row.h"
#include "model/row_codec.h"
#include "model/row_counter.h"
#include "model/schema.h"
#include "model/schema_cql.h"
#include "model/schema_type.h"
#include "model/type.h"
#include "model/type_build.h"
#include "model/type_java.h"
#include "model/type_parts.h"

/* type.h - CQL types: what they are called, which bytes are values of them, how values compare.
 *
 * Kinds carry the protocol's option ids (facts: protocol 3.1).  A struct type is immutable and
 * lives in the arena of whoever made it; native types are static.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/buf.h"

/* X(kind, option id, CQL name, fixed value size or 0, Java class under ...db.marshal) */
#define TYPE_NATIVE_LIST(X)                             \
    X(ASCII, 0x01, "ascii", 0, "AsciiType")             \
    X(BIGINT, 0x02, "bigint", 8, "LongType")            \
    X(BLOB, 0x03, "blob", 0, "BytesType")               \
    X(BOOLEAN, 0x04, "boolean", 1, "BooleanType")       \
    X(COUNTER, 0x05, "counter", 8, "CounterColumnType") \
    X(DECIMAL, 0x06, "decimal", 0, "DecimalType")       \
    X(DOUBLE, 0x07, "double", 8, "DoubleType")          \
    X(FLOAT, 0x08, "float", 4, "FloatType")             \
    X(INT, 0x09, "int", 4, "Int32Type")                 \
    X(TIMESTAMP, 0x0B, "timestamp", 8, "TimestampType") \
    X(UUID, 0x0C, "uuid", 16, "UUIDType")               \
    X(TEXT, 0x0D, "text", 0, "UTF8Type")                \
    X(VARINT, 0x0E, "varint", 0, "IntegerType")         \
    X(TIMEUUID, 0x0F, "timeuuid", 16, "TimeUUIDType")   \
    X(INET, 0x10, "inet", 0, "InetAddressType")         \
    X(DATE, 0x11, "date", 4, "SimpleDateType")          \
    X(TIME, 0x12, "time", 8, "TimeType")                \
    X(SMALLINT, 0x13, "smallint", 2, "ShortType")       \
    X(TINYINT, 0x14, "tinyint", 1, "ByteType")          \
    X(DURATION, 0x15, "duration", 0, "DurationType")

enum type_kind {
    TYPE_CUSTOM = 0x00,
#define X(kind, id, name, size, java) TYPE_##kind = id,
    TYPE_NATIVE_LIST(X)
#undef X
        TYPE_LIST = 0x20,
    TYPE_MAP = 0x21,
    TYPE_SET = 0x22,
    TYPE_UDT = 0x30,
    TYPE_TUPLE = 0x31,
    TYPE_VECTOR = 0x40, /* CUSTOM on the wire, as the next one */
    TYPE_EMPTY,         /* its only value is the empty one (tables from before CQL) */
};
enum { TYPE_DEPTH_MAX = 16, TYPE_DIMENSION_MAX = 1 << 16, TYPE_PARTS_MAX = 32768 };

struct type {
    enum type_kind kind;
    bool is_frozen;     /* of list, map, set, UDT; tuples and vectors always are */
    uint32_t dimension; /* of a vector */
    size_t parts_count; /* list, set, vector 1; map 2; tuple, UDT n */
    const struct type **parts;
    const char *keyspace, *name; /* of a UDT; name: of a custom class, with its parameters */
    const char **fields;         /* of a UDT: parts_count names */
};

/* The static type of a native kind; NULL for the others. */
const struct type *type_native(enum type_kind);
/* The native type of a CQL name, "varchar" included; NULL when there is none. */
const struct type *type_by_name(struct bytes name);
bool type_is_native(const struct type *);
const struct type *type_empty(void);
bool type_equal(const struct type *, const struct type *);
/* Fixed size of a value in bytes, 0 when it varies. */
size_t type_fixed_bytes(const struct type *);
/* Do values stand in an SSTable's cells, clusterings and vectors without a length (facts: sstable
 * 8.2)?  Not the same as type_fixed_bytes: smallint, tinyint, date, time and counter have one. */
bool type_sstable_fixed_bytes(const struct type *, size_t *bytes);
/* The same type, frozen, and all that is in it; itself when it is already. */
const struct type *type_frozen(struct arena *, const struct type *);
/* Why Cassandra allows no column or field of this type (what nests in what, depth, size), as a
 * sentence; NULL when it does.  Types from type_parse, type_java_parse are allowed ones. */
const char *type_refusal(const struct type *);

/* A list, set, map or UDT that is not frozen: such a column has cells with paths, one for each
 * element (facts: sstable 2.6).
 *
 *              path                      value
 *     set      element                   empty
 *     list     timeuuid                  element
 *     map      key                       value
 *     UDT      2 bytes: field's index    the field's value
 */
bool type_is_multicell(const struct type *);
/* The type of paths, and of the value at a valid path: of multi-cell types only. */
const struct type *type_path(const struct type *);
const struct type *type_cell_value(const struct type *, struct bytes path);
/* Is it a path?  ERR_INVALID when not: no value of its type, or no field has this index. */
enum err type_path_validate(const struct type *, struct bytes path);
/* The order of cells of valid paths in a column: negative, 0, positive. */
int type_path_compare(const struct type *, struct bytes a, struct bytes b);

/* Finds a UDT of the keyspace by its name, without quotes and in its case; NULL when absent. */
struct type_names {
    const struct type *(*find)(void *context, struct bytes name);
    void *context;
};
/* A name as an identifier of CQL: in double quotes when it is not plain lower case or is
 * a reserved word. */
void type_print_name(const char *name, struct buf *out);
/* CQL text as system_schema writes it: `map<text, int>`, `frozen<list<int>>` (facts: surface 5.4);
 * a UDT by its name. */
void type_print(const struct type *, struct buf *out);
/* The way back, nested up to 16 deep, UDTs included.  ERR_INVALID with *out NULL: no type; else
 * *out is the type and type_refusal says what is wrong with it.  Without names UDTs are unknown. */
enum err type_parse_in(struct arena *, struct bytes text, const struct type_names *,
                       const struct type **out);
enum err type_parse(struct arena *, struct bytes text, const struct type **out);

/* Are these bytes a value of the type?  ERR_INVALID when not.  Empty bytes are accepted where
 * Cassandra accepts them (facts: protocol 3.1 at the end); numbers of any length end at 4096 bytes.
 * Sets and maps need not be sorted (type_build.h sorts). */
enum err type_validate(const struct type *, struct bytes value);
/* Cassandra's order of valid values: negative, 0, positive (facts: sstable 8.4).  An empty value
 * comes first. */
int type_compare(const struct type *, struct bytes a, struct bytes b);
/* For people and for cells in tables and CSV: as cqlsh would print it, without quotes. */
void type_print_value(const struct type *, struct bytes value, struct buf *out);
/* The way back: the text of a literal without quotes (`load`, CSV, CQL literals); within
 * collections, tuples, UDTs and vectors literals as CQL writes them, UDTs by their fields' names.
 * ERR_INVALID when the text is none; nothing is appended then. */
enum err type_parse_value(const struct type *, struct bytes text, struct buf *out);

/* As Cassandra's sstabledump writes values of cells and clusterings, in JSON: numbers bare, text as
 * strings, blobs "0x00ff", timestamps "2024-02-29 12:00:00.123Z", collections as arrays and
 * objects, whose keys are strings. */
void type_json_value(const struct type *, struct bytes value, struct buf *out);
/* As it writes partition keys and paths, to be quoted as a JSON string: blobs 00ff, timestamps
 * 2024-02-29T12:00:00.123Z, tuples and UDTs a:b, other collections as blobs. */
void type_string_value(const struct type *, struct bytes value, struct buf *out);

/* json.h - JSON as it is written, front to back, into a buf.
 *
 *     json_open(&j, NULL, '{');             {
 *     json_text(&j, "name", "value");         "name":"value",
 *     json_open(&j, "list", '[');             "list":[
 *     json_number(&j, NULL, 1);                 1
 *     json_close(&j);                         ]
 *     json_close(&j);                       }
 *
 * Names are given inside objects and NULL inside arrays.  Texts are escaped; bytes that are not
 * UTF-8 become U+FFFD.  At most 30 levels.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"

struct json {
    struct buf *out;
    unsigned depth;
    uint32_t has_members; /* a bit per level */
    char closes[32];
};
static inline struct json json_into(struct buf *out) { return (struct json){ .out = out }; }
void json_open(struct json *, const char *name, char bracket); /* '{' or '[' */
void json_close(struct json *);
void json_text(struct json *, const char *name, const char *text); /* NULL: null */
void json_bytes(struct json *, const char *name, struct bytes text);
void json_number(struct json *, const char *name, int64_t);
void json_unsigned(struct json *, const char *name, uint64_t);
void json_double(struct json *, const char *name, double); /* null when not finite */
void json_bool(struct json *, const char *name, bool);
void json_null(struct json *, const char *name);
/* A value that is JSON already, as it is. */
void json_raw(struct json *, const char *name, struct bytes value);

/* protocol.h - the codes of the native protocol (facts: cql-protocol.md 1.1, 2.1, 2.2, 2.6). */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

enum { WIRE_V4 = 4, WIRE_V5 = 5, WIRE_HEADER_BYTES = 9, WIRE_SEGMENT_BYTES_MAX = 131071 };

enum wire_flag {
    WIRE_COMPRESSED = 0x01,
    WIRE_TRACING = 0x02,
    WIRE_PAYLOAD = 0x04,
    WIRE_WARNING = 0x08,
    WIRE_BETA = 0x10,
};

/* X(name, code, sent by: C client, S server) */
#define OPCODE_LIST(X)         \
    X(ERROR, 0x00, S)          \
    X(STARTUP, 0x01, C)        \
    X(READY, 0x02, S)          \
    X(AUTHENTICATE, 0x03, S)   \
    X(OPTIONS, 0x05, C)        \
    X(SUPPORTED, 0x06, S)      \
    X(QUERY, 0x07, C)          \
    X(RESULT, 0x08, S)         \
    X(PREPARE, 0x09, C)        \
    X(EXECUTE, 0x0A, C)        \
    X(REGISTER, 0x0B, C)       \
    X(EVENT, 0x0C, S)          \
    X(BATCH, 0x0D, C)          \
    X(AUTH_CHALLENGE, 0x0E, S) \
    X(AUTH_RESPONSE, 0x0F, C)  \
    X(AUTH_SUCCESS, 0x10, S)
enum opcode {
#define X(name, code, side) OPCODE_##name = code,
    OPCODE_LIST(X)
#undef X
};
const char *opcode_name(uint8_t opcode); /* "QUERY", or "unknown" */
bool opcode_is_known(uint8_t opcode);
bool opcode_is_request(uint8_t opcode); /* known, and sent by clients */

#define CONSISTENCY_LIST(X) \
    X(ANY, 0)               \
    X(ONE, 1)               \
    X(TWO, 2)               \
    X(THREE, 3)             \
    X(QUORUM, 4)            \
    X(ALL, 5)               \
    X(LOCAL_QUORUM, 6)      \
    X(EACH_QUORUM, 7)       \
    X(SERIAL, 8)            \
    X(LOCAL_SERIAL, 9)      \
    X(LOCAL_ONE, 10)
enum consistency {
#define X(name, code) CL_##name = code,
    CONSISTENCY_LIST(X)
#undef X
        CL_COUNT
};
const char *consistency_name(enum consistency); /* "QUORUM" */
/* By name, any case; false when there is none. */
bool consistency_parse(struct bytes text, enum consistency *out);

/* X(name, code) - facts 2.6 */
#define WIRE_ERROR_LIST(X)      \
    X(SERVER, 0x0000)           \
    X(PROTOCOL, 0x000A)         \
    X(CREDENTIALS, 0x0100)      \
    X(UNAVAILABLE, 0x1000)      \
    X(OVERLOADED, 0x1001)       \
    X(BOOTSTRAPPING, 0x1002)    \
    X(TRUNCATE, 0x1003)         \
    X(WRITE_TIMEOUT, 0x1100)    \
    X(READ_TIMEOUT, 0x1200)     \
    X(READ_FAILURE, 0x1300)     \
    X(FUNCTION_FAILURE, 0x1400) \
    X(WRITE_FAILURE, 0x1500)    \
    X(SYNTAX, 0x2000)           \
    X(UNAUTHORIZED, 0x2100)     \
    X(INVALID, 0x2200)          \
    X(CONFIG, 0x2300)           \
    X(ALREADY_EXISTS, 0x2400)   \
    X(UNPREPARED, 0x2500)
enum wire_error_code {
#define X(name, code) WIRE_ERROR_##name = code,
    WIRE_ERROR_LIST(X)
#undef X
};
/* The code that an err of ours is answered with (ERR_SYNTAX: 0x2000; ERR_NOT_FOUND, ERR_LIMIT and
 * ERR_NOT_YET: 0x2200; anything unlisted: 0x0000). */
enum wire_error_code wire_error_code(enum err);

/* A value as the protocol has it. */
enum value_state { VALUE_SET, VALUE_NULL, VALUE_UNSET };
struct value {
    enum value_state state;
    struct bytes bytes;
};

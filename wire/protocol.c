/* protocol.c - names of codes, and codes of errors.
 *
 * The tables of protocol.h expanded once more; nothing here is known twice.
 */
// SPDX-License-Identifier: Apache-2.0
#include "wire/protocol.h"

#include <strings.h>

const char *opcode_name(uint8_t opcode)
{
    static const char *const names[] = {
#define X(name, code, side) [code] = #name,
        OPCODE_LIST(X)
#undef X
    };
    const char *name = opcode < array_count(names) ? names[opcode] : NULL;
    return name ? name : "unknown";
}

bool opcode_is_request(uint8_t opcode)
{
    enum { C, S }; /* the sides of OPCODE_LIST */
    static const struct {
        uint8_t code, side;
    } sides[] = {
#define X(name, code, side) { code, side },
        OPCODE_LIST(X)
#undef X
    };
    for (size_t i = 0; i < array_count(sides); i++)
        if (sides[i].code == opcode)
            return sides[i].side == C;
    return false;
}

bool opcode_is_known(uint8_t opcode) { return strcmp(opcode_name(opcode), "unknown") != 0; }

static const char *const consistency_names[] = {
#define X(name, code) [code] = #name,
    CONSISTENCY_LIST(X)
#undef X
};

const char *consistency_name(enum consistency level)
{
    ensure((unsigned)level < CL_COUNT);
    return consistency_names[level];
}

bool consistency_parse(struct bytes text, enum consistency *out)
{
    for (unsigned i = 0; i < CL_COUNT; i++) {
        const char *name = consistency_names[i];
        if (strlen(name) == text.size && !strncasecmp(name, (const char *)text.data, text.size)) {
            *out = (enum consistency)i;
            return true;
        }
    }
    return false;
}

enum wire_error_code wire_error_code(enum err err)
{
    static const struct {
        enum err err;
        enum wire_error_code code;
    } codes[] = {
        { ERR_PROTOCOL, WIRE_ERROR_PROTOCOL },
        { ERR_CREDENTIALS, WIRE_ERROR_CREDENTIALS },
        { ERR_UNAVAILABLE, WIRE_ERROR_UNAVAILABLE },
        { ERR_OVERLOADED, WIRE_ERROR_OVERLOADED },
        { ERR_TRUNCATE, WIRE_ERROR_TRUNCATE },
        { ERR_WRITE_TIMEOUT, WIRE_ERROR_WRITE_TIMEOUT },
        { ERR_READ_TIMEOUT, WIRE_ERROR_READ_TIMEOUT },
        { ERR_READ_FAILURE, WIRE_ERROR_READ_FAILURE },
        { ERR_WRITE_FAILURE, WIRE_ERROR_WRITE_FAILURE },
        { ERR_SYNTAX, WIRE_ERROR_SYNTAX },
        { ERR_UNAUTHORIZED, WIRE_ERROR_UNAUTHORIZED },
        { ERR_INVALID, WIRE_ERROR_INVALID },
        { ERR_NOT_FOUND, WIRE_ERROR_INVALID },
        { ERR_LIMIT, WIRE_ERROR_INVALID },
        { ERR_NOT_YET, WIRE_ERROR_INVALID },
        { ERR_CONFIG, WIRE_ERROR_CONFIG },
        { ERR_EXISTS, WIRE_ERROR_ALREADY_EXISTS },
        { ERR_UNPREPARED, WIRE_ERROR_UNPREPARED },
    };
    for (size_t i = 0; i < array_count(codes); i++)
        if (codes[i].err == err)
            return codes[i].code;
    return WIRE_ERROR_SERVER;
}

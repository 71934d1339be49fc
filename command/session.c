/* session.c - a driver session as the command line asked for it.
 *
 * The line for a host where nobody listens is ours, since it says how to start one; everything else
 * is the driver's sentence.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/session.h"

#include "base/buf.h"
#include "command/command.h"
#include "command/tell.h"

/* "a:9042, b:9042" of "a,b". */
static void places_put(struct buf *out, const struct options *o)
{
    const char *at = o->hosts;
    while (*at) {
        size_t size = strcspn(at, ",");
        buf_printf(out, "%s%.*s:%u", out->size ? ", " : "", (int)size, at, (unsigned)o->port);
        at += size + (at[size] == ',');
    }
    buf_put_u8(out, 0);
}

static void nobody_tell(const struct options *o)
{
    struct buf places = { 0 };
    places_put(&places, o);
    (void)tell("nothing listens at %s; start one with: rondo cluster start --dir DIR, or rondod",
               (const char *)places.data);
    buf_deinit(&places);
}

rd_session *session_open(const struct options *o, const char *keyspace, rd_routing routing,
                         unsigned connections)
{
    char error[512] = "";
    rd_session *session = NULL;
    rd_options options = { .hosts = o->hosts,
                           .port = (uint16_t)o->port,
                           .keyspace = keyspace && *keyspace ? keyspace : NULL,
                           .routing = routing,
                           .connections = connections };
    rd_code code = rd_connect(&options, &session, error, sizeof error);
    if (code == RD_OK)
        return session;
    if (code == RD_NO_HOST)
        nobody_tell(o);
    else
        (void)tell("%s", error);
    return NULL;
}

int session_tell(const rd_session *session, rd_code code)
{
    const char *sentence = rd_error(session);
    if (*sentence)
        return tell("%s", sentence);
    return tell("the statement failed with code 0x%x", (unsigned)code & 0xFFFF);
}

static bool part_take(const char *text, size_t size, char out[64])
{
    if (size == 0 || size >= 64 || memchr(text, '"', size))
        return false;
    memcpy(out, text, size);
    out[size] = '\0';
    return true;
}

bool table_name_parse(const char *text, struct table_name *out)
{
    const char *dot = strchr(text, '.');
    if (!dot || !part_take(text, (size_t)(dot - text), out->keyspace) ||
        !part_take(dot + 1, strlen(dot + 1), out->table))
        return false;
    (void)snprintf(out->quoted, sizeof out->quoted, "\"%s\".\"%s\"", out->keyspace, out->table);
    return true;
}

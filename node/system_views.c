/* system_views.c - what a node says of itself: clients, settings, prepared statements.
 *
 * Clients and prepared statements are those of the shard that answers.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/session.h"
#include "node/system_make.h"

void make_clients(struct shard *s, struct system_rows *r)
{
    list_each(l, &s->sessions)
    {
        const struct session *c = owner_of(l, struct session, link);
        rows_begin(r);
        rows_inet(r, "address", &c->peer);
        rows_int(r, "port", c->peer.port);
        rows_map(r, "client_options", NULL, 0);
        rows_text(r, "connection_stage", c->is_started ? "ready" : "established");
        rows_text(r, "driver_name", c->driver_name[0] ? c->driver_name : NULL);
        rows_text(r, "driver_version", c->driver_version[0] ? c->driver_version : NULL);
        rows_text(r, "keyspace_name", c->keyspace[0] ? c->keyspace : NULL);
        rows_int(r, "protocol_version", c->out[0].version);
        rows_bigint(r, "request_count", (int64_t)c->requests_total);
        rows_bool(r, "ssl_enabled", false);
        rows_text(r, "username", "anonymous");
        rows_end(r);
    }
}

void make_prepared(struct shard *s, struct system_rows *r)
{
    list_each(l, &s->prepared.recent)
    {
        const struct prepared_entry *e = owner_of(l, struct prepared_entry, link);
        rows_begin(r);
        rows_bytes(r, "prepared_id", bytes_of(e->id, sizeof e->id));
        rows_text(r, "logged_keyspace", e->keyspace);
        rows_bytes(r, "query_string", e->text);
        rows_end(r);
    }
}

/* The settings as the configuration prints them: `name: value` lines, without comments. */
void make_settings(struct shard *s, struct system_rows *r)
{
    struct buf text = buf_in(r->arena);
    config_print(s->config, &text);
    struct bytes left = buf_bytes(&text);
    while (left.size) {
        const uint8_t *end = memchr(left.data, '\n', left.size);
        size_t n = end ? (size_t)(end - left.data) : left.size;
        const uint8_t *colon = n ? memchr(left.data, ':', n) : NULL;
        bool is_setting = colon && left.data[0] >= 'a' && left.data[0] <= 'z';
        if (is_setting) {
            size_t name = (size_t)(colon - left.data);
            size_t value = n > name + 2 ? n - name - 2 : 0;
            rows_begin(r);
            rows_bytes(r, "name", bytes_of(left.data, name));
            rows_bytes(r, "value", bytes_of(colon + 2, value));
            rows_end(r);
        }
        size_t taken = end ? n + 1 : n;
        left = bytes_of(left.data + taken, left.size - taken);
    }
}

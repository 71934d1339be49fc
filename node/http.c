/* http.c - see http.h.  The callbacks only copy what they are given, within limits. */
// SPDX-License-Identifier: Apache-2.0
#include "node/http.h"

#include "base/mem.h"

#include <llhttp.h>

enum { BODY_BYTES_MAX = 64 << 10 };

struct http_parser {
    llhttp_t parser;
    llhttp_settings_t settings;
    struct http_request request;
};

static struct http_request *request_of_parser(llhttp_t *parser) { return parser->data; }

static void text_append(char *to, size_t room, const char *at, size_t n, bool *is_too_long)
{
    size_t used = strlen(to);
    if (used + n >= room) {
        *is_too_long = true;
        return;
    }
    memcpy(to + used, at, n);
    to[used + n] = 0;
}

static int on_url(llhttp_t *parser, const char *at, size_t n)
{
    struct http_request *r = request_of_parser(parser);
    text_append(r->path, sizeof r->path, at, n, &r->is_too_long);
    return 0;
}

static int on_header_field(llhttp_t *parser, const char *at, size_t n)
{
    struct http_request *r = request_of_parser(parser);
    bool is_long = false;
    text_append(r->header, sizeof r->header, at, n, &is_long);
    if (is_long)
        r->header[0] = '?'; /* none of ours, whatever it began with */
    return 0;
}

static bool header_is(const struct http_request *r, const char *name)
{
    bool is_equal = strlen(r->header) == strlen(name);
    for (size_t i = 0; is_equal && name[i]; i++)
        is_equal = (r->header[i] | 0x20) == name[i];
    return is_equal;
}

static int on_header_value(llhttp_t *parser, const char *at, size_t n)
{
    struct http_request *r = request_of_parser(parser);
    if (header_is(r, "host"))
        text_append(r->host, sizeof r->host, at, n, &r->is_too_long);
    r->has_origin |= header_is(r, "origin");
    return 0;
}

static int on_header_value_complete(llhttp_t *parser)
{
    struct http_request *r = request_of_parser(parser);
    r->hosts_count += header_is(r, "host");
    r->header[0] = 0;
    return 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t n)
{
    struct http_request *r = request_of_parser(parser);
    r->is_too_long |= n > BODY_BYTES_MAX - r->body.size;
    if (!r->is_too_long)
        buf_put(&r->body, at, n);
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    request_of_parser(parser)->is_whole = true;
    return HPE_PAUSED;
}

struct http_parser *http_parser_new(void)
{
    struct http_parser *p = mem_zalloc(sizeof *p);
    llhttp_settings_init(&p->settings);
    p->settings.on_url = on_url;
    p->settings.on_header_field = on_header_field;
    p->settings.on_header_value = on_header_value;
    p->settings.on_header_value_complete = on_header_value_complete;
    p->settings.on_body = on_body;
    p->settings.on_message_complete = on_message_complete;
    llhttp_init(&p->parser, HTTP_REQUEST, &p->settings);
    p->parser.data = &p->request;
    return p;
}

void http_parser_free(struct http_parser **p)
{
    buf_deinit(&(*p)->request.body);
    mem_free(*p);
    *p = NULL;
}

const struct http_request *http_parser_request(const struct http_parser *p) { return &p->request; }

/* Cuts the query off the path and the port off the host. */
static void http_parser_trim(struct http_parser *p)
{
    struct http_request *r = &p->request;
    char *colon = strrchr(r->host, ':');
    r->path[strcspn(r->path, "?#")] = 0;
    if (colon && !strchr(colon, ']'))
        *colon = 0;
    snprintf(r->method, sizeof r->method, "%s",
             llhttp_method_name((llhttp_method_t)p->parser.method));
}

enum http_verdict http_parser_feed(struct http_parser *p, struct bytes bytes)
{
    ensure(!p->request.is_whole);
    llhttp_errno_t got = llhttp_execute(&p->parser, (const char *)bytes.data, bytes.size);
    if (p->request.is_too_long || p->request.hosts_count > 1)
        return HTTP_BAD;
    if (p->request.is_whole) {
        http_parser_trim(p);
        return HTTP_WHOLE;
    }
    return got == HPE_OK ? HTTP_MORE : HTTP_BAD;
}

void http_answer(struct buf *out, int status, const char *type, struct bytes body)
{
    buf_printf(out,
               "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
               "Connection: close\r\n\r\n",
               status, llhttp_status_name((llhttp_status_t)status), type, body.size);
    buf_put_bytes(out, body);
}

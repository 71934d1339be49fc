/* echo.c - the floor: a bare libuv server that answers every REQUEST bytes with ANSWER bytes.
 *
 *     rondo-echo REQUEST ANSWER        prints its port on 127.0.0.1; ends with its standard input
 *
 * What a request costs when nothing is done but receiving and sending on the same event loop that a
 * node runs on.  An answer carries the stream number of its request and says how long it is, so
 * that the benchmark's client needs no other code for it than for a node; its other bytes are
 * zeros.  Answers to requests that arrived together leave together, in one write.
 */
// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { HEAD_BYTES = 9, STREAM_AT = 2, LENGTH_AT = 5, RECV_BYTES = 64 * 1024 };

static size_t request_bytes, answer_bytes;
static uv_pipe_t hold;
static char hold_room[64];

struct client {
    uv_tcp_t tcp;
    char in[RECV_BYTES];
    size_t in_size;
    char *out;
    size_t out_room;
};
struct late { /* bytes that the socket did not take at once */
    uv_write_t write;
    char bytes[];
};

static void fatal(const char *what, int error)
{
    fprintf(stderr, "rondo-echo: %s: %s\n", what, uv_strerror(error));
    exit(1);
}

static void client_closed(uv_handle_t *handle)
{
    struct client *c = handle->data;
    free(c->out);
    free(c);
}

static void late_written(uv_write_t *write, int status)
{
    (void)status;
    free(write->data);
}

static void client_send(struct client *c, size_t size)
{
    uv_buf_t buf = uv_buf_init(c->out, (unsigned)size);
    int sent = uv_try_write((uv_stream_t *)&c->tcp, &buf, 1);
    size_t done = sent > 0 ? (size_t)sent : 0;
    if (done == size || (sent < 0 && sent != UV_EAGAIN))
        return;
    struct late *late = malloc(sizeof *late + size - done);
    if (!late)
        fatal("memory", UV_ENOMEM);
    memcpy(late->bytes, c->out + done, size - done);
    late->write.data = late;
    buf = uv_buf_init(late->bytes, (unsigned)(size - done));
    if (uv_write(&late->write, (uv_stream_t *)&c->tcp, &buf, 1, late_written) != 0)
        free(late);
}

static void answer_put(char *at, const char *request)
{
    uint32_t length = (uint32_t)(answer_bytes - HEAD_BYTES);
    memset(at, 0, answer_bytes);
    at[0] = (char)0x84;
    memcpy(at + STREAM_AT, request + STREAM_AT, 2);
    at[4] = 0x08;
    for (int i = 0; i < 4; i++)
        at[LENGTH_AT + i] = (char)(length >> (24 - 8 * i));
}

static void client_answer(struct client *c)
{
    size_t count = c->in_size / request_bytes;
    if (c->out_room < count * answer_bytes) {
        c->out_room = count * answer_bytes;
        free(c->out);
        c->out = malloc(c->out_room);
    }
    if (!c->out)
        fatal("memory", UV_ENOMEM);
    for (size_t i = 0; i < count; i++)
        answer_put(c->out + i * answer_bytes, c->in + i * request_bytes);
    c->in_size -= count * request_bytes;
    memmove(c->in, c->in + count * request_bytes, c->in_size);
    client_send(c, count * answer_bytes);
}

static void client_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct client *c = handle->data;
    (void)suggested;
    *buf = uv_buf_init(c->in + c->in_size, (unsigned)(sizeof c->in - c->in_size));
}

static void client_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
    struct client *c = stream->data;
    (void)buf;
    if (size < 0) {
        uv_close((uv_handle_t *)stream, client_closed);
        return;
    }
    c->in_size += (size_t)size;
    if (c->in_size >= request_bytes)
        client_answer(c);
}

static void client_come(uv_stream_t *listener, int status)
{
    struct client *c = status == 0 ? calloc(1, sizeof *c) : NULL;
    if (!c)
        return;
    uv_tcp_init(listener->loop, &c->tcp);
    c->tcp.data = c;
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0) {
        uv_close((uv_handle_t *)&c->tcp, client_closed);
        return;
    }
    uv_tcp_nodelay(&c->tcp, 1);
    uv_read_start((uv_stream_t *)&c->tcp, client_room, client_read);
}

static void hold_space(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(hold_room, sizeof hold_room);
}

static void hold_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
    (void)buf;
    if (size < 0)
        uv_stop(stream->loop);
}

static void port_print(const uv_tcp_t *listener)
{
    struct sockaddr_storage name;
    int size = sizeof name;
    uint16_t port;
    int error = uv_tcp_getsockname(listener, (struct sockaddr *)&name, &size);
    if (error)
        fatal("port", error);
    memcpy(&port, (const char *)&name + 2, sizeof port);
    printf("%u\n", (unsigned)__builtin_bswap16(port));
    fflush(stdout);
}

int main(int count, char **arguments)
{
    uv_loop_t *loop = uv_default_loop();
    uv_tcp_t listener;
    struct sockaddr_in any;
    request_bytes = count == 3 ? strtoul(arguments[1], NULL, 10) : 0;
    answer_bytes = count == 3 ? strtoul(arguments[2], NULL, 10) : 0;
    if (request_bytes < HEAD_BYTES || request_bytes > RECV_BYTES || answer_bytes < HEAD_BYTES) {
        fprintf(stderr, "rondo-echo REQUEST_BYTES ANSWER_BYTES\n");
        return 2;
    }
    uv_tcp_init(loop, &listener);
    uv_ip4_addr("127.0.0.1", 0, &any);
    int error = uv_tcp_bind(&listener, (const struct sockaddr *)&any, 0);
    if (error == 0)
        error = uv_listen((uv_stream_t *)&listener, 128, client_come);
    if (error)
        fatal("listen", error);
    uv_pipe_init(loop, &hold, 0);
    error = uv_pipe_open(&hold, 0);
    if (error == 0)
        error = uv_read_start((uv_stream_t *)&hold, hold_space, hold_read);
    if (error)
        fatal("standard input", error);
    port_print(&listener);
    uv_run(loop, UV_RUN_DEFAULT);
    return 0;
}

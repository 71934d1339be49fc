/* lane_greet.c - one socket of a benchmark: connected, greeted, its statement prepared.
 *
 * Protocol v4, as most drivers speak it, without compression.  All of this happens before anything
 * is measured, one step after the other.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/lane_greet.h"

#include "wire/wire.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { GREET_MS_MAX = 10 * 1000, GREET_BYTES_MAX = 1 << 20, ERROR_BYTES = 256 };

int lane_connect(const struct lanes_place *place, char error[ERROR_BYTES])
{
    char service[8];
    int yes = 1, fd = -1;
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
    (void)snprintf(service, sizeof service, "%u", place->port);
    if (getaddrinfo(place->host, service, &hints, &found) != 0) {
        (void)snprintf(error, ERROR_BYTES, "%s is no address", place->host);
        return -1;
    }
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_good = fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
                   setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0;
    freeaddrinfo(found);
    if (is_good)
        return fd;
    (void)snprintf(error, ERROR_BYTES, "%s:%u: %s", place->host, place->port, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool all_send(int fd, struct bytes text)
{
    while (text.size) {
        ssize_t sent = send(fd, text.data, text.size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        text = bytes_of(text.data + sent, text.size - (size_t)sent);
    }
    return true;
}

/* Waits for the next envelope. */
static bool envelope_take(int fd, struct wire_in *in, struct wire_envelope *out)
{
    struct report report = { .text = "" };
    for (;;) {
        enum wire_verdict verdict = wire_in_next(in, out, &report);
        if (verdict != WIRE_MORE)
            return verdict == WIRE_ENVELOPE;
        size_t room;
        uint8_t *at = wire_in_room(in, &room);
        struct pollfd p = { .fd = fd, .events = POLLIN };
        if (poll(&p, 1, GREET_MS_MAX) <= 0)
            return false;
        ssize_t size = recv(fd, at, room, 0);
        if (size <= 0)
            return false;
        wire_in_fed(in, (size_t)size);
    }
}

/* One question, its answer; false when it is not `expected`, and `error` says what it is. */
static bool ask(int fd, struct wire_out *out, struct wire_in *in, enum opcode expected,
                struct wire_envelope *answer, char error[ERROR_BYTES])
{
    struct answer_error said;
    bool is_sent = all_send(fd, wire_out_bytes(out));
    wire_out_sent(out);
    if (!is_sent || !envelope_take(fd, in, answer)) {
        (void)snprintf(error, ERROR_BYTES, "the connection was lost while it was being set up");
        return false;
    }
    if (answer->opcode == expected)
        return true;
    if (answer->opcode == OPCODE_ERROR &&
        answer_error_decode(cursor_of(answer->body), WIRE_V4, &said) == OK)
        (void)snprintf(error, ERROR_BYTES, "%.*s", (int)u64_min(said.message.size, 250),
                       (const char *)said.message.data);
    else
        (void)snprintf(error, ERROR_BYTES, "answered by %s, not %s", opcode_name(answer->opcode),
                       opcode_name((uint8_t)expected));
    return false;
}

static bool prepare(int fd, struct wire_out *out, struct wire_in *in, const char *cql,
                    struct bytes *id, char error[ERROR_BYTES])
{
    struct wire_envelope answer;
    struct answer_result result;
    struct arena arena = { 0 };
    struct request_prepare request = { .text = bytes_text(cql) };
    request_prepare_encode(wire_begin(out, 0, 1, OPCODE_PREPARE), WIRE_V4, &request);
    wire_end(out);
    bool is_good = ask(fd, out, in, OPCODE_RESULT, &answer, error);
    if (is_good && (answer_result_decode(cursor_of(answer.body), WIRE_V4, &arena, &result) != OK ||
                    result.kind != RESULT_PREPARED)) {
        (void)snprintf(error, ERROR_BYTES, "the answer to PREPARE is none");
        is_good = false;
    }
    if (is_good)
        *id = result.prepared.id;
    arena_deinit(&arena);
    return is_good;
}

bool lane_greet(int fd, const char *cql, struct arena *arena, struct bytes *id,
                char error[ERROR_BYTES])
{
    struct string_pair version = { bytes_text("CQL_VERSION"), bytes_text("3.0.0") };
    struct request_startup startup = { 1, &version };
    struct wire_envelope answer;
    struct wire_in in;
    struct wire_out out;
    wire_in_init(&in, false, GREET_BYTES_MAX);
    wire_out_init(&out, false, WIRE_V4);
    request_startup_encode(wire_begin(&out, 0, 0, OPCODE_STARTUP), &startup);
    wire_end(&out);
    bool is_good = ask(fd, &out, &in, OPCODE_READY, &answer, error);
    is_good = is_good && prepare(fd, &out, &in, cql, id, error);
    if (is_good)
        *id = arena_copy(arena, *id);
    wire_in_deinit(&in);
    wire_out_deinit(&out);
    return is_good;
}

void lane_template(struct buf *into, struct bytes id, rd_consistency level, struct bytes value,
                   size_t *key_at)
{
    static const uint8_t marked[BENCH_KEY_BYTES] = {
        0xDE, 0xAD, 0xBE, 0xEF, 0xFE, 0xED, 0xFA, 0xCE
    };
    struct value values[] = { { VALUE_SET, bytes_of(marked, sizeof marked) },
                              { VALUE_SET, value } };
    struct request_execute execute = {
        .id = id,
        .params = { .consistency = (enum consistency)level,
                    .flags = PARAM_VALUES | PARAM_SKIP_METADATA | PARAM_PAGE_SIZE,
                    .values_count = value.size ? 2 : 1,
                    .values = values,
                    .page_size = 5000 },
    };
    struct wire_out out;
    wire_out_init(&out, false, WIRE_V4);
    request_execute_encode(wire_begin(&out, 0, 0, OPCODE_EXECUTE), WIRE_V4, &execute);
    wire_end(&out);
    buf_put_bytes(into, wire_out_bytes(&out));
    wire_out_deinit(&out);
    const uint8_t *at = memmem(into->data, into->size, marked, sizeof marked);
    ensure(at);
    *key_at = (size_t)(at - into->data);
}

/* overload.c - writes at a rate that a node cannot keep, and whether what it acknowledged is there.
 *
 *     rondo-overload HOST RATE SECONDS [FIRST_KEY [IN_FLIGHT]]     JSON on one line
 *
 * RATE 0: as fast as IN_FLIGHT at once are answered.
 *
 *     due ──> a free slot? ──launch──> in flight ──> acknowledged in time | too late | refused
 *               └── none: shed, as a client does whose own queue is full
 *
 * An open loop: a request is due every 1/RATE seconds, whatever has become of those before it, and
 * is timed from then on.  Each writes a key of its own into overload.t (key bigint PRIMARY KEY,
 * value blob), which has to be there.  Goodput is what was acknowledged within the patience of a
 * client, a second.  When all have been answered, every key that was ever acknowledged is read: one
 * that is missing is said.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/histogram.h"
#include "base/mem.h"
#include "command/lane_greet.h"
#include "command/tell.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINES = 8, DEPTH = 1000, SLOTS = LINES * DEPTH, VALUE_BYTES = 200, KEYS_MAX = 32 << 20 };
enum { RECV_BYTES = 64 << 10, TURN_MAX = 2000 };
static const uint64_t patience_ns = 2000000000, second = 1000000000;
static const char insert_cql[] = "INSERT INTO overload.t (key, value) VALUES (?, ?)";
static const char select_cql[] = "SELECT key FROM overload.t WHERE key = ?";

struct slot {
    uint64_t due_ns, key;
};
struct line {
    int fd;
    struct buf out, in;
};
static struct run {
    int epoll;
    struct line lines[LINES];
    struct slot slots[SLOTS];
    unsigned free[SLOTS], free_count, slots_count;
    struct buf request; /* the template; the key stands at key_at */
    size_t key_at;
    bool is_reading;
    uint8_t *acked; /* by key less the first */
    uint64_t first_key, next_key, due_ns, end_ns;
    uint64_t good, late, overloaded, failed, shed, missing, read;
    struct histogram latency_ns;
    char error[256];
} run;

static _Noreturn void stop(const char *why)
{
    fprintf(stderr, "rondo-overload: %s\n", why);
    exit(1);
}

/* ---- requests ---- */

static void request_make(struct bytes id)
{
    static const uint8_t value[VALUE_BYTES] = { 1 }, key[8];
    struct value values[2] = { { VALUE_SET, { key, sizeof key } },
                               { VALUE_SET, { value, sizeof value } } };
    struct request_execute e = { .id = id };
    struct wire_out out;
    e.params.consistency = CL_ONE;
    e.params.flags = PARAM_VALUES | PARAM_SKIP_METADATA;
    e.params.values = values;
    e.params.values_count = run.is_reading ? 1 : 2;
    wire_out_init(&out, false, WIRE_V4);
    struct buf *body = wire_begin(&out, 0, 0, OPCODE_EXECUTE);
    request_execute_encode(body, WIRE_V4, &e);
    wire_end(&out);
    buf_clear(&run.request);
    buf_put_bytes(&run.request, wire_out_bytes(&out));
    size_t behind = run.is_reading ? 0 : 4 + VALUE_BYTES;
    run.key_at = run.request.size - behind - sizeof key;
    wire_out_deinit(&out);
}

static void lines_open(const char *host, const char *cql)
{
    struct arena arena = { 0 };
    struct lanes_place place = { .port = 9042 };
    snprintf(place.host, sizeof place.host, "%s", host);
    run.epoll = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < LINES; i++) {
        struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };
        struct bytes id = { 0 };
        run.lines[i].fd = lane_connect(&place, run.error);
        if (run.lines[i].fd < 0 || !lane_greet(run.lines[i].fd, cql, &arena, &id, run.error))
            stop(run.error);
        if (fcntl(run.lines[i].fd, F_SETFL, O_NONBLOCK) != 0 ||
            epoll_ctl(run.epoll, EPOLL_CTL_ADD, run.lines[i].fd, &event) != 0)
            stop(strerror(errno));
        if (i == 0)
            request_make(id);
    }
    arena_deinit(&arena);
    run.free_count = run.slots_count;
    for (unsigned i = 0; i < run.free_count; i++)
        run.free[i] = run.free_count - 1 - i;
}

static void lines_close(void)
{
    for (unsigned i = 0; i < LINES; i++) {
        close(run.lines[i].fd);
        buf_deinit(&run.lines[i].out);
        buf_deinit(&run.lines[i].in);
        run.lines[i] = (struct line){ 0 };
    }
    close(run.epoll);
}

static void launch(uint64_t key, uint64_t due_ns)
{
    unsigned at = run.free[--run.free_count];
    struct buf *out = &run.lines[at % LINES].out;
    uint8_t *request = buf_take(out, run.request.size);
    memcpy(request, run.request.data, run.request.size);
    put_be16(request + 2, (uint16_t)(at / LINES));
    put_be64(request + run.key_at, key);
    run.slots[at] = (struct slot){ due_ns, key };
}

static void lines_flush(void)
{
    for (unsigned i = 0; i < LINES; i++) {
        struct line *line = &run.lines[i];
        ssize_t sent =
            line->out.size ? send(line->fd, line->out.data, line->out.size, MSG_NOSIGNAL) : 0;
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            stop("the node closed a connection");
        if (sent > 0)
            memmove(line->out.data, line->out.data + sent, line->out.size - (size_t)sent);
        line->out.size -= sent > 0 ? (size_t)sent : 0;
    }
}

/* ---- answers ---- */

static void note_error(struct bytes body)
{
    struct answer_error said;
    bool is_known = answer_error_decode(cursor_of(body), WIRE_V4, &said) == OK;
    bool is_overload = is_known && said.code == WIRE_ERROR_OVERLOADED;
    run.overloaded += is_overload;
    run.failed += !is_overload;
    if (is_known && !is_overload)
        snprintf(run.error, sizeof run.error, "%.*s", (int)u64_min(said.message.size, 250),
                 (const char *)said.message.data);
}

static void answer_take(unsigned line, struct bytes e, uint64_t now_ns)
{
    unsigned at = get_be16(e.data + 2) * LINES + line;
    if (at >= SLOTS)
        stop("an answer on a stream that was not used");
    const struct slot *slot = &run.slots[at];
    struct bytes body = bytes_of(e.data + WIRE_HEADER_BYTES, e.size - WIRE_HEADER_BYTES);
    run.free[run.free_count++] = at;
    if (e.data[4] == OPCODE_ERROR) {
        note_error(body);
    } else if (run.is_reading) {
        struct answer_result result;
        struct arena arena = { 0 };
        bool is_there = answer_result_decode(cursor_of(body), WIRE_V4, &arena, &result) == OK &&
                        result.kind == RESULT_ROWS && result.rows.rows_count == 1;
        run.read++;
        run.missing += !is_there;
        arena_deinit(&arena);
    } else {
        bool is_good = now_ns - slot->due_ns <= patience_ns;
        run.acked[(slot->key - run.first_key) / 8] |=
            (uint8_t)(1u << (slot->key - run.first_key) % 8);
        run.good += is_good && now_ns <= run.end_ns;
        run.late += !is_good;
        histogram_add(&run.latency_ns, now_ns - slot->due_ns);
    }
}

static void line_receive(unsigned at)
{
    struct line *line = &run.lines[at];
    buf_grow(&line->in, RECV_BYTES);
    ssize_t size = recv(line->fd, line->in.data + line->in.size, line->in.room - line->in.size, 0);
    uint64_t now_ns = tell_now_ns();
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0)
        stop("the node closed a connection");
    line->in.size += (size_t)size;
    struct bytes left = buf_bytes(&line->in);
    while (left.size >= WIRE_HEADER_BYTES) {
        size_t whole = WIRE_HEADER_BYTES + (size_t)get_be32(left.data + 5);
        if (left.size < whole)
            break;
        answer_take(at, bytes_of(left.data, whole), now_ns);
        left = bytes_of(left.data + whole, left.size - whole);
    }
    if (left.size)
        memmove(line->in.data, left.data, left.size);
    line->in.size = left.size;
}

static void turn(int wait_ms)
{
    struct epoll_event events[LINES];
    lines_flush();
    int count = epoll_wait(run.epoll, events, LINES, wait_ms);
    for (int i = 0; i < count; i++)
        line_receive(events[i].data.u32);
    lines_flush();
}

/* ---- the two halves ---- */

static void write_all(uint64_t rate, unsigned seconds)
{
    double gap_ns = rate ? 1e9 / (double)rate : 0;
    uint64_t begin_ns = tell_now_ns(), due = 0;
    run.end_ns = begin_ns + seconds * second;
    for (uint64_t now_ns; (now_ns = tell_now_ns()) < run.end_ns;) {
        for (unsigned n = 0; n < TURN_MAX; n++) {
            uint64_t due_ns = rate ? begin_ns + (uint64_t)((double)due * gap_ns) : now_ns;
            if (due_ns > now_ns || (!rate && !run.free_count))
                break;
            due++;
            if (!run.free_count)
                run.shed++;
            else if (run.next_key - run.first_key < KEYS_MAX)
                launch(run.next_key++, due_ns);
        }
        turn(rate && run.free_count ? 0 : 1);
    }
    while (run.free_count < run.slots_count)
        turn(100);
}

static void read_all(void)
{
    for (uint64_t key = run.first_key; key < run.next_key; key++) {
        if (!(run.acked[(key - run.first_key) / 8] >> (key - run.first_key) % 8 & 1))
            continue;
        while (!run.free_count)
            turn(100);
        launch(key, 0);
        if (run.free_count % 64 == 0)
            turn(0);
    }
    while (run.free_count < run.slots_count)
        turn(100);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        stop("rondo-overload HOST RATE SECONDS [FIRST_KEY [IN_FLIGHT]]");
    uint64_t rate = strtoull(argv[2], NULL, 10);
    unsigned seconds = (unsigned)strtoul(argv[3], NULL, 10);
    run.first_key = run.next_key = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    run.slots_count = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : SLOTS;
    if (run.slots_count < 1 || run.slots_count > SLOTS)
        stop("IN_FLIGHT is a number from 1 to 8000");
    run.acked = mem_zalloc(KEYS_MAX / 8);
    lines_open(argv[1], insert_cql);
    write_all(rate, seconds);
    lines_close();
    run.is_reading = true;
    uint64_t failed = run.failed;
    lines_open(argv[1], select_cql);
    read_all();
    lines_close();
    printf("{\"sent\":%llu,\"good\":%llu,\"goodput\":%.0f,\"late\":%llu,\"overloaded\":%llu,"
           "\"failed\":%llu,\"shed\":%llu,\"p50_ms\":%.2f,\"p99_ms\":%.2f,\"read\":%llu,"
           "\"unread\":%llu,\"missing\":%llu,\"error\":\"%s\"}\n",
           (unsigned long long)(run.next_key - run.first_key), (unsigned long long)run.good,
           (double)run.good / seconds, (unsigned long long)run.late,
           (unsigned long long)run.overloaded, (unsigned long long)failed,
           (unsigned long long)run.shed, (double)histogram_quantile(&run.latency_ns, 0.5) / 1e6,
           (double)histogram_quantile(&run.latency_ns, 0.99) / 1e6, (unsigned long long)run.read,
           (unsigned long long)(run.failed - failed), (unsigned long long)run.missing, run.error);
    mem_free(run.acked);
    buf_deinit(&run.request);
    return run.missing > 0;
}

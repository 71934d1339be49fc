/* lanes.c - requests over sockets, as fast as they go or at a rate, each one timed.
 *
 *     free slots ──launch──> request bytes ──a send a socket and turn──> place
 *         ▲                                                               │
 *         └────────────── timed <── answer's head <──── recv <────────────┘
 *
 * One thread, one epoll.  A request is timed from just before its bytes are written (or, at a rate,
 * from when it was due, so that a stall counts for all that it held up) to when its answer is
 * whole.  A slot is a request that may be in flight; its number is the stream.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/lanes.h"

#include "base/mem.h"
#include "base/prng.h"
#include "command/lane_greet.h"
#include "command/tell.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_MAX = 256, RECV_BYTES = 64 * 1024, STALL_MS_MAX = 15 * 1000 };

struct slot { /* one request that may be in flight */
    unsigned lane;
    uint64_t due_ns;
    bool is_replica; /* it went to one */
};
struct line { /* a socket */
    int fd;   /* -1: not needed */
    struct buf out, in;
    unsigned lane;
    bool is_listed; /* among those with something to send */
};
struct lanes {
    const struct lanes_plan *plan;
    struct lanes_result *result;
    struct prng prng;
    int epoll;
    unsigned slots_count, lines_count;
    struct slot *slots; /* lane * depth + stream */
    struct line *lines; /* lane * places + place */
    unsigned *free, free_count;
    unsigned *listed, listed_count; /* lines */
    uint64_t due_ns;                /* at a rate: of the next request */
    uint64_t begin_ns, end_ns;      /* what is completed between counts */
};

static bool lanes_break(struct lanes *l, const char *text)
{
    l->result->is_broken = true;
    (void)snprintf(l->result->error, sizeof l->result->error, "%s", text);
    return false;
}

/* ---- setting up ---- */

/* A lane at home at a place needs no other if every place holds every row. */
static bool line_is_needed(const struct lanes *l, unsigned lane, unsigned place)
{
    const struct lanes_plan *plan = l->plan;
    bool is_everywhere = !plan->ring || plan->ring->factor == plan->places_count;
    return !is_everywhere || place == lane % plan->places_count;
}

static bool line_open(struct lanes *l, unsigned at, struct arena *arena)
{
    struct line *line = &l->lines[at];
    struct bytes id;
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = at };
    line->lane = at / l->plan->places_count;
    line->fd = lane_connect(&l->plan->places[at % l->plan->places_count], l->result->error);
    if (line->fd < 0 ||
        (l->plan->cql && !lane_greet(line->fd, l->plan->cql, arena, &id, l->result->error)))
        return false;
    if (fcntl(line->fd, F_SETFL, O_NONBLOCK) == 0 &&
        epoll_ctl(l->epoll, EPOLL_CTL_ADD, line->fd, &event) == 0)
        return true;
    return lanes_break(l, strerror(errno));
}

static bool lanes_open(struct lanes *l)
{
    struct arena arena = { 0 };
    bool is_good = true;
    for (unsigned i = 0; i < l->lines_count && is_good; i++) {
        unsigned places = l->plan->places_count;
        if (line_is_needed(l, i / places, i % places))
            is_good = line_open(l, i, &arena);
    }
    arena_deinit(&arena);
    return is_good;
}

static void lanes_init(struct lanes *l)
{
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->slots_count = l->plan->lanes_count * l->plan->depth;
    l->lines_count = l->plan->lanes_count * l->plan->places_count;
    l->slots = mem_zalloc(l->slots_count * sizeof *l->slots);
    l->free = mem_alloc(l->slots_count * sizeof *l->free);
    l->lines = mem_zalloc(l->lines_count * sizeof *l->lines);
    l->listed = mem_alloc(l->lines_count * sizeof *l->listed);
    l->free_count = l->slots_count;
    for (unsigned i = 0; i < l->slots_count; i++) {
        l->slots[i].lane = i / l->plan->depth;
        l->free[i] = l->slots_count - 1 - i;
    }
    for (unsigned i = 0; i < l->lines_count; i++)
        l->lines[i].fd = -1;
}

static void lanes_deinit(struct lanes *l)
{
    for (unsigned i = 0; i < l->lines_count; i++) {
        if (l->lines[i].fd >= 0)
            close(l->lines[i].fd);
        buf_deinit(&l->lines[i].out);
        buf_deinit(&l->lines[i].in);
    }
    if (l->epoll >= 0)
        close(l->epoll);
    mem_free(l->slots);
    mem_free(l->free);
    mem_free(l->lines);
    mem_free(l->listed);
}

/* ---- sending ---- */

static bool is_among(const unsigned *list, unsigned count, unsigned one)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i] == one)
            return true;
    return false;
}

/* Where a key goes. */
static unsigned route(struct lanes *l, unsigned lane, const uint8_t *key, bool *is_replica)
{
    const struct lanes_plan *plan = l->plan;
    unsigned replicas[BENCH_PLACES_MAX], home = lane % plan->places_count;
    *is_replica = true;
    if (!plan->ring || plan->ring->factor == plan->places_count)
        return home;
    unsigned count = bench_ring_replicas(plan->ring, key, replicas);
    unsigned place = home;
    if (plan->routing == RD_RANDOM)
        place = (unsigned)prng_below(&l->prng, plan->places_count);
    else if (plan->routing == RD_FORWARD)
        while (is_among(replicas, count, place))
            place = (place + 1) % plan->places_count;
    else if (!is_among(replicas, count, home))
        place = replicas[0];
    *is_replica = is_among(replicas, count, place);
    return place;
}

static void slot_launch(struct lanes *l, unsigned at, uint64_t due_ns)
{
    const struct lanes_plan *plan = l->plan;
    struct slot *slot = &l->slots[at];
    uint8_t key[BENCH_KEY_BYTES];
    put_be64(key, prng_below(&l->prng, plan->rows));
    unsigned place = route(l, slot->lane, key, &slot->is_replica);
    unsigned line_at = slot->lane * plan->places_count + place;
    struct line *line = &l->lines[line_at];
    uint8_t *request = buf_take(&line->out, plan->request.size);
    memcpy(request, plan->request.data, plan->request.size);
    put_be16(request + 2, (uint16_t)(at % plan->depth));
    memcpy(request + plan->key_at, key, sizeof key);
    slot->due_ns = due_ns;
    if (!line->is_listed)
        l->listed[l->listed_count++] = line_at;
    line->is_listed = true;
}

static bool line_flush(struct lanes *l, struct line *line)
{
    ssize_t sent = send(line->fd, line->out.data, line->out.size, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        return lanes_break(l, "a node closed the connection");
    size_t left = line->out.size - (sent > 0 ? (size_t)sent : 0);
    if (left && sent > 0)
        memmove(line->out.data, line->out.data + sent, left);
    line->out.size = left;
    return true;
}

/* Fills what is free and due, and sends; what a socket did not take waits for the next turn. */
static bool lanes_launch(struct lanes *l)
{
    uint64_t now = tell_now_ns();
    uint64_t gap_ns = l->plan->rate ? 1000000000u / l->plan->rate : 0;
    while (l->free_count > 0 && now < l->end_ns && (gap_ns == 0 || l->due_ns <= now)) {
        slot_launch(l, l->free[--l->free_count], gap_ns ? l->due_ns : now);
        l->due_ns += gap_ns;
    }
    unsigned kept = 0;
    for (unsigned i = 0; i < l->listed_count; i++) {
        struct line *line = &l->lines[l->listed[i]];
        if (!line_flush(l, line))
            return false;
        line->is_listed = line->out.size > 0;
        if (line->is_listed)
            l->listed[kept++] = l->listed[i];
    }
    l->listed_count = kept;
    return true;
}

/* ---- receiving ---- */

static void error_note(struct lanes *l, struct bytes body)
{
    struct answer_error said;
    if (l->result->errors_count++ > 0 || answer_error_decode(cursor_of(body), WIRE_V4, &said) != OK)
        return;
    (void)snprintf(l->result->error, sizeof l->result->error, "%.*s",
                   (int)u64_min(said.message.size, 250), (const char *)said.message.data);
}

/* One whole answer. */
static bool answer_take(struct lanes *l, const struct line *line, struct bytes envelope,
                        uint64_t now)
{
    unsigned stream = get_be16(envelope.data + 2);
    unsigned at = line->lane * l->plan->depth + stream;
    if (stream >= l->plan->depth)
        return lanes_break(l, "an answer on a stream that was not used");
    struct slot *slot = &l->slots[at];
    l->free[l->free_count++] = at;
    if (envelope.data[4] == OPCODE_ERROR)
        error_note(l,
                   bytes_of(envelope.data + WIRE_HEADER_BYTES, envelope.size - WIRE_HEADER_BYTES));
    l->result->answer_bytes = envelope.size;
    if (slot->due_ns < l->begin_ns || now >= l->end_ns)
        return true; /* of the warm-up, or too late */
    histogram_add(&l->result->latency_ns, now - slot->due_ns);
    l->result->count++;
    l->result->replica_count += slot->is_replica;
    return true;
}

static bool line_receive(struct lanes *l, struct line *line)
{
    buf_grow(&line->in, RECV_BYTES);
    ssize_t size = recv(line->fd, line->in.data + line->in.size, line->in.room - line->in.size, 0);
    uint64_t now = tell_now_ns();
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (size <= 0)
        return lanes_break(l, "a node closed the connection");
    line->in.size += (size_t)size;
    struct bytes left = buf_bytes(&line->in);
    while (left.size >= WIRE_HEADER_BYTES) {
        size_t whole = WIRE_HEADER_BYTES + (size_t)get_be32(left.data + 5);
        if (left.size < whole)
            break;
        if (!answer_take(l, line, bytes_of(left.data, whole), now))
            return false;
        left = bytes_of(left.data + whole, left.size - whole);
    }
    if (left.size)
        memmove(line->in.data, left.data, left.size);
    line->in.size = left.size;
    return true;
}

/* How long the loop may sleep: until an answer comes, a request is due, or nothing moves. */
static struct timespec sleep_of(const struct lanes *l)
{
    uint64_t ns = (uint64_t)STALL_MS_MAX * 1000000, now = tell_now_ns();
    if (l->listed_count > 0)
        ns = 1000000; /* a socket was full */
    else if (l->plan->rate && l->free_count > 0 && now < l->end_ns)
        ns = l->due_ns > now ? l->due_ns - now : 0;
    return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000),
                              .tv_nsec = (long)(ns % 1000000000) };
}

static bool lanes_turn(struct lanes *l)
{
    struct epoll_event events[EVENTS_MAX];
    if (!lanes_launch(l))
        return false;
    struct timespec sleep = sleep_of(l);
    int count = epoll_pwait2(l->epoll, events, EVENTS_MAX, &sleep, NULL);
    if (count < 0 && errno != EINTR)
        return lanes_break(l, strerror(errno));
    if (count == 0 && sleep.tv_sec == STALL_MS_MAX / 1000)
        return lanes_break(l, "no answer came for 15 seconds");
    for (int i = 0; i < count; i++)
        if (!line_receive(l, &l->lines[events[i].data.u32]))
            return false;
    return true;
}

static bool lanes_measure(struct lanes *l)
{
    const struct lanes_plan *plan = l->plan;
    l->due_ns = tell_now_ns();
    l->begin_ns = l->due_ns + (uint64_t)plan->warm_up_ms * 1000000;
    l->end_ns = UINT64_MAX;
    while (tell_now_ns() < l->begin_ns)
        if (!lanes_turn(l))
            return false;
    if (plan->when_warm)
        plan->when_warm(plan->context);
    l->begin_ns = tell_now_ns();
    l->due_ns = l->begin_ns;
    l->end_ns = l->begin_ns + (uint64_t)plan->measured_ms * 1000000;
    while (tell_now_ns() < l->end_ns || l->free_count < l->slots_count)
        if (!lanes_turn(l))
            return false;
    l->result->seconds = (double)plan->measured_ms / 1000;
    return true;
}

bool lanes_run(const struct lanes_plan *plan, struct lanes_result *result)
{
    struct lanes lanes = { .plan = plan, .result = result, .prng = { 42 } };
    memset(result, 0, sizeof *result);
    ensure(plan->places_count > 0 && plan->places_count <= BENCH_PLACES_MAX);
    lanes_init(&lanes);
    bool is_good = lanes_open(&lanes) && lanes_measure(&lanes);
    lanes_deinit(&lanes);
    return is_good;
}

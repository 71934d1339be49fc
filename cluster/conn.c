/* conn.c - one greeted socket: bytes in become frames, frames become bytes out.
 *
 *     run ──> close ──> drain ──> ended
 *
 * Frames that are made in one turn gather in `out` and leave in one io_send; while that is under
 * way, the next gather.  Frames that come are decoded where they were received; a bad one drops the
 * connection, since nothing behind it can be trusted.
 *
 * A connection carries requests one way only: from who dialled to who accepted; the answers come
 * back on it.  An accepted one that has many requests unanswered, or large ones, is not read from
 * until some are, whatever the other side's limits are: only requests wait, never answers.  After a
 * close it stays until the node has answered what came on it; those answers are dropped and
 * counted.
 *
 * Invariants: 1. in_size <= in_room.  2. One recv and one send at a time.  3. `sending` does not
 * change while its send is under way.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/internal.h"

enum { RUN, CLOSE, DRAIN };
enum { ROOM_BYTES = 64 * 1024, UNANSWERED_MAX = 4096, KEEP_BYTES = 1024 * 1024 };

static struct op_next conn_run(struct op *);
static struct op_next conn_close(struct op *);
static struct op_next conn_drain(struct op *);
static void conn_release(struct op *);

static const struct op_state conn_states[] = {
    [RUN] = { "run", conn_run, TO(RUN) | TO(CLOSE) },
    [CLOSE] = { "close", conn_close, TO(DRAIN) },
    [DRAIN] = { "drain", conn_drain, TO(DRAIN) },
};

static struct conn *conn_of(struct op *op) { return owner_of(op, struct conn, op); }

struct conn *conn_start(struct cluster *c, struct op *parent, struct io_socket *taken)
{
    struct conn *conn = mem_zalloc(sizeof *conn);
    conn->c = c;
    conn->socket = taken;
    conn->is_open = true;
    conn->in_room = ROOM_BYTES;
    conn->in = mem_alloc(conn->in_room);
    list_init(&conn->link);
    list_add(&c->conns, &conn->link);
    op_start(&conn->op, io_ops(c->io), parent, conn_states, conn_release);
    return conn;
}

static void conn_release(struct op *op)
{
    struct conn *conn = conn_of(op);
    ensure(!conn->socket && conn->unanswered == 0);
    if (conn->out_lane)
        conn->out_lane->conn = NULL;
    list_remove(&conn->link);
    buf_deinit(&conn->out);
    buf_deinit(&conn->late);
    buf_deinit(&conn->sending);
    mem_free(conn->in);
    mem_free(conn);
}

/* In the simulator a frame may be lost, go out twice, or behind the next one. */
void conn_send(struct conn *conn, const struct frame *f, struct bytes body)
{
    struct io *io = conn->c->io;
    ensure(conn->is_open);
    if (io_rare(io, "frame lost"))
        return;
    bool is_late = io_rare(io, "frame reordered");
    frame_encode(is_late ? &conn->late : &conn->out, f, body);
    if (io_rare(io, "frame repeated"))
        frame_encode(&conn->out, f, body);
    if (!is_late && conn->late.size) {
        buf_put_bytes(&conn->out, buf_bytes(&conn->late));
        buf_clear(&conn->late);
    }
    op_wake(&conn->op);
}

/* ---- in ---- */

static void conn_frame(struct conn *conn, const struct frame *f)
{
    if (f->is_answer != (conn->out_lane != NULL))
        conn->is_broken = true; /* the wrong way round */
    else if (f->is_answer)
        lane_answered(conn->out_lane, f);
    else
        request_arrived(conn, f);
}

/* Handles whole frames; leaves the beginning of the next one at the front. */
static void conn_parse(struct conn *conn)
{
    size_t at = 0, used = 0;
    enum err err = OK;
    struct frame f;
    while (err == OK && !conn->is_broken) {
        err = frame_decode(bytes_of(conn->in + at, conn->in_size - at), FRAME_BYTES_MAX, &f, &used);
        if (err == OK) {
            conn_frame(conn, &f);
            at += used;
        }
    }
    if (err != ERR_WOULD_WAIT)
        conn->is_broken = true;
    if (conn->is_broken) {
        conn->c->counts.bad_frames++;
        log_note_rarely(conn->c->io, millis_ns(60000), LOG_WARN, "peer_bad_frame",
                        "node=%u lane=%s reason=\"%s\"", conn->node, lane_name(conn->lane),
                        err_text(err));
        return;
    }
    conn->in_size -= at;
    memmove(conn->in, conn->in + at, conn->in_size);
    bool is_too_small = used > conn->in_room;
    bool is_too_large = used <= ROOM_BYTES && conn->in_room > ROOM_BYTES;
    if (is_too_small || (is_too_large && conn->in_size <= ROOM_BYTES)) {
        conn->in_room = u64_max(used, ROOM_BYTES);
        conn->in = mem_resize(conn->in, conn->in_room);
    }
}

static bool conn_is_laden(const struct conn *conn)
{
    uint64_t most = peer_bytes_max(conn->c);
    return conn->unanswered >= UNANSWERED_MAX || (most && conn->unanswered_bytes > most);
}

/* False: the connection is over. */
static bool conn_read(struct conn *conn, struct op *op)
{
    if (conn->recv.busy)
        return true;
    if (conn->is_reading) {
        conn->is_reading = false;
        if (conn->recv.err != OK || conn->recv.size == 0)
            return false;
        conn->in_size += conn->recv.size;
        conn_parse(conn);
    }
    if (conn->is_broken)
        return false;
    ensure(conn->in_size < conn->in_room);
    if (conn_is_laden(conn))
        return true; /* an answer wakes us */
    conn->is_reading = true;
    io_recv(conn->c->io, &conn->recv, op, conn->socket, conn->in + conn->in_size,
            conn->in_room - conn->in_size);
    return true;
}

/* ---- out ---- */

static bool conn_write(struct conn *conn, struct op *op)
{
    if (conn->send.busy)
        return true;
    if (conn->sending.size && conn->send.err != OK)
        return false;
    buf_clear(&conn->sending);
    if (conn->sending.room > KEEP_BYTES)
        buf_deinit(&conn->sending);
    if (conn->out.size == 0)
        return true;
    struct buf full = conn->out;
    conn->out = conn->sending;
    conn->sending = full;
    io_send(conn->c->io, &conn->send, op, conn->socket, full.data, full.size);
    return true;
}

/* ---- states ---- */

static struct op_next conn_run(struct op *op)
{
    struct conn *conn = conn_of(op);
    if (op->stop || !conn_read(conn, op) || !conn_write(conn, op))
        return op_goto(CLOSE);
    return op_wait(RUN);
}

static struct op_next conn_close(struct op *op)
{
    struct conn *conn = conn_of(op);
    conn->is_open = false;
    io_hangup(conn->c->io, &conn->socket);
    if (conn->out_lane)
        lane_fail_all(conn->out_lane, op->stop ? op->stop : ERR_CLOSED);
    return op_goto(DRAIN);
}

static struct op_next conn_drain(struct op *op)
{
    struct conn *conn = conn_of(op);
    if (conn->recv.busy || conn->send.busy || conn->unanswered > 0)
        return op_wait(DRAIN);
    return op_end(op, OK);
}

/* script.h - tests of the real world as lists of acts.
 *
 * A script is an op that performs one act after the other: an act starts requests and the next one
 * is performed when none of them is busy any more.  An act that calls script_again is performed
 * once more.  A script that is at its end quits its shard, unless `stays` is set.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#define _GNU_SOURCE /* tests may ask the system: mkdtemp, kill */
#include "base/mem.h"
#include "io/journal.h"
#include "io/log.h"
#include "io/uv/uv.h"

#include <check.h>
#include <stdlib.h>
#include <unistd.h>

enum { SCRIPT_REQS = 4 };

struct script {
    struct op op;
    struct io *io;
    void (*const *acts)(struct script *); /* ends with NULL */
    int at;
    bool again, stays;
    struct io_req req[SCRIPT_REQS];
    void *state;
};

static inline struct op_next script_step(struct op *op)
{
    struct script *s = owner_of(op, struct script, op);
    for (int i = 0; i < SCRIPT_REQS; i++)
        if (s->req[i].busy)
            return op_wait(0);
    if (!s->acts[s->at]) {
        if (!s->stays)
            io_quit(s->io);
        return op_end(op, OK);
    }
    void (*act)(struct script *) = s->acts[s->at];
    s->again = false;
    act(s);
    s->at += s->again ? 0 : 1;
    return op_yield(0);
}

static inline void script_again(struct script *s) { s->again = true; }

static const struct op_state script_states[] = { { "script", script_step, 0 } };

static inline void script_start(struct script *s, struct io *io,
                                void (*const *acts)(struct script *))
{
    s->io = io;
    s->acts = acts;
    op_start(&s->op, io_ops(io), NULL, script_states, NULL);
}

/* One shard that performs the acts. */
struct script_world {
    void (*const *acts)(struct script *);
    struct script script;
};
static inline void script_world_start(struct io *io, void *arg)
{
    struct script_world *w = arg;
    script_start(&w->script, io, w->acts);
}
static inline void script_run(void (*const *acts)(struct script *))
{
    struct script_world w = { .acts = acts };
    uv_world_run(1, script_world_start, &w);
    ck_assert(!op_running(&w.script.op));
}

/* A fresh folder, which becomes the current one; left behind are only what the test made. */
static char script_folder[64];
static inline void script_enter_folder(void)
{
    snprintf(script_folder, sizeof script_folder, "/tmp/rondo-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(script_folder));
    ck_assert_int_eq(chdir(script_folder), 0);
}
static inline void script_leave_folder(void)
{
    char command[128];
    ck_assert_int_eq(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -rf '%s'", script_folder);
    ck_assert_int_eq(system(command), 0);
}

/* Listens on a free port of an address of 127/8 that is drawn from the process id. */
static inline struct io_listener *script_listen(struct io *io, struct io_addr *addr)
{
    unsigned pid = (unsigned)getpid();
    struct io_listener *l = NULL;
    *addr =
        (struct io_addr){ .family = 4, .ip = { 127, (uint8_t)(pid >> 8 & 0x7f), (uint8_t)pid, 1 } };
    for (uint16_t port = 20000; port < 20100; port++) {
        addr->port = port;
        if (io_listen(io, addr, &l) == OK)
            return l;
    }
    ck_abort_msg("no free port");
}

static inline int script_main(const char *name, void (*fill)(Suite *))
{
    Suite *suite = suite_create(name);
    fill(suite);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}

/* start.c - the life of a node: shard 0 leads, the others follow.
 *
 *     shard 0:  resolve ─> folders ─> lock ─> space ─> log ─> cluster ─> recover ─┐
 *                   │          │         │       │       │        │          │      ├─> open ─┐
 *                   └──────────┴─────────┴───────┴───────┴────────┴──────────┤      serve, run│
 *                                 something failed: process->failed says what▼  asked to stop │
 *               ended <─ farewell <────────────── close <────────────────────── quiet <───────┘
 *     others:   wait ─> work ─> wait ...      one phase after the other; ended after close
 *
 * A phase is over when this shard and all others are done with it.  What never opened is not
 * closed: every step back accepts what is not there.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "node/addresses.h"
#include "node/admin.h"
#include "node/erase.h"
#include "node/life.h"
#include "node/session.h"
#include "node/system.h"

enum {
    RESOLVE,
    FOLDERS,
    LOCK,
    SPACE,
    LOG,
    CLUSTER,
    RECOVER,
    SWEEP,
    OPEN,
    SERVE,
    RUN,
    HUSH,
    QUIET,
    CLOSE,
    FAREWELL
};
enum { WAIT, WORK };
enum { SPACE_BYTES_MIN = 256 << 20 };
static const uint64_t hush_nap_ns = 1000000, wait_nap_ns = 1000000000;

static struct op_next lead_resolve(struct op *);
static struct op_next lead_folders(struct op *);
static struct op_next lead_lock(struct op *);
static struct op_next lead_space(struct op *);
static struct op_next lead_log(struct op *);
static struct op_next lead_cluster(struct op *);
static struct op_next lead_recover(struct op *);
static struct op_next lead_sweep(struct op *);
static struct op_next lead_open(struct op *);
static struct op_next lead_serve(struct op *);
static struct op_next lead_run(struct op *);
static struct op_next lead_hush(struct op *);
static struct op_next lead_quiet(struct op *);
static struct op_next lead_close(struct op *);
static struct op_next lead_farewell(struct op *);
static struct op_next follow_wait(struct op *);
static struct op_next follow_work(struct op *);
static void life_release(struct op *);

static const struct op_state lead_states[] = {
    [RESOLVE] = { "resolve", lead_resolve, TO(RESOLVE) | TO(FOLDERS) | TO(HUSH) },
    [FOLDERS] = { "folders", lead_folders, TO(FOLDERS) | TO(LOCK) | TO(HUSH) },
    [LOCK] = { "lock", lead_lock, TO(LOCK) | TO(SPACE) | TO(HUSH) },
    [SPACE] = { "space", lead_space, TO(SPACE) | TO(LOG) | TO(HUSH) },
    [LOG] = { "log", lead_log, TO(LOG) | TO(CLUSTER) | TO(HUSH) },
    [CLUSTER] = { "cluster", lead_cluster, TO(CLUSTER) | TO(RECOVER) | TO(HUSH) },
    [RECOVER] = { "recover", lead_recover, TO(RECOVER) | TO(SWEEP) | TO(HUSH) },
    [SWEEP] = { "sweep", lead_sweep, TO(OPEN) },
    [OPEN] = { "open", lead_open, TO(OPEN) | TO(SERVE) | TO(HUSH) },
    [SERVE] = { "serve", lead_serve, TO(SERVE) | TO(RUN) | TO(HUSH) },
    [RUN] = { "run", lead_run, TO(RUN) | TO(HUSH) },
    [HUSH] = { "hush", lead_hush, TO(HUSH) | TO(QUIET) },
    [QUIET] = { "quiet", lead_quiet, TO(QUIET) | TO(CLOSE) },
    [CLOSE] = { "close", lead_close, TO(CLOSE) | TO(FAREWELL) },
    [FAREWELL] = { "farewell", lead_farewell, TO(FAREWELL) },
};
static const struct op_state follow_states[] = {
    [WAIT] = { "wait", follow_wait, TO(WAIT) | TO(WORK) },
    [WORK] = { "work", follow_work, TO(WORK) | TO(WAIT) },
};

static struct life *life_of(struct op *op) { return owner_of(op, struct life, op); }

/* What memory_limit is divided into, a line each. */
static void memory_tell(struct shard *s)
{
    struct memory_plan plan;
    struct report report;
    struct buf text = { 0 };
    if (memory_plan_make(s->config, s->process->memory_bytes, &plan, &report) == OK)
        memory_plan_print(&plan, &text);
    for (size_t at = 0; at < text.size;) {
        const uint8_t *line = text.data + at;
        const uint8_t *end = memchr(line, '\n', text.size - at);
        ensure(end); /* each ends with one */
        log_note(s->io, LOG_INFO, "memory_plan", "%.*s", (int)(end - line), (const char *)line);
        at += (size_t)(end - line) + 1;
    }
    buf_deinit(&text);
}

void node_start(struct io *io, void *arg)
{
    struct node_process *process = arg;
    struct shard *s = mem_zalloc(sizeof *s);
    struct life *l = mem_zalloc(sizeof *l);
    struct memory_plan plan;
    struct report report = { 0 };
    s->io = io;
    s->process = process;
    s->config = process->config;
    s->life = l;
    s->started_wall_us = io_wall(io);
    if (memory_plan_make(process->config, process->memory_bytes, &plan, &report) == OK)
        s->plan = memory_plan_share(&plan, io_shards(io));
    list_init(&s->sessions);
    list_init(&s->paused);
    list_init(&s->paused_frames);
    list_init(&s->drops);
    list_init(&s->erases);
    list_init(&s->parked);
    list_init(&s->idle_requests);
    arena_init(&s->scratch, REQUEST_ARENA_BYTES);
    slab_init(&s->slab);
    catalog_init(&s->catalog);
    system_tables_add(&s->catalog);
    prepared_init(&s->prepared, s->plan.prepared_bytes);
    l->shard = s;
    l->failed = report;
    io_set_context(io, s);
    op_start(&l->op, io_ops(io), NULL, io_self(io) == 0 ? lead_states : follow_states,
             life_release);
    if (io_self(io) == 0)
        io_signal(io, &l->signal, &l->op);
}

void node_stop(struct io *io)
{
    struct life *l = shard_of(io)->life;
    l->is_asked_to_stop = true;
    op_wake(&l->op);
}

bool node_is_serving(struct io *io) { return shard_of(io) && shard_of(io)->is_serving; }

static void life_release(struct op *op)
{
    struct life *l = life_of(op);
    struct io *io = l->shard->io;
    arena_deinit(&l->arena);
    mem_free(l->shard);
    mem_free(l);
    io_set_context(io, NULL);
    io_quit(io);
}

/* ---- the others ---- */

static void phase_there(struct io *io, struct io_mail *mail)
{
    struct life *l = shard_of(io)->life;
    ensure(!l->asked);
    l->asked = owner_of(mail, struct phase_mail, mail);
    op_wake(&l->op);
}

static struct op_next follow_wait(struct op *op)
{
    struct life *l = life_of(op);
    if (!l->asked)
        return op_wait(WAIT);
    if (l->asked->phase == PHASE_OPEN) {
        l->first = l->asked->leader->shard->cluster;
        log_attach(l->shard->io, l->asked->leader->shard->log);
    }
    if (l->asked->phase == PHASE_SERVE)
        l->shard->last_timestamp = l->asked->last_timestamp;
    stage_start(l, l->asked->phase);
    return op_wait(WORK);
}

static struct op_next follow_work(struct op *op)
{
    struct life *l = life_of(op);
    struct phase_mail *asked = l->asked;
    if (stage_running(l))
        return op_wait(WORK);
    bool is_last = asked->phase == PHASE_CLOSE;
    asked->failed = l->failed;
    l->asked = NULL;
    io_post_home(l->shard->io, &asked->mail);
    return is_last ? op_end(op, OK) : op_goto(WAIT);
}

/* ---- shard 0: helpers ---- */

static void phase_home(struct io *io, struct io_mail *mail)
{
    struct phase_mail *m = owner_of(mail, struct phase_mail, mail);
    struct life *l = m->leader;
    (void)io;
    ensure(l->away > 0);
    l->away--;
    if (m->failed.err != OK && l->shard->process->failed.err == OK)
        l->shard->process->failed = m->failed;
    op_wake(&l->op);
}

/* Asks every other shard for a phase. */
static void lead_others(struct life *l, enum phase phase)
{
    struct io *io = l->shard->io;
    ensure(l->away == 0);
    for (int i = 1; i < io_shards(io); i++) {
        l->mails[i] = (struct phase_mail){ .mail = { .there = phase_there, .home = phase_home },
                                           .leader = l,
                                           .last_timestamp = l->mark.floor_us,
                                           .phase = phase };
        l->away++;
        shard_post(l->shard, i, &l->mails[i].mail);
    }
}

/* Asks every shard, this one included, for a phase. */
static void lead_all(struct life *l, enum phase phase)
{
    lead_others(l, phase);
    stage_start(l, phase);
}

static bool lead_all_done(struct life *l)
{
    if (stage_running(l) || l->away > 0)
        return false;
    bool has_failed = l->failed.err != OK && l->failed.err != ERR_STOPPED;
    if (has_failed && l->shard->process->failed.err == OK)
        l->shard->process->failed = l->failed;
    return true;
}

static void lead_say(struct life *l, const char *line)
{
    if (l->shard->process->said)
        l->shard->process->said(line);
}

static bool lead_must_stop(const struct life *l)
{
    return l->is_asked_to_stop || l->op.stop || !l->signal.busy;
}

static struct op_next lead_fail(struct life *l, enum err err, const char *what, const char *hint)
{
    struct report *failed = &l->shard->process->failed;
    if (failed->err == OK) {
        failed->err = err;
        bool is_said = err == ERR_EXISTS || err == ERR_NO_SPACE; /* by `what` itself */
        snprintf(failed->text, sizeof failed->text, "%s%s%s; %s", what, is_said ? "" : ": ",
                 is_said ? "" : err_text(err), hint);
    }
    return op_goto(HUSH);
}

/* ---- shard 0: on the way up ---- */

static struct op_next lead_resolve(struct op *op)
{
    struct life *l = life_of(op);
    struct node_process *p = l->shard->process;
    struct node_address all[NODE_ADDRESSES];
    node_addresses(p, all);
    if (l->failed.err != OK) { /* the memory plan */
        p->failed = l->failed;
        return op_goto(HUSH);
    }
    if (l->wait.busy)
        return op_wait(RESOLVE);
    if (l->step > 0 && l->wait.err != OK) {
        const char *what = arena_printf(&l->arena, "%s: cannot resolve '%s'",
                                        all[l->step - 1].setting, all[l->step - 1].name);
        return lead_fail(l, l->wait.err, what, "give an address of this machine");
    }
    if (l->step == NODE_ADDRESSES) {
        l->step = 0;
        return op_goto(node_addresses_check(p, &p->failed) == OK ? FOLDERS : HUSH);
    }
    io_resolve(l->shard->io, &l->wait, op, all[l->step].name, (uint16_t)all[l->step].port,
               all[l->step].out);
    l->step++;
    return op_wait(RESOLVE);
}

/* A folder and, behind it, its ancestors, whose entries must be on disk before anything in it is
 * promised: "a/b/c" gives "a/b/c", "a/b", "a", "."; NULL at the end. */
static const char *lead_ancestor(struct life *l, const char *path, unsigned above)
{
    char *text = arena_text(&l->arena, bytes_text(path));
    while (above-- > 0) {
        char *slash = strrchr(text, '/');
        if (!slash && strcmp(text, ".") == 0)
            return NULL;
        if (!slash)
            text = arena_text(&l->arena, bytes_text("."));
        else if (slash == text && text[1] == 0)
            return NULL;
        else
            slash[slash == text] = 0;
    }
    return text;
}

static struct op_next lead_folders(struct op *op)
{
    struct life *l = life_of(op);
    const struct config *c = l->shard->config;
    const struct {
        const char *setting, *path;
    } all[] = { { "data_file_directories", c->data_file_directories.items[0] },
                { "commitlog_directory", c->commitlog_directory },
                { "hints_directory", c->hints_directory } };
    if (l->wait.busy)
        return op_wait(FOLDERS);
    if (l->wait.err != OK) {
        const char *what = arena_printf(&l->arena, "%s: cannot make the folder %s",
                                        all[l->step].setting, all[l->step].path);
        return lead_fail(l, l->wait.err, what, "give a folder that this user may write to");
    }
    const char *ancestor =
        l->step < array_count(all) ? lead_ancestor(l, all[l->step].path, l->above) : NULL;
    if (ancestor && l->above == 0)
        io_mkdir(l->shard->io, &l->wait, op, ancestor);
    else if (ancestor)
        io_sync_dir(l->shard->io, &l->wait, op, ancestor);
    l->above = ancestor ? l->above + 1 : 0;
    l->step += !ancestor;
    if (l->step < array_count(all))
        return ancestor ? op_wait(FOLDERS) : op_goto(FOLDERS);
    io_lock(l->shard->io, &l->wait, op,
            arena_printf(&l->arena, "%s/rondo.lock", c->data_file_directories.items[0]), &l->lock);
    return op_wait(LOCK);
}

static struct op_next lead_lock(struct op *op)
{
    struct life *l = life_of(op);
    const char *folder = l->shard->config->data_file_directories.items[0];
    if (l->wait.busy)
        return op_wait(LOCK);
    if (l->wait.err == ERR_EXISTS)
        return lead_fail(l, ERR_EXISTS,
                         arena_printf(&l->arena, "another rondod uses the data folder %s", folder),
                         "stop it, or give this one another data_file_directories");
    if (l->wait.err != OK)
        return lead_fail(l, l->wait.err,
                         arena_printf(&l->arena, "cannot write to the data folder %s", folder),
                         "give data_file_directories a folder that this user may write to");
    mark_start(&l->mark, l->shard, op, folder);
    io_space(l->shard->io, &l->wait, op, l->shard->config->commitlog_directory, &l->free_bytes);
    return op_wait(SPACE);
}

static struct op_next lead_space(struct op *op)
{
    struct life *l = life_of(op);
    const struct config *c = l->shard->config;
    uint64_t segments = 2 * (uint64_t)io_shards(l->shard->io);
    uint64_t needed = u64_max(SPACE_BYTES_MIN, segments * c->commitlog_segment_size_bytes);
    static const enum log_level levels[] = { [CONFIG_LOG_DEBUG] = LOG_DEBUG,
                                             [CONFIG_LOG_INFO] = LOG_INFO,
                                             [CONFIG_LOG_WARN] = LOG_WARN,
                                             [CONFIG_LOG_ERROR] = LOG_ERROR };
    if (l->wait.busy)
        return op_wait(SPACE);
    if (l->wait.err == OK && l->free_bytes < needed)
        return lead_fail(l, ERR_NO_SPACE,
                         arena_printf(&l->arena, "not enough disk for %s: %llu MiB are free",
                                      c->commitlog_directory,
                                      (unsigned long long)(l->free_bytes >> 20)),
                         arena_printf(&l->arena,
                                      "%llu MiB are needed to start; free some, or give "
                                      "commitlog_directory another disk",
                                      (unsigned long long)(needed >> 20)));
    struct log_options options = { .path = c->log_file,
                                   .level = levels[c->log_level],
                                   .size_bytes = c->log_file_size_bytes,
                                   .files_max = (unsigned)c->log_file_count };
    log_open(l->shard->io, &l->wait, op, &options, &l->shard->log);
    return op_wait(LOG);
}

static struct op_next lead_log(struct op *op)
{
    struct life *l = life_of(op);
    if (l->wait.busy)
        return op_wait(LOG);
    if (l->wait.err != OK)
        return lead_fail(
            l, l->wait.err,
            arena_printf(&l->arena, "log_file: cannot write to %s", l->shard->config->log_file),
            "give a file that this user may write to, or - for standard error");
    log_attach(l->shard->io, l->shard->log);
    log_note(l->shard->io, LOG_INFO, "start", "version=%s shards=%d cluster=\"%s\"", RONDO_VERSION,
             io_shards(l->shard->io), l->shard->config->cluster_name);
    memory_tell(l->shard);
    stage_open_cluster(l);
    return op_goto(CLUSTER);
}

/* Tells what a birth waits for when it takes longer than a second, at most once a second, and only
 * when it is something new. */
static void lead_tell_wait(struct life *l, struct op *op)
{
    const char *waits = l->shard->cluster ? cluster_waits_for(l->shard->cluster) : NULL;
    bool has_napped = l->nap.op;
    if (l->nap.busy)
        return;
    if (has_napped && waits && waits[0] && (!l->told || strcmp(l->told, waits) != 0)) {
        l->told = arena_text(&l->arena, bytes_text(waits));
        lead_say(l, l->told);
        log_note(l->shard->io, LOG_INFO, "waits", "for=\"%s\"", l->told);
    }
    io_sleep(l->shard->io, &l->nap, op, wait_nap_ns);
}

static struct op_next lead_cluster(struct op *op)
{
    struct life *l = life_of(op);
    if (l->wait.busy) {
        if (lead_must_stop(l) && l->shard->cluster)
            return op_goto(HUSH);
        lead_tell_wait(l, op);
        return op_wait(CLUSTER);
    }
    if (l->nap.busy) {
        io_cancel(l->shard->io, &l->nap);
        return op_wait(CLUSTER);
    }
    if (l->wait.err != OK) {
        if (l->failed.err != OK)
            l->shard->process->failed = l->failed;
        return lead_fail(l, l->wait.err, "cannot open the cluster's metadata", "see the log");
    }
    store_recover(l->shard->io, &l->wait, op, l->shard->config->data_file_directories.items[0],
                  &l->shard->catalog, &l->recovered, &l->failed);
    return op_wait(RECOVER);
}

static struct op_next lead_recover(struct op *op)
{
    struct life *l = life_of(op);
    const struct store_recovered *found = &l->recovered;
    if (l->wait.busy)
        return op_wait(RECOVER);
    if (l->wait.err != OK) {
        l->shard->process->failed = l->failed;
        return lead_fail(l, l->wait.err, "cannot look through the data folder", "see the log");
    }
    if (found->swaps_finished + found->swaps_void + found->temporaries > 0)
        log_note(l->shard->io, LOG_INFO, "files_recovered",
                 "swaps_finished=%llu swaps_void=%llu temporary_files_removed=%llu",
                 (unsigned long long)found->swaps_finished, (unsigned long long)found->swaps_void,
                 (unsigned long long)found->temporaries);
    snapshots_sweep(l->shard->io, &l->wait, op, l->shard->config->data_file_directories.items[0]);
    return op_wait(SWEEP);
}

/* What a crash left of snapshots is in nobody's way; if it cannot be removed, it stays. */
static struct op_next lead_sweep(struct op *op)
{
    struct life *l = life_of(op);
    if (l->wait.busy)
        return op_wait(SWEEP);
    if (l->wait.err != OK)
        log_note(l->shard->io, LOG_WARN, "snapshots_not_swept", "reason=\"%s\"",
                 err_text(l->wait.err));
    lead_all(l, PHASE_OPEN);
    return op_wait(OPEN);
}

static struct op_next lead_open(struct op *op)
{
    struct life *l = life_of(op);
    if (!lead_all_done(l) || !l->mark.is_read)
        return op_wait(OPEN);
    if (l->shard->process->failed.err != OK || lead_must_stop(l))
        return op_goto(HUSH);
    l->shard->last_timestamp = l->mark.floor_us;
    lead_all(l, PHASE_SERVE);
    return op_wait(SERVE);
}

static struct op_next lead_serve(struct op *op)
{
    struct life *l = life_of(op);
    struct shard *s = l->shard;
    char line[IO_ADDR_TEXT_BYTES + 64], address[IO_ADDR_TEXT_BYTES];
    if (!lead_all_done(l))
        return op_wait(SERVE);
    if (accept_open(s, &s->process->failed) != OK || admin_open(s, &s->process->failed) != OK)
        return op_goto(HUSH);
    io_addr_print(&s->process->rpc, address);
    snprintf(line, sizeof line, "serving clients at %s", address);
    lead_say(l, line);
    cluster_serve(s->cluster);
    settle_start(&l->settle, s, op);
    log_note(s->io, LOG_INFO, "serving", "address=%s node=%u", address, cluster_self(s->cluster));
    return op_goto(RUN);
}

static struct op_next lead_run(struct op *op)
{
    struct life *l = life_of(op);
    if (lead_must_stop(l))
        return op_goto(HUSH);
    if (l->settle.is_done && !op_running(&l->settle.op) && !l->apart.has_begun &&
        !apart_is_running(&l->apart))
        apart_start(&l->apart, l->shard, op);
    return op_wait(RUN);
}

/* ---- shard 0: on the way down ---- */

static struct op_next lead_hush(struct op *op)
{
    struct life *l = life_of(op);
    if (l->signal.busy)
        io_cancel(l->shard->io, &l->signal);
    accept_stop(l->shard);
    admin_stop(l->shard);
    mark_stop(&l->mark);
    settle_stop(&l->settle);
    apart_stop(&l->apart);
    if (!erase_stop(l->shard) || !accept_idle(l->shard) || !admin_idle(l->shard) ||
        !mark_is_idle(&l->mark) || op_running(&l->settle.op) || apart_is_running(&l->apart)) {
        if (!l->nap.busy)
            io_sleep(l->shard->io, &l->nap, op, hush_nap_ns);
        return op_wait(HUSH);
    }
    if (l->nap.busy)
        return op_wait(HUSH);
    admin_free(l->shard);
    log_note(l->shard->io, LOG_INFO, "stop", "reason=\"%s\"",
             l->shard->process->failed.err == OK ? "asked to" : l->shard->process->failed.text);
    lead_all(l, PHASE_QUIET);
    return op_wait(QUIET);
}

static struct op_next lead_quiet(struct op *op)
{
    struct life *l = life_of(op);
    if (!lead_all_done(l))
        return op_wait(QUIET);
    lead_others(l, PHASE_CLOSE);
    return op_goto(CLOSE);
}

/* This shard's cluster is closed after the others': it carries their liveness and metadata.  It may
 * still be opening (l->wait): a close ends that. */
static struct op_next lead_close(struct op *op)
{
    struct life *l = life_of(op);
    if (!lead_all_done(l))
        return op_wait(CLOSE);
    if (l->phase != PHASE_CLOSE) {
        stage_start(l, PHASE_CLOSE);
        return op_wait(CLOSE);
    }
    if (l->wait.busy)
        return op_wait(CLOSE);
    if (l->shard->log) {
        log_attach(l->shard->io, NULL);
        log_close(&l->shard->log, &l->wait, op);
    }
    if (l->lock)
        io_close(l->shard->io, &l->nap, op, &l->lock);
    return op_goto(FAREWELL);
}

static struct op_next lead_farewell(struct op *op)
{
    struct life *l = life_of(op);
    if (l->wait.busy || l->nap.busy || l->signal.busy)
        return op_wait(FAREWELL);
    return op_end(op, OK);
}

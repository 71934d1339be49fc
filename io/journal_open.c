/* journal_open.c - opens a journal: looks at the folder and starts a new segment behind the others.
 *
 *     look ──> make ──> settle ──> list ──> size ──> first ──> ended
 *      │         folders  their names    old      a new
 *      └── up to one     durable         segments segment
 *          that exists                   and spares
 *
 * Old segments are counted and left alone; spares are adopted as far as they are wanted and of the
 * right size, the others removed.  The folder's name is made durable at every opening:
 * the one that created it may have died before it could.
 *
 * The op belongs to who opens; the journal and its writer outlive it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/mem.h"
#include "io/journal_impl.h"

struct opening {
    struct op op;
    struct journal *journal;
    struct io_req *asked;
    struct journal **out;
    struct io_req req;
    struct io_stat stat;
    struct arena arena;
    struct io_names names;
    size_t at;
    uint64_t highest;
    uint64_t number;                /* of the file that is looked at */
    bool is_spare;                  /* it is one */
    char above[JOURNAL_PATH_BYTES]; /* the folder, or one above it */
    unsigned levels;                /* how many names are to be made durable */
    char path[JOURNAL_PATH_BYTES];
    bool is_started;
};

enum { LOOK, LOOKED, MAKE, SETTLE, SETTLED, LISTED, SIZED, DROPPED, FIRST };

static struct opening *opening_of(struct op *op) { return owner_of(op, struct opening, op); }

/* Cuts the last name off; false when there is nothing above. */
static bool cut_name(char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n == strlen(path) || strcmp(path, ".") == 0)
        return false;
    memcpy(path + n, n ? "" : ".", n ? 1 : 2);
    return true;
}

static struct op_next opening_look(struct op *op)
{
    struct opening *o = opening_of(op);
    io_stat(o->journal->io, &o->req, op, o->above, &o->stat);
    return op_wait(LOOKED);
}

static struct op_next opening_looked(struct op *op)
{
    struct opening *o = opening_of(op);
    struct journal *j = o->journal;
    if (o->req.busy)
        return op_wait(LOOKED);
    if (o->req.err != OK && o->req.err != ERR_NOT_FOUND)
        return op_end(op, o->req.err);
    if (o->req.err == ERR_NOT_FOUND && cut_name(o->above)) {
        o->levels++;
        return op_goto(LOOK);
    }
    unsigned least = j->options.names_min ? j->options.names_min : 1;
    o->levels = o->levels > least ? o->levels : least;
    memcpy(o->above, j->folder, sizeof o->above);
    io_mkdir(j->io, &o->req, op, j->folder);
    return op_wait(MAKE);
}

static struct op_next opening_make(struct op *op)
{
    struct opening *o = opening_of(op);
    if (o->req.busy)
        return op_wait(MAKE);
    if (o->req.err != OK)
        return op_end(op, o->req.err);
    return op_goto(SETTLE);
}

/* Syncs the folder above, and those above that up to one that had existed. */
static struct op_next opening_settle(struct op *op)
{
    struct opening *o = opening_of(op);
    struct journal *j = o->journal;
    if (o->levels > 0 && cut_name(o->above)) {
        o->levels--;
        io_sync_dir(j->io, &o->req, op, o->above);
        return op_wait(SETTLED);
    }
    io_list(j->io, &o->req, op, j->folder, &o->arena, &o->names);
    return op_wait(LISTED);
}

static struct op_next opening_settled(struct op *op)
{
    struct opening *o = opening_of(op);
    if (o->req.busy)
        return op_wait(SETTLED);
    if (o->req.err != OK && o->req.err != ERR_PERMISSION)
        return op_end(op, o->req.err);
    return op_goto(SETTLE);
}

/* Whether the name is one of ours: the path and what it is. */
static bool take_name(struct opening *o, const char *name)
{
    const struct journal *j = o->journal;
    o->is_spare = journal_spare_parse(name, &o->number);
    if (o->is_spare)
        journal_spare_path(o->path, j->folder, o->number);
    else if (journal_name_parse(name, &o->number))
        journal_path(o->path, j->folder, o->number);
    else
        return false;
    return true;
}

/* Asks for the size of the next segment or spare; after the last one makes a new segment. */
static struct op_next next_size(struct opening *o)
{
    struct journal *j = o->journal;
    while (o->at < o->names.count && !take_name(o, o->names.names[o->at]))
        o->at++;
    if (o->at < o->names.count) {
        io_stat(j->io, &o->req, &o->op, o->path, &o->stat);
        return op_wait(SIZED);
    }
    uint64_t id = u64_max(o->highest + 1, j->options.segment_min);
    journal_segment_make(&j->next, &o->op, j, id);
    return op_wait(FIRST);
}

static struct op_next opening_listed(struct op *op)
{
    struct opening *o = opening_of(op);
    if (o->req.busy)
        return op_wait(LISTED);
    return o->req.err == OK ? next_size(o) : op_end(op, o->req.err);
}

static void segment_seen(struct opening *o)
{
    struct journal *j = o->journal;
    o->highest = u64_max(o->highest, o->number);
    j->lowest = j->lowest ? u64_min(j->lowest, o->number) : o->number;
    j->counts.segments++;
}

static struct op_next opening_sized(struct op *op)
{
    struct opening *o = opening_of(op);
    struct journal *j = o->journal;
    if (o->req.busy)
        return op_wait(SIZED);
    if (o->req.err != OK)
        return op_end(op, o->req.err);
    bool is_wanted =
        j->counts.spares < j->options.spares_max && o->stat.size_bytes == j->options.segment_bytes;
    if (o->is_spare && !is_wanted) {
        io_remove(j->io, &o->req, op, o->path);
        return op_wait(DROPPED);
    }
    if (o->is_spare)
        j->spares[j->counts.spares++] = o->number;
    else
        segment_seen(o);
    j->counts.disk_bytes += o->stat.size_bytes;
    o->at++;
    return next_size(o);
}

static struct op_next opening_dropped(struct op *op)
{
    struct opening *o = opening_of(op);
    if (o->req.busy)
        return op_wait(DROPPED);
    if (o->req.err != OK)
        return op_end(op, o->req.err);
    o->at++;
    return next_size(o);
}

static struct op_next opening_first(struct op *op)
{
    struct opening *o = opening_of(op);
    struct journal *j = o->journal;
    if (j->next.busy)
        return op_wait(FIRST);
    if (j->next.err == ERR_NO_SPACE)
        journal_refuse(j, ERR_NO_SPACE); /* the node is to start, and to make room */
    else if (j->next.err != OK)
        return op_end(op, j->next.err);
    j->first = j->next.id;
    j->lowest = j->lowest ? j->lowest : j->first;
    o->is_started = true;
    journal_writer_start(j);
    return op_end(op, OK);
}

static const struct op_state states[] = {
    [LOOK] = { "journal look", opening_look, TO(LOOKED) },
    [LOOKED] = { "journal looked", opening_looked, TO(LOOK) | TO(MAKE) },
    [MAKE] = { "journal make", opening_make, TO(SETTLE) },
    [SETTLE] = { "journal settle", opening_settle, TO(SETTLED) | TO(LISTED) },
    [SETTLED] = { "journal settled", opening_settled, TO(SETTLE) },
    [LISTED] = { "journal listed", opening_listed, TO(SIZED) | TO(FIRST) },
    [SIZED] = { "journal sized", opening_sized, TO(DROPPED) | TO(FIRST) },
    [DROPPED] = { "journal dropped", opening_dropped, TO(SIZED) | TO(FIRST) },
    [FIRST] = { "journal first", opening_first, 0 },
};

static void opening_release(struct op *op)
{
    struct opening *o = opening_of(op);
    struct io_req *asked = o->asked;
    enum err err = op->err;
    if (o->is_started)
        *o->out = o->journal;
    else
        journal_free(o->journal);
    arena_deinit(&o->arena);
    mem_free(o);
    io_req_end(asked, err);
}

void journal_open(struct io *io, struct io_req *req, struct op *op,
                  const struct journal_options *options, struct journal **out)
{
    struct opening *o = mem_zalloc(sizeof *o);
    struct journal *j = mem_zalloc(sizeof *j);
    uint64_t bytes = options->segment_bytes;
    ensure(bytes % JOURNAL_BLOCK_BYTES == 0 && bytes >= (uint64_t)64 * 1024);
    ensure(bytes <= (uint64_t)1 << 31); /* a run is sized by 32 bits */
    ensure(strlen(options->folder) < JOURNAL_PATH_BYTES - 32);
    ensure(options->spares_max <= JOURNAL_SPARES_MAX);
    memcpy(j->folder, options->folder, strlen(options->folder) + 1);
    j->io = io;
    j->salt_seed = io_random(io);
    j->options = *options;
    j->options.folder = j->folder;
    list_init(&j->full);
    list_init(&j->spare);
    list_init(&j->refused);
    list_init(&j->forgets);
    *o = (struct opening){ .journal = j, .asked = req, .out = out };
    memcpy(o->above, j->folder, sizeof o->above);
    io_req_begin(req, op);
    op_start(&o->op, io_ops(io), op, states, opening_release);
}

/* sweep_ring.c - the stream of a sweep sent to a fresh ring, as a client sends it.
 *
 *     rondo cluster start ──> schema ──> part: rows sent ──> flush on each node ──> settled? ─┐
 *                                          ^                                                  │
 *                                          └── stop: files, reads ──(last) compact ──> stop ──┘
 *
 * One replica of each row, so a node has its share of them.  Nodes compact while rows are sent, as
 * they always do.  What a read opened is the growth of the nodes' counters while rows are read;
 * sizes are those of the files in the nodes' folders; times are the client's.
 *
 * Nodes build levels on flushes of at least 1 MiB, rounded up to whole ones: that is not scaled.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/sweep_ring.h"

#include "base/histogram.h"
#include "base/prng.h"
#include "command/command.h"
#include "command/nodes.h"
#include "command/operate.h"
#include "command/process.h"
#include "command/session.h"
#include "command/tell.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, IN_FLIGHT = 128, SETTLE_LOOK_MS = 50, QUIET_LOOKS = 3 };
enum { OVERLOADED_MS = 20, NODES_MOST = 3, ADDRESSES_TRIED = 100, CLIENT_PORT = 9042 };

struct ring {
    const struct sweep_engine_options *options;
    const struct sweep *sweep;
    struct arena arena; /* of one question */
    struct options command;
    char folder[PATH_BYTES], first[64], hosts[NODES_MOST][64];
    rd_session *session;
    rd_statement *insert, *update, *select;
    struct buf value;
};
struct ring_counts {
    double sstables, filter_skips, false_positives, reads, written, spread[SWEEP_SPREAD];
};

/* ---- processes ---- */

/* Runs `rondo cluster VERB` for the folder; true when it ended with 0. */
static bool cluster(struct ring *r, const char *verb)
{
    extern char **environ;
    char program[PATH_BYTES], nodes[16];
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int status = 1;
    if (!process_own_folder(program, sizeof program - sizeof "/rondo"))
        return false;
    memcpy(program + strlen(program), "/rondo", sizeof "/rondo");
    (void)snprintf(nodes, sizeof nodes, "%u", r->sweep->nodes);
    char *arguments[] = { program,   "cluster", (char *)verb, "--dir",  r->folder,
                          "--nodes", nodes,     "--address",  r->first, NULL };
    if (strcmp(verb, "stop") == 0)
        arguments[5] = NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawn(&pid, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (error == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return error == 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_DONE;
}

static bool address_is_free(const char *address)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(CLIENT_PORT) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_free = inet_pton(AF_INET, address, &at.sin_addr) == 1 && fd >= 0 &&
                   bind(fd, (const struct sockaddr *)(const void *)&at, sizeof at) == 0;
    if (fd >= 0)
        close(fd);
    return is_free;
}

/* Loopback addresses of our own: drawn, and nobody listens at the first of them. */
static bool addresses_find(struct ring *r)
{
    struct prng prng = { tell_now_ns() };
    for (int i = 0; i < ADDRESSES_TRIED; i++) {
        unsigned x = 64 + (unsigned)prng_below(&prng, 128);
        unsigned y = (unsigned)prng_below(&prng, 256);
        for (unsigned n = 0; n < r->sweep->nodes; n++)
            (void)snprintf(r->hosts[n], sizeof r->hosts[n], "127.%u.%u.%u", x, y, n + 1);
        memcpy(r->first, r->hosts[0], sizeof r->first);
        if (address_is_free(r->first))
            return true;
    }
    return tell_no("no free loopback address was found");
}

/* ---- asking ---- */

static bool statement_run(struct ring *r, struct bytes text)
{
    rd_code code = rd_query(r->session, arena_text(&r->arena, text), RD_ALL, NULL);
    if (code != RD_OK)
        (void)session_tell(r->session, code);
    return code == RD_OK;
}

/* The statement with a marker for each value: whole rows; the chosen columns; by the key. */
static void insert_text(const struct stand *s, struct buf *out)
{
    buf_printf(out, "INSERT INTO %s.%s (", s->keyspace, s->table);
    for (size_t i = 0; i < s->columns_count; i++)
        buf_printf(out, "%s%s", i ? ", " : "", s->columns[i].name);
    buf_put_text(out, ") VALUES (");
    for (size_t i = 0; i < s->columns_count; i++)
        buf_put_text(out, i ? ", ?" : "?");
    buf_put_text(out, ")");
}

static const struct stand_column *key_column(const struct stand *s, enum stand_role role)
{
    size_t i = 0;
    while (s->columns[i].role != role)
        i++;
    return &s->columns[i];
}

static void where_text(const struct stand *s, struct buf *out)
{
    buf_printf(out, " WHERE %s = ? AND %s = ?", key_column(s, STAND_REGISTER)->name,
               key_column(s, STAND_DOCUMENT)->name);
}

static void update_text(const struct sweep *s, struct buf *out)
{
    buf_printf(out, "UPDATE %s.%s SET ", s->stand.keyspace, s->stand.table);
    for (size_t i = 0; i < s->chosen_count; i++)
        buf_printf(out, "%s%s = ?", i ? ", " : "", s->chosen[i]->name);
    where_text(&s->stand, out);
}

static bool prepare(struct ring *r, struct buf *text, rd_statement **out)
{
    buf_put_u8(text, 0);
    rd_code code = rd_prepare(r->session, (const char *)text->data, out);
    buf_clear(text);
    if (code != RD_OK)
        (void)session_tell(r->session, code);
    return code == RD_OK;
}

static bool statements_prepare(struct ring *r)
{
    const struct stand *s = &r->sweep->stand;
    struct buf text = { 0 };
    insert_text(s, &text);
    bool is_good = prepare(r, &text, &r->insert);
    if (r->sweep->updates)
        update_text(r->sweep, &text);
    is_good = is_good && (!r->sweep->updates || prepare(r, &text, &r->update));
    buf_printf(&text, "SELECT * FROM %s.%s", s->keyspace, s->table);
    where_text(s, &text);
    is_good = is_good && prepare(r, &text, &r->select);
    buf_deinit(&text);
    return is_good;
}

static bool schema_make(struct ring *r)
{
    const struct stand *s = &r->sweep->stand;
    struct buf text = { 0 };
    buf_printf(&text,
               "CREATE KEYSPACE %s WITH replication = {'class': 'SimpleStrategy', "
               "'replication_factor': 1}",
               s->keyspace);
    bool is_good = statement_run(r, buf_bytes(&text));
    buf_clear(&text);
    stand_create(s, r->options->setting->partition, &text);
    if (r->options->setting->options[0])
        buf_printf(&text, " WITH %s", r->options->setting->options);
    is_good = is_good && statement_run(r, buf_bytes(&text)) && statements_prepare(r);
    buf_deinit(&text);
    return is_good;
}

static bool ring_open(struct ring *r)
{
    struct report report;
    if (options_parse(&r->command, TAKES_NODE, 0, NULL, &report) != OK || !addresses_find(r) ||
        !cluster(r, "start"))
        return false;
    r->command.hosts = r->first;
    r->session = session_open(&r->command, NULL, RD_AWARE, 1);
    return r->session && schema_make(r);
}

/* ---- writes ---- */

static rd_code value_bind(struct ring *r, rd_statement *to, size_t at, const struct stand_column *c,
                          uint64_t row, uint64_t version)
{
    buf_clear(&r->value);
    stand_value(&r->sweep->stand, c, row, version, &r->value);
    return rd_bind_bytes(to, at, r->value.data, r->value.size);
}

static rd_code key_bind(struct ring *r, rd_statement *to, size_t at, uint64_t row)
{
    const struct stand *s = &r->sweep->stand;
    rd_code code = value_bind(r, to, at, key_column(s, STAND_REGISTER), row, 0);
    return code == RD_OK ? value_bind(r, to, at + 1, key_column(s, STAND_DOCUMENT), row, 0) : code;
}

/* The i-th write of its kind. */
static bool write_send(struct ring *r, bool is_update, uint64_t i)
{
    const struct sweep *s = r->sweep;
    rd_statement *statement = is_update ? r->update : r->insert;
    uint64_t row = is_update ? sweep_update_row(s, i) : i;
    rd_code code = RD_OK;
    for (size_t k = 0; !is_update && k < s->stand.columns_count && code == RD_OK; k++)
        code = value_bind(r, statement, k, &s->stand.columns[k], row, 0);
    for (size_t k = 0; is_update && k < s->chosen_count && code == RD_OK; k++)
        code = value_bind(r, statement, k, s->chosen[k], row, i + 1);
    if (is_update && code == RD_OK)
        code = key_bind(r, statement, s->chosen_count, row);
    if (code == RD_OK)
        code = rd_send(r->session, statement, RD_ONE, i);
    if (code != RD_OK)
        (void)session_tell(r->session, code);
    return code == RD_OK;
}

static bool write_take(struct ring *r, bool is_update)
{
    uint64_t i = 0;
    rd_code code = rd_take(r->session, &i, NULL);
    if (code == RD_OK)
        return true;
    if (code != RD_OVERLOADED) {
        (void)session_tell(r->session, code);
        return false;
    }
    tell_pause_ms(OVERLOADED_MS);
    return write_send(r, is_update, i);
}

static bool part_write(struct ring *r, uint64_t flush)
{
    uint64_t first, count, sent = 0;
    bool is_update = sweep_part(r->sweep, flush, &first, &count), is_good = true;
    while (is_good && (sent < count || rd_in_flight(r->session) > 0)) {
        if (sent < count && rd_in_flight(r->session) < IN_FLIGHT)
            is_good = write_send(r, is_update, first + sent++);
        else
            is_good = write_take(r, is_update);
        is_good = is_good && !interrupt_came();
    }
    r->options->wrote(r->options->context, count);
    return is_good;
}

/* ---- nodes ---- */

/* An operation on each node; on the table, or on all of the node. */
static bool nodes_operate(struct ring *r, const char *verb, bool is_of_table)
{
    struct buf form = { 0 };
    int code = EXIT_DONE;
    form_put(&form, "keyspace", is_of_table ? r->sweep->stand.keyspace : NULL);
    form_put(&form, "table", is_of_table ? r->sweep->stand.table : NULL);
    for (unsigned n = 0; n < r->sweep->nodes && code == EXIT_DONE; n++) {
        const struct tree *said;
        r->command.hosts = r->hosts[n];
        code = operate(&r->command, &r->arena, verb, buf_bytes(&form), &said);
    }
    arena_reset(&r->arena);
    buf_deinit(&form);
    return code == EXIT_DONE;
}

/* Has node n nothing to compact, and is nothing under way?  What failed, or has no space, would be
 * waited for in vain. */
static bool node_is_quiet(struct ring *r, unsigned n, bool *is_quiet)
{
    r->command.hosts = r->hosts[n];
    const struct tree *said = nodes_get(&r->command, &r->arena, "/api/v1/compactions");
    const struct tree *running = tree_get(said, "running");
    bool is_good = said != NULL;
    *is_quiet = running && !running->first && tree_number(said, "pending", 1) == 0;
    if (tree_number(said, "failed", 0) + tree_number(said, "refused_for_space", 0) > 0)
        is_good = tell_no("%s: a compaction failed, or had no space", r->hosts[n]);
    arena_reset(&r->arena);
    return is_good;
}

static bool nodes_settle(struct ring *r)
{
    for (unsigned quiet = 0; quiet < QUIET_LOOKS * r->sweep->nodes;) {
        bool is_quiet;
        if (!node_is_quiet(r, quiet % r->sweep->nodes, &is_quiet) || interrupt_came())
            return false;
        quiet = is_quiet ? quiet + 1 : 0;
        if (quiet % r->sweep->nodes == 0)
            tell_pause_ms(SETTLE_LOOK_MS);
    }
    return true;
}

static void spread_take(const struct tree *list, double spread[SWEEP_SPREAD])
{
    size_t i = 0;
    for (const struct tree *each = list ? list->first : NULL; each; each = each->next, i++)
        spread[u64_min(i, SWEEP_SPREAD - 1)] += tree_value(each, 0);
}

/* What has come between, as shares of it. */
static void spread_share(const double before[SWEEP_SPREAD], const double after[SWEEP_SPREAD],
                         double out[SWEEP_SPREAD])
{
    double sum = 0;
    for (size_t i = 0; i < SWEEP_SPREAD; i++)
        sum += after[i] - before[i];
    for (size_t i = 0; i < SWEEP_SPREAD && sum > 0; i++)
        out[i] = (after[i] - before[i]) / sum;
}

/* Sums over the nodes. */
static bool counts_take(struct ring *r, struct ring_counts *out)
{
    const struct stand *s = &r->sweep->stand;
    *out = (struct ring_counts){ 0 };
    for (unsigned n = 0; n < r->sweep->nodes; n++) {
        r->command.hosts = r->hosts[n];
        const struct tree *counts =
            tree_get(nodes_get(&r->command, &r->arena, "/api/v1/status"), "counts");
        const char *page = arena_printf(&r->arena, "/api/v1/tables/%s/%s", s->keyspace, s->table);
        const struct tree *list = tree_get(nodes_get(&r->command, &r->arena, page), "tables");
        if (!counts || !list || !list->first)
            return false;
        out->sstables += tree_number(counts, "read_sstables", 0);
        out->filter_skips += tree_number(counts, "read_filter_skips", 0);
        out->false_positives += tree_number(counts, "read_false_positives", 0);
        out->reads += tree_number(counts, "store_reads", 0);
        out->written += tree_number(tree_get(list->first, "compaction"), "written_bytes", 0);
        spread_take(tree_get(list->first, "reads_by_sstables"), out->spread);
    }
    arena_reset(&r->arena);
    return true;
}

/* ---- files ---- */

static struct sweep_figures *counted; /* nftw hands nothing on */
static const char *counted_keyspace;

static bool ends_with(const char *path, const char *end)
{
    size_t size = strlen(path), of = strlen(end);
    return size >= of && strcmp(path + size - of, end) == 0;
}

static int file_count(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)at;
    bool is_data = ends_with(path, "-Data.db"), is_filter = ends_with(path, "-Filter.db");
    if (kind != FTW_F || !strstr(path, counted_keyspace) || !strstr(path, "-big-"))
        return 0;
    counted->files += is_data;
    *(is_data     ? &counted->data_bytes
      : is_filter ? &counted->filter_bytes
                  : &counted->index_bytes) += (double)st->st_size;
    return 0;
}

static void files_count(struct ring *r, struct sweep_figures *out)
{
    char keyspace[PATH_BYTES];
    (void)snprintf(keyspace, sizeof keyspace, "/data/%s/", r->sweep->stand.keyspace);
    out->files = out->data_bytes = out->filter_bytes = out->index_bytes = 0;
    counted = out, counted_keyspace = keyspace;
    (void)nftw(r->folder, file_count, 16, FTW_PHYS);
    counted = NULL, counted_keyspace = NULL;
    out->files /= r->sweep->nodes;
}

/* ---- reads ---- */

static bool read_one(struct ring *r, uint64_t row, struct histogram *h)
{
    rd_result *result = NULL;
    uint64_t begun = tell_now_ns();
    rd_code code = key_bind(r, r->select, 0, row);
    if (code == RD_OK)
        code = rd_execute(r->session, r->select, RD_ONE, &result);
    histogram_add(h, tell_now_ns() - begun);
    if (code != RD_OK)
        (void)session_tell(r->session, code);
    bool is_there = code == RD_OK && rd_next(result);
    rd_result_free(result);
    return is_there || (code == RD_OK && tell_no("a row that was written is not read"));
}

static bool reads_do(struct ring *r, uint64_t rows, uint64_t count, bool is_cold,
                     struct histogram *h)
{
    struct prng prng = { rows };
    bool is_good = true;
    for (uint64_t i = 0; i < count && is_good; i++)
        is_good = !interrupt_came() && (!is_cold || nodes_operate(r, "cachedrop", false)) &&
                  read_one(r, prng_below(&prng, rows), h);
    return is_good;
}

static bool measure(struct ring *r, uint64_t rows, struct sweep_figures *out)
{
    const struct sweep *s = r->sweep;
    struct ring_counts before, after;
    struct histogram untimed = { 0 }, warm = { 0 }, cold = { 0 };
    files_count(r, out);
    if (!reads_do(r, rows, s->reads, false, &untimed) || !counts_take(r, &before) ||
        !reads_do(r, rows, s->reads, false, &warm) || !counts_take(r, &after) ||
        !reads_do(r, rows, s->cold_reads, true, &cold))
        return false;
    double reads = fmax(1, after.reads - before.reads);
    out->written_bytes = after.written;
    out->sstables_per_read = (after.sstables - before.sstables) / reads;
    out->filter_skips = (after.filter_skips - before.filter_skips) / reads;
    out->false_positives = (after.false_positives - before.false_positives) / reads;
    spread_share(before.spread, after.spread, out->spread);
    out->warm_p50_us = (double)histogram_quantile(&warm, 0.5) / 1000;
    out->warm_p99_us = (double)histogram_quantile(&warm, 0.99) / 1000;
    if (s->cold_reads) {
        out->cold_p50_us = (double)histogram_quantile(&cold, 0.5) / 1000;
        out->cold_p99_us = (double)histogram_quantile(&cold, 0.99) / 1000;
    }
    return true;
}

/* ---- the run ---- */

static bool stop_measure(struct ring *r, uint64_t flush, double floor, struct sweep_figures *out)
{
    uint64_t first, count, rows = r->sweep->rows;
    if (flush < r->sweep->load_flushes) {
        (void)sweep_part(r->sweep, flush, &first, &count);
        rows = first;
    }
    sweep_figures_unknown(out);
    out->flush = (double)flush;
    if (!measure(r, rows, out))
        return false;
    out->floor_bytes = floor > 0 ? floor : out->data_bytes;
    out->rewrites_per_byte = out->written_bytes / out->floor_bytes;
    out->space_over_floor = out->data_bytes / out->floor_bytes;
    return true;
}

static bool stream_run(struct ring *r, struct sweep_row *out)
{
    const struct sweep *s = r->sweep;
    struct sweep_stops *stops = &out->measured;
    for (uint64_t flush = 1; flush <= sweep_flushes(s); flush++) {
        if (!part_write(r, flush - 1) || !nodes_operate(r, "flush", true) || !nodes_settle(r))
            return false;
        if (stops->count == s->stops_count || s->stops[stops->count] != flush)
            continue;
        if (!stop_measure(r, flush, r->options->floors[stops->count], &stops->at[stops->count]))
            return false;
        stops->count++;
    }
    return nodes_operate(r, "compact", true) && nodes_settle(r) &&
           stop_measure(r, sweep_flushes(s), 0, &out->after_major);
}

void sweep_ring_stop(const char *folder)
{
    static struct ring ring;
    struct sweep none = { 0 };
    struct ring *r = &ring;
    *r = (struct ring){ .sweep = &none };
    (void)snprintf(r->folder, sizeof r->folder, "%s/node1", folder);
    bool has_nodes = access(r->folder, F_OK) == 0;
    (void)snprintf(r->folder, sizeof r->folder, "%s", folder);
    if (has_nodes)
        (void)cluster(r, "stop");
}

enum err sweep_ring(const struct sweep_engine_options *options, const double *flush_bytes,
                    struct arena *arena, struct sweep_row *out, struct report *report)
{
    static struct ring ring;
    struct ring *r = &ring;
    *r = (struct ring){ .options = options, .sweep = options->sweep };
    (void)snprintf(r->folder, sizeof r->folder, "%s", options->folder);
    *out = (struct sweep_row){ .name = options->setting->name };
    out->flushes_count = sweep_flushes(options->sweep);
    out->flush_bytes = arena_array(arena, double, out->flushes_count);
    memcpy(out->flush_bytes, flush_bytes, out->flushes_count * sizeof *flush_bytes);
    out->is_measured = ring_open(r) && stream_run(r, out);
    if (r->session)
        rd_close(r->session);
    if (interrupt_came())
        interrupt_ignore(); /* nodes that nobody stops would run on */
    (void)cluster(r, "stop");
    buf_deinit(&r->value);
    arena_deinit(&r->arena);
    sweep_stops_mean(&out->measured);
    if (out->is_measured)
        return OK;
    bool came = interrupt_came();
    return report_set(report, came ? ERR_STOPPED : ERR_IO, "%s",
                      came ? "interrupted" : "the ring could not be measured");
}

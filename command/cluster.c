/* cluster.c - `rondo cluster start|stop|status|kill N|restart N`: a cluster on this machine.
 *
 * Nodes are processes of their own session that go on when this command has ended.  All are started
 * at the same moment; `start` returns when every one of them serves, and when one does not, or the
 * command is interrupted, those that it started are stopped again.  Only processes that pid files
 * name, and that started when the pid file says, are ever touched.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "command/command.h"
#include "command/http.h"
#include "command/layout.h"
#include "command/table.h"
#include "command/tell.h"
#include "command/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SERVE_MS_MAX = 60 * 1000,
    MEET_MS_MAX = 20 * 1000,
    STOP_MS_MAX = 10 * 1000,
    LOOK_EVERY_MS = 20,
    ASK_MS = 1000
};

static bool node_is_alive(const struct layout_node *node)
{
    return process_is_alive(&node->process);
}

static bool node_serves(const struct layout_node *node)
{
    struct arena arena = { 0 };
    struct http_answer answer;
    enum err err =
        http_get(&arena, node->address, node->admin_port, "/health/ready", ASK_MS, &answer);
    bool is_serving = err == OK && answer.status == 200;
    arena_deinit(&arena);
    return is_serving;
}

/* ---- ending ---- */

/* Ends the nodes of the mask: politely, and after ten seconds by force. */
static void nodes_end(struct layout *l, uint64_t mask)
{
    uint64_t deadline_ns = tell_now_ns() + (uint64_t)STOP_MS_MAX * 1000000;
    interrupt_ignore();
    for (unsigned i = 0; i < l->count; i++)
        if (mask >> i & 1)
            process_signal(&l->nodes[i].process, SIGTERM);
    for (unsigned i = 0; i < l->count; i++) {
        struct layout_node *node = &l->nodes[i];
        uint64_t now = tell_now_ns();
        if (!(mask >> i & 1))
            continue;
        unsigned left_ms = now < deadline_ns ? (unsigned)((deadline_ns - now) / 1000000) : 0;
        if (!process_wait_end(&node->process, left_ms)) {
            (void)tell("node %u did not stop within 10 s: it is killed", node->number);
            process_signal(&node->process, SIGKILL);
            (void)process_wait_end(&node->process, STOP_MS_MAX);
        }
        node->process = (struct process){ 0 };
        (void)layout_note_process(node);
    }
}

/* ---- starting ---- */

static bool node_spawn(struct layout_node *node, char *program)
{
    char config[LAYOUT_PATH_BYTES], console[LAYOUT_PATH_BYTES];
    layout_path(node, "rondo.yaml", config);
    layout_path(node, "console", console);
    char *const arguments[] = { program, "--config", config, NULL };
    (void)unlink(console);
    if (process_spawn(arguments, console, &node->process))
        return layout_note_process(node);
    (void)tell("%s cannot be started: %s", program, strerror(errno));
    return false;
}

static int node_has_ended(const struct layout_node *node)
{
    char words[1024];
    layout_last_words(node, words, sizeof words);
    if (words[0])
        return tell("node %u: %s", node->number, words);
    return tell("node %u ended without a word; its log is %s/rondod.log", node->number,
                node->folder);
}

/* Waits until all of the mask serve; EXIT_DONE, or the reason is told. */
static int nodes_await(const struct layout *l, uint64_t mask)
{
    uint64_t deadline_ns = tell_now_ns() + (uint64_t)SERVE_MS_MAX * 1000000;
    while (mask) {
        unsigned at = (unsigned)__builtin_ctzll(mask);
        for (unsigned i = 0; i < l->count; i++)
            if (mask >> i & 1 && !node_is_alive(&l->nodes[i]))
                return node_has_ended(&l->nodes[i]);
        if (interrupt_came())
            return EXIT_INTERRUPTED;
        if (node_serves(&l->nodes[at])) {
            mask &= mask - 1;
            continue;
        }
        if (tell_now_ns() >= deadline_ns)
            return tell("node %u does not serve after %d s; its log is %s/rondod.log",
                        l->nodes[at].number, SERVE_MS_MAX / 1000, l->nodes[at].folder);
        tell_pause_ms(LOOK_EVERY_MS);
    }
    return EXIT_DONE;
}

/* Does the node see every node that runs as up? */
static bool node_sees_all(const struct layout *l, const struct layout_node *node)
{
    struct arena arena = { 0 };
    struct http_answer answer;
    enum err err =
        http_get(&arena, node->address, node->admin_port, "/api/v1/status", ASK_MS, &answer);
    const struct tree *list = err == OK ? tree_get(tree_parse(&arena, answer.body), "nodes") : NULL;
    bool sees_all = list != NULL;
    for (unsigned i = 0; i < l->count && sees_all; i++) {
        char native[96];
        (void)snprintf(native, sizeof native, "%s:%u", l->nodes[i].address, l->nodes[i].port);
        bool is_seen = !node_is_alive(&l->nodes[i]);
        for (const struct tree *n = list->first; n && !is_seen; n = n->next)
            is_seen =
                bytes_equal(tree_text(n, "native"), bytes_text(native)) && tree_is_true(n, "up");
        sees_all = is_seen;
    }
    arena_deinit(&arena);
    return sees_all;
}

/* Waits until all that run see one another, so that ALL is answered from here on. */
static int nodes_meet(const struct layout *l)
{
    uint64_t deadline_ns = tell_now_ns() + (uint64_t)MEET_MS_MAX * 1000000;
    for (unsigned i = 0; i < l->count; i++) {
        const struct layout_node *node = &l->nodes[i];
        while (node_is_alive(node) && !node_sees_all(l, node)) {
            if (interrupt_came())
                return EXIT_INTERRUPTED;
            if (tell_now_ns() >= deadline_ns)
                return tell("node %u serves, but does not see the others after %d s; its log is "
                            "%s/rondod.log",
                            node->number, MEET_MS_MAX / 1000, node->folder);
            tell_pause_ms(LOOK_EVERY_MS);
        }
    }
    return EXIT_DONE;
}

/* Starts the nodes of the mask, all or none. */
static int nodes_start(struct layout *l, uint64_t mask)
{
    char program[LAYOUT_PATH_BYTES];
    uint64_t started = 0;
    int exit_code = EXIT_DONE;
    if (!process_own_folder(program, sizeof program - sizeof "/rondod"))
        return tell("the folder of this program cannot be found");
    memcpy(program + strlen(program), "/rondod", sizeof "/rondod");
    interrupt_defer();
    for (unsigned i = 0; i < l->count && exit_code == EXIT_DONE; i++) {
        if (!(mask >> i & 1))
            continue;
        exit_code = node_spawn(&l->nodes[i], program) ? EXIT_DONE : EXIT_FAILED;
        started |= l->nodes[i].process.pid ? UINT64_C(1) << i : 0;
    }
    if (exit_code == EXIT_DONE)
        exit_code = nodes_await(l, mask);
    if (exit_code == EXIT_DONE)
        exit_code = nodes_meet(l);
    if (exit_code != EXIT_DONE)
        nodes_end(l, started);
    return exit_code;
}

/* ---- the commands ---- */

static const char *node_state(const struct layout_node *node)
{
    if (!node_is_alive(node))
        return "stopped";
    return node_serves(node) ? "serves" : "starting";
}

static void node_json(struct json *j, const struct layout_node *node)
{
    json_open(j, NULL, '{');
    json_unsigned(j, "node", node->number);
    json_text(j, "state", node_state(node));
    json_number(j, "pid", node_is_alive(node) ? node->process.pid : 0);
    json_text(j, "address", node->address);
    json_unsigned(j, "port", node->port);
    json_unsigned(j, "admin_port", node->admin_port);
    json_text(j, "folder", node->folder);
    json_close(j);
}

static void nodes_json(const struct layout *l)
{
    struct buf out = { 0 };
    struct json j = json_into(&out);
    json_open(&j, NULL, '{');
    json_open(&j, "nodes", '[');
    for (unsigned i = 0; i < l->count; i++)
        node_json(&j, &l->nodes[i]);
    json_close(&j);
    json_close(&j);
    buf_put_u8(&out, '\n');
    fwrite(out.data, 1, out.size, stdout);
    buf_deinit(&out);
}

static void nodes_table(const struct layout *l)
{
    static const char *const columns[] = { "node", "state", "pid", "clients", "admin", "folder" };
    struct table t;
    table_init(&t, stdout);
    for (size_t i = 0; i < array_count(columns); i++)
        table_heading(&t, columns[i], i == 0 || i == 2);
    for (unsigned i = 0; i < l->count; i++) {
        const struct layout_node *node = &l->nodes[i];
        table_printf(&t, "%u", node->number);
        table_printf(&t, "%s", node_state(node));
        table_printf(&t, "%d", node_is_alive(node) ? (int)node->process.pid : 0);
        table_printf(&t, "%s:%u", node->address, node->port);
        table_printf(&t, "%s:%u", node->address, node->admin_port);
        table_cell(&t, bytes_text(node->folder));
    }
    table_finish(&t);
}

static int cluster_show(const struct layout *l, const struct options *o)
{
    if (l->count == 0)
        return tell("there is no cluster in %s; make one with: rondo cluster start --dir %s",
                    o->dir, o->dir);
    if (o->json)
        nodes_json(l);
    else
        nodes_table(l);
    return EXIT_DONE;
}

/* What the options ask for must be what the folder holds. */
static bool layout_agrees(const struct layout *l, const struct options *o)
{
    if (o->given[OPTION_nodes] && o->nodes != l->count) {
        (void)tell("%s holds a cluster of %s, not of %u: joining and leaving are not there yet",
                   o->dir, counted_of(l->count, "node").text, (unsigned)o->nodes);
        return false;
    }
    if (o->given[OPTION_address] && strcmp(o->address, l->nodes[0].address) != 0) {
        (void)tell("the cluster in %s begins at %s, not at %s: its rondo.yaml files say where it "
                   "listens",
                   o->dir, l->nodes[0].address, o->address);
        return false;
    }
    return true;
}

static int cluster_start(struct layout *l, const struct options *o)
{
    char address[64];
    uint64_t mask = 0;
    if (!layout_address(o->address, 0, address)) {
        (void)tell("--address is an IPv4 address, not '%s'", o->address);
        return EXIT_USAGE;
    }
    if (l->count > 0 ? !layout_agrees(l, o) : !layout_make(l, o))
        return EXIT_FAILED;
    for (unsigned i = 0; i < l->count; i++)
        if (!node_is_alive(&l->nodes[i]))
            mask |= UINT64_C(1) << i;
    int exit_code = nodes_start(l, mask);
    return exit_code == EXIT_DONE ? cluster_show(l, o) : exit_code;
}

static int cluster_stop(struct layout *l)
{
    interrupt_defer();
    nodes_end(l, l->count == 64 ? UINT64_MAX : (UINT64_C(1) << l->count) - 1);
    return interrupt_came() ? EXIT_INTERRUPTED : EXIT_DONE;
}

static int cluster_kill(struct layout_node *node)
{
    if (!node_is_alive(node))
        return tell("node %u does not run", node->number);
    process_signal(&node->process, SIGKILL);
    if (!process_wait_end(&node->process, STOP_MS_MAX))
        return tell("node %u lives on after SIGKILL: its disk may be stuck", node->number);
    node->process = (struct process){ 0 };
    return layout_note_process(node) ? EXIT_DONE : EXIT_FAILED;
}

static int cluster_restart(struct layout *l, unsigned number)
{
    uint64_t mask = UINT64_C(1) << (number - 1);
    nodes_end(l, mask);
    interrupt_watch(); /* the end is behind us: heeded again */
    return nodes_start(l, mask);
}

/* The node that the second word names; 0 when it is none, and that is told. */
static unsigned node_named(const struct layout *l, const struct options *o)
{
    char *end;
    unsigned long number = strtoul(o->words[1], &end, 10);
    if (*end == '\0' && number >= 1 && number <= l->count)
        return (unsigned)number;
    (void)tell("%s holds the nodes 1 to %u, not '%s'", o->dir, l->count, o->words[1]);
    return 0;
}

static int usage(const char *sentence)
{
    (void)tell("%s; see: rondo help cluster", sentence);
    return EXIT_USAGE;
}

static int cluster_act(struct layout *l, const struct options *o)
{
    const char *verb = o->words[0];
    if (strcmp(verb, "start") == 0)
        return cluster_start(l, o);
    if (strcmp(verb, "stop") == 0)
        return cluster_stop(l);
    if (strcmp(verb, "status") == 0)
        return cluster_show(l, o);
    unsigned number = l->count ? node_named(l, o) : 0;
    if (number == 0)
        return l->count ? EXIT_FAILED : cluster_show(l, o);
    if (strcmp(verb, "kill") == 0)
        return cluster_kill(&l->nodes[number - 1]);
    return cluster_restart(l, number);
}

int cluster_run(const struct options *o)
{
    static const struct {
        const char *name;
        size_t words;
    } verbs[] = { { "start", 1 }, { "stop", 1 }, { "status", 1 }, { "kill", 2 }, { "restart", 2 } };
    static struct layout layout;
    size_t at = 0;
    while (at < array_count(verbs) && strcmp(verbs[at].name, o->words[0]) != 0)
        at++;
    if (at == array_count(verbs))
        return usage("cluster can start, stop, status, kill N, restart N");
    if (verbs[at].words != o->words_count)
        return usage(verbs[at].words == 2 ? "say which node: 1, 2, ..."
                                          : "that is a word too many");
    if (!*o->dir)
        return usage("--dir DIR says where the cluster is");
    return layout_read(&layout, o->dir) ? cluster_act(&layout, o) : EXIT_FAILED;
}

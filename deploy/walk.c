/* walk.c - demo_walk: the part of deploy/demo that is done with the C driver, nothing else.
 *
 *     demo_walk levels HOSTS    points at ONE, QUORUM and ALL: a table of medians and p99
 *     demo_walk without HOSTS   one node is down: QUORUM reads and writes, ALL is Unavailable
 *     demo_walk pinned HOST     one node, and no other: does it have the rows?
 *
 * The rows to ask for are a sample, spread over the whole table.  Each answer is checked to be the
 * row that was asked for.  Whatever is not as it should be is one line, and exit code 1.
 */
// SPDX-License-Identifier: Apache-2.0
#include "driver/rondo.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLE_MAX = 2000, SAMPLE_EVERY = 29, KEY_PARTS = 4, NODES_MAX = 64 };

struct key {
    char *parts[KEY_PARTS]; /* section, package, version, architecture */
};
struct walk {
    rd_session *session;
    rd_statement *read, *write;
    struct key keys[SAMPLE_MAX];
    size_t keys_count;
};
struct level {
    const char *name;
    rd_consistency consistency;
};
static const struct level levels[] = { { "ONE", RD_ONE },
                                       { "QUORUM", RD_QUORUM },
                                       { "ALL", RD_ALL } };

static _Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void fail(const char *format, ...)
{
    va_list args;
    fflush(stdout);
    fputs("demo: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

static void check(const struct walk *w, rd_code code, const char *what)
{
    if (code != RD_OK)
        fail("%s: %s", what, rd_error(w->session));
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static char *copy_of(const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        fail("no memory");
    return copy;
}

static void walk_open(struct walk *w, const char *hosts, rd_routing routing)
{
    char error[512] = "";
    rd_options options = { .hosts = hosts, .keyspace = "demo", .routing = routing };
    if (rd_connect(&options, &w->session, error, sizeof error) != RD_OK)
        fail("%s", error);
    check(w,
          rd_prepare(w->session,
                     "SELECT section, package, version, architecture, description FROM packages "
                     "WHERE section = ? AND package = ? AND version = ? AND architecture = ?",
                     &w->read),
          "preparing");
    check(w,
          rd_prepare(w->session,
                     "UPDATE packages SET description = ? WHERE section = ? AND package = ? AND "
                     "version = ? AND architecture = ?",
                     &w->write),
          "preparing");
}

/* Every SAMPLE_EVERY-th key of the table. */
static void keys_sample(struct walk *w, rd_consistency level)
{
    rd_result *r = NULL;
    size_t seen = 0;
    check(w,
          rd_query(w->session, "SELECT section, package, version, architecture FROM packages",
                   level, &r),
          "reading keys");
    while (rd_next(r) && w->keys_count < SAMPLE_MAX) {
        if (seen++ % SAMPLE_EVERY != 0)
            continue;
        struct key *key = &w->keys[w->keys_count++];
        for (size_t i = 0; i < KEY_PARTS; i++)
            key->parts[i] = copy_of(rd_text(r, i));
    }
    check(w, rd_result_code(r), "reading keys");
    rd_result_free(r);
    if (w->keys_count == 0)
        fail("the table has no rows");
}

static void key_bind(struct walk *w, rd_statement *statement, size_t at, const struct key *key)
{
    for (size_t i = 0; i < KEY_PARTS; i++)
        check(w, rd_bind_text(statement, at + i, key->parts[i], strlen(key->parts[i])), "binding");
}

/* RD_OK: the row came, and it is that row. */
static rd_code key_read(struct walk *w, const struct key *key, rd_consistency level)
{
    rd_result *r = NULL;
    key_bind(w, w->read, 0, key);
    rd_code code = rd_execute(w->session, w->read, level, &r);
    if (code != RD_OK)
        return code;
    if (!rd_next(r))
        fail("%s %s is not there", key->parts[1], key->parts[2]);
    for (size_t i = 0; i < KEY_PARTS; i++)
        if (strcmp(rd_text(r, i), key->parts[i]) != 0)
            fail("asked for %s %s, got %s", key->parts[1], key->parts[2], rd_text(r, i));
    if (rd_next(r))
        fail("%s %s is there twice", key->parts[1], key->parts[2]);
    rd_result_free(r);
    return RD_OK;
}

static rd_code key_write(struct walk *w, const struct key *key, rd_consistency level)
{
    static const char text[] = "written while a node was down";
    check(w, rd_bind_text(w->write, 0, text, sizeof text - 1), "binding");
    key_bind(w, w->write, 1, key);
    return rd_execute(w->session, w->write, level, NULL);
}

/* ---- levels ---- */

static int double_compare(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void level_measure(struct walk *w, const struct level *level)
{
    static double took_us[SAMPLE_MAX];
    for (size_t i = 0; i < w->keys_count; i++) /* once without the clock: prepared, connected */
        check(w, key_read(w, &w->keys[i], level->consistency), level->name);
    for (size_t i = 0; i < w->keys_count; i++) {
        double begun_us = now_us();
        check(w, key_read(w, &w->keys[i], level->consistency), level->name);
        took_us[i] = now_us() - begun_us;
    }
    qsort(took_us, w->keys_count, sizeof took_us[0], double_compare);
    printf(" %-6s | %6zu | %9.0f | %6.0f\n", level->name, w->keys_count, took_us[w->keys_count / 2],
           took_us[w->keys_count * 99 / 100]);
}

static void walk_levels(const char *hosts)
{
    static struct walk w;
    walk_open(&w, hosts, RD_AWARE);
    keys_sample(&w, RD_QUORUM);
    printf(" level  | points | median us | p99 us\n");
    printf("--------+--------+-----------+-------\n");
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        level_measure(&w, &levels[i]);
    printf("%.0f%% of them were sent to a replica of their key\n",
           100 * rd_replica_share(w.session));
    rd_close(w.session);
}

/* ---- without one node ---- */

/* The nodes that are not up, as "a, b". */
static void down_print(const struct walk *w, char *out, size_t room)
{
    rd_node nodes[NODES_MAX];
    size_t count = rd_nodes(w->session, nodes, NODES_MAX), size = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count && i < NODES_MAX && size < room; i++)
        if (!nodes[i].is_up)
            size += (size_t)snprintf(out + size, room - size, "%s%s:%u", size ? ", " : "",
                                     nodes[i].address, nodes[i].port);
}

static void all_is_unavailable(struct walk *w)
{
    char down[512];
    for (size_t i = 0; i < w->keys_count; i++) {
        rd_code code = key_read(w, &w->keys[i], RD_ALL);
        if (code == RD_OK)
            continue; /* the node that is down is no replica of it */
        if (code != RD_UNAVAILABLE)
            fail("ALL is not Unavailable, but: %s", rd_error(w->session));
        rd_failure failure = rd_last_failure(w->session);
        if (failure.required != 3 || failure.alive != 2)
            fail("ALL: %d required and %d alive, not 3 and 2", failure.required, failure.alive);
        down_print(w, down, sizeof down);
        if (!down[0])
            fail("ALL is Unavailable, but every node is said to be up");
        printf("ALL is Unavailable: 3 required, 2 alive; down: %s\n", down);
        return;
    }
    fail("ALL goes on although a node is down");
}

static void walk_without(const char *hosts)
{
    static struct walk w;
    walk_open(&w, hosts, RD_AWARE);
    keys_sample(&w, RD_QUORUM);
    for (size_t i = 0; i < w.keys_count; i++)
        check(&w, key_read(&w, &w.keys[i], RD_QUORUM), "reading at QUORUM");
    for (size_t i = 0; i < w.keys_count; i += 10)
        check(&w, key_write(&w, &w.keys[i], RD_QUORUM), "writing at QUORUM");
    printf("QUORUM goes on: %zu reads, %zu writes\n", w.keys_count, (w.keys_count + 9) / 10);
    all_is_unavailable(&w);
    rd_close(w.session);
}

/* ---- one node ---- */

static void walk_pinned(const char *host)
{
    static struct walk w;
    walk_open(&w, host, RD_PINNED);
    keys_sample(&w, RD_ONE);
    for (size_t i = 0; i < w.keys_count; i++)
        check(&w, key_read(&w, &w.keys[i], RD_ONE), "reading at ONE");
    for (size_t i = 0; i < w.keys_count; i += 10)
        check(&w, key_read(&w, &w.keys[i], RD_ALL), "reading at ALL");
    printf("%s answers %zu reads at ONE, and %zu at ALL\n", host, w.keys_count,
           (w.keys_count + 9) / 10);
    rd_close(w.session);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(const char *hosts);
    } walks[] = { { "levels", walk_levels },
                  { "without", walk_without },
                  { "pinned", walk_pinned } };
    for (size_t i = 0; count == 3 && i < sizeof walks / sizeof walks[0]; i++) {
        if (strcmp(walks[i].name, arguments[1]) != 0)
            continue;
        walks[i].run(arguments[2]);
        return 0;
    }
    fprintf(stderr, "demo_walk levels|without|pinned HOSTS\n");
    return 2;
}

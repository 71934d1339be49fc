/* operate.c - see operate.h.
 *
 *     GET /api/v1/info (TCP) ──> its socket's path ──> POST /api/v1/ops/<verb> (socket)
 *                                          GET /api/v1/ops/<id>, again and again ──> done | failed
 *
 * An interrupt ends the command, not the operation: that is said, and where it can be looked at.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/operate.h"

#include "command/command.h"
#include "command/nodes.h"
#include "command/progress.h"
#include "command/tell.h"

enum { ASK_MS = 10000, PAUSE_LEAST_MS = 2, PAUSE_MOST_MS = 200 };

/* The path of the node's socket; NULL when the reason has been told. */
static const char *socket_find(const struct options *o, struct arena *arena)
{
    const struct tree *info = nodes_get(o, arena, "/api/v1/info");
    struct bytes path = tree_text(info, "socket");
    if (!info)
        return NULL;
    if (path.size == 0 || path.data[0] != '/') {
        (void)tell("%s does not name the socket that operations go through", o->hosts);
        return NULL;
    }
    return arena_text(arena, path);
}

static const struct tree *answer_take(struct arena *arena, const char *path, enum err err,
                                      const struct http_answer *answer)
{
    const struct tree *said = NULL;
    if (err != OK) {
        (void)tell("operations go through %s, which does not answer here (%s): run this on the "
                   "node's machine, as its user",
                   path, err_text(err));
        return NULL;
    }
    if (answer->status == 200 || answer->status == 202)
        said = tree_parse(arena, answer->body);
    if (!said)
        (void)tell("%.*s", (int)strcspn(arena_text(arena, answer->body), "\n"),
                   (const char *)answer->body.data);
    return said;
}

static void progress_show(struct progress *p, struct arena *arena, const struct tree *said)
{
    const struct tree *progress = tree_get(said, "progress");
    if (!*p->unit) /* it has one once it has begun */
        p->unit = arena_text(arena, tree_text(progress, "unit"));
    uint64_t done = (uint64_t)tree_number(progress, "done", 0);
    p->total = (uint64_t)tree_number(progress, "total", 0);
    progress_at(p, done, done);
}

static bool is_running(const struct tree *said)
{
    return bytes_equal(tree_text(said, "state"), bytes_text("running"));
}

/* Asks until it has ended, or until nobody wants to know any more; false when the reason has been
 * told.  *said is the last answer.  What is said meanwhile takes no more room than two answers. */
static bool operation_watch(struct arena *arena, const char *path, const char *verb,
                            const struct tree **said)
{
    struct http_answer answer;
    struct progress progress;
    struct arena turns[2] = { { 0 } };
    unsigned pause_ms = PAUSE_LEAST_MS;
    const struct tree *next = *said;
    const char *page = arena_printf(arena, "/api/v1/ops/%.0f", tree_number(*said, "id", 0));
    progress_begin(&progress, verb, "", 0);
    for (unsigned turn = 0; next && is_running(next) && !interrupt_came(); turn ^= 1) {
        tell_pause_ms(pause_ms);
        pause_ms = (unsigned)u64_min((uint64_t)pause_ms * 2, PAUSE_MOST_MS);
        arena_reset(&turns[turn]);
        enum err err = http_get(&turns[turn], path, 0, page, ASK_MS, &answer);
        if (interrupt_came())
            break;
        if (err != OK)
            (void)tell("the node does not answer any more: %s", err_text(err));
        next = err == OK ? answer_take(&turns[turn], path, err, &answer) : NULL;
        if (next)
            progress_show(&progress, arena, next);
        *said = next ? next : *said;
    }
    progress_hide(&progress);
    *said = tree_parse(arena, arena_copy(arena, (*said)->source));
    arena_deinit(&turns[0]);
    arena_deinit(&turns[1]);
    return next != NULL;
}

static int operation_leave(const struct tree *said, const char *verb)
{
    double id = tree_number(said, "id", 0);
    (void)tell("interrupted; the node goes on with this %s as operation %.0f, which "
               "/api/v1/ops/%.0f tells of",
               verb, id, id);
    return EXIT_INTERRUPTED;
}

int operate(const struct options *o, struct arena *arena, const char *verb, struct bytes form,
            const struct tree **out)
{
    struct http_answer answer;
    const char *path = socket_find(o, arena);
    *out = NULL;
    if (!path)
        return EXIT_FAILED;
    enum err err =
        http_post(arena, path, arena_printf(arena, "/api/v1/ops/%s", verb), form, ASK_MS, &answer);
    const struct tree *said = answer_take(arena, path, err, &answer);
    interrupt_defer();
    bool is_heard = said && operation_watch(arena, path, verb, &said);
    *out = said;
    if (!is_heard)
        return EXIT_FAILED;
    if (is_running(said))
        return operation_leave(said, verb);
    struct bytes error = tree_text(said, "error");
    if (o->json)
        printf("%.*s\n", (int)said->source.size, (const char *)said->source.data);
    if (error.size == 0)
        return EXIT_DONE;
    return tell("%s: %.*s", verb, (int)error.size, (const char *)error.data);
}

int operate_plainly(const struct options *o, const char *verb, struct buf *form)
{
    struct arena arena = { 0 };
    const struct tree *said;
    int code = operate(o, &arena, verb, buf_bytes(form), &said);
    buf_deinit(form);
    arena_deinit(&arena);
    return code;
}

void form_put_table(struct buf *form, const struct options *o, size_t first_word)
{
    struct arena arena = { 0 };
    const char *keyspace = first_word < o->words_count ? o->words[first_word] : NULL;
    const char *table = first_word + 1 < o->words_count ? o->words[first_word + 1] : NULL;
    const char *dot = keyspace && !table ? strchr(keyspace, '.') : NULL;
    if (dot && dot > keyspace && dot[1]) { /* else it is the name of no keyspace */
        table = dot + 1;
        keyspace =
            arena_text(&arena, bytes_of((const uint8_t *)keyspace, (size_t)(dot - keyspace)));
    }
    form_put(form, "keyspace", keyspace);
    form_put(form, "table", table);
    arena_deinit(&arena);
}

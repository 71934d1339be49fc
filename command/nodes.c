/* nodes.c - what the nodes of a ring say of themselves: their status, asked through their admin
 * ports.
 *
 * The first node's answer names all nodes and where their admin ports are; each is then asked
 * itself, so that what is shown of a node is what it says, and a node that is seen up but does not
 * answer is visible as that.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/nodes.h"

#include "command/http.h"
#include "command/tell.h"

#include <stdlib.h>

enum { ASK_FIRST_MS = 5000, ASK_OTHERS_MS = 2000 };
static const char status_path[] = "/api/v1/status";

static const struct tree *ask(struct arena *arena, const char *host, uint16_t port,
                              const char *path, unsigned timeout_ms)
{
    struct http_answer answer;
    if (http_get(arena, host, port, path, timeout_ms, &answer) != OK || answer.status != 200)
        return NULL;
    return tree_parse(arena, answer.body);
}

void nodes_tell_silence(const struct options *o, enum err err, const struct http_answer *answer)
{
    unsigned port = (unsigned)o->admin_port;
    if (err == ERR_REFUSED)
        (void)tell("nothing listens at %s:%u; start one with: rondo cluster start --dir DIR, or "
                   "rondod",
                   o->hosts, port);
    else if (err != OK)
        (void)tell("%s:%u does not answer: %s", o->hosts, port, err_text(err));
    else if (answer->status != 200)
        (void)tell("%s:%u answered %d: %.*s", o->hosts, port, answer->status,
                   (int)u64_min(answer->body.size, 200), (const char *)answer->body.data);
    else
        (void)tell("%s:%u answered something that is no JSON: is it a Rondo node?", o->hosts, port);
}

const struct tree *nodes_get(const struct options *o, struct arena *arena, const char *path)
{
    enum err err = ERR_REFUSED;
    struct http_answer answer = { 0 };
    for (const char *at = o->hosts; *at;) {
        size_t size = strcspn(at, ",");
        const char *host = arena_text(arena, bytes_of(at, size));
        const struct tree *said = NULL;
        err = http_get(arena, host, (uint16_t)o->admin_port, path, ASK_FIRST_MS, &answer);
        if (err == OK && answer.status == 200)
            said = tree_parse(arena, answer.body);
        if (said)
            return said;
        at += size + (at[size] == ',');
    }
    nodes_tell_silence(o, err, &answer);
    return NULL;
}

/* "127.0.0.1:9180", or "[::1]:9180". */
static bool place_split(struct arena *arena, struct bytes place, const char **host, uint16_t *port)
{
    char *text = arena_text(arena, place);
    char *colon = strrchr(text, ':');
    if (!colon)
        return false;
    *colon = '\0';
    *port = (uint16_t)strtoul(colon + 1, NULL, 10);
    size_t size = strlen(text);
    bool is_bracketed = size > 1 && text[0] == '[' && text[size - 1] == ']';
    if (is_bracketed)
        text[size - 1] = '\0';
    *host = text + is_bracketed;
    return *port != 0;
}

static void node_ask(struct arena *arena, struct node_view *node, const char *path)
{
    const char *host;
    uint16_t port;
    struct bytes admin = tree_text(node->seen, "admin");
    if (place_split(arena, admin, &host, &port))
        node->said = ask(arena, host, port, path, ASK_OTHERS_MS);
}

void nodes_ask_again(struct arena *arena, struct nodes_view *view, const char *path)
{
    for (size_t i = 0; i < view->count; i++) {
        bool has_answered = view->nodes[i].said != NULL;
        view->nodes[i].said = NULL;
        if (has_answered)
            node_ask(arena, &view->nodes[i], path);
    }
}

size_t nodes_tell_silent(const struct nodes_view *view, const char *meaning)
{
    size_t silent = 0;
    for (size_t i = 0; i < view->count; i++) {
        const struct node_view *node = &view->nodes[i];
        struct bytes address = tree_text(node->seen, "native");
        if (node->said)
            continue;
        silent++;
        (void)tell("node %.0f (%.*s) does not answer: %s", tree_number(node->seen, "node", 0),
                   (int)address.size, (const char *)address.data, meaning);
    }
    return silent;
}

bool nodes_ask(const struct options *o, struct arena *arena, struct nodes_view *view)
{
    *view = (struct nodes_view){ .first = nodes_get(o, arena, status_path) };
    if (!view->first)
        return false;
    double self = tree_number(view->first, "node", -1);
    const struct tree *list = tree_get(view->first, "nodes");
    for (const struct tree *n = list ? list->first : NULL; n && view->count < NODES_MAX;
         n = n->next) {
        bool is_first = tree_number(n, "node", -2) == self;
        if (o->local && !is_first)
            continue;
        struct node_view *node = &view->nodes[view->count++];
        node->seen = n;
        if (is_first)
            node->said = view->first;
        else if (tree_is_true(n, "up"))
            node_ask(arena, node, status_path);
    }
    return true;
}

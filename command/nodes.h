/* nodes.h - what the nodes of a ring say of themselves: their status, asked through their admin
 * ports. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/options.h"
#include "command/tree.h"

enum { NODES_MAX = 256 };

struct node_view {
    const struct tree *seen; /* its entry in the answer of the node that was asked first */
    const struct tree *said; /* its own whole answer; NULL: it did not answer */
};
struct nodes_view {
    const struct tree *first; /* the whole answer of the node that was asked first */
    struct node_view nodes[NODES_MAX];
    size_t count;
};

/* Asks the first of --host that answers, then all others that it names (not with --local).  False
 * when the reason has been told. */
bool nodes_ask(const struct options *, struct arena *, struct nodes_view *);
/* Asks those that have answered for another page: `said` is its answer, or NULL. */
void nodes_ask_again(struct arena *, struct nodes_view *, const char *path);
/* Names those that have not answered, a line each on standard error, and what that means ("what it
 * keeps is not in this"); how many they are. */
size_t nodes_tell_silent(const struct nodes_view *, const char *meaning);
struct http_answer;
/* One line on standard error: why a node gave no answer of use. */
void nodes_tell_silence(const struct options *, enum err, const struct http_answer *);
/* One GET of the first of --host that answers; NULL when the reason has been told. */
const struct tree *nodes_get(const struct options *, struct arena *, const char *path);

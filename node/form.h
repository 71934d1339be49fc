/* form.h - what a request for an operation says: a body of application/x-www-form-urlencoded, which
 * is what `curl -d keyspace=shop -d table=orders` sends.  Pure; private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"

enum { FORM_PAIRS_MAX = 16 };
struct form {
    size_t count;
    struct form_pair {
        const char *name, *value; /* in the arena; without zeros inside */
    } pairs[FORM_PAIRS_MAX];
};
/* ERR_SYNTAX with the sentence: too many pairs, a name twice, a bad %, a byte 0. */
enum err form_decode(struct bytes body, struct arena *, struct form *out, struct report *);
/* NULL when it is absent or empty. */
const char *form_get(const struct form *, const char *name);

/* operate.h - an operation of a node, from here: begun through the socket in its data folder,
 * watched to its end.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "command/http.h"
#include "command/options.h"
#include "command/tree.h"

/* Begins the verb at the first of --host that answers and waits for its end.  *out is the
 * operation as the node told it last, also where the node fell silent or the wait was interrupted;
 * NULL: it has not begun.  Returns the exit code; what failed has been told. */
int operate(const struct options *, struct arena *, const char *verb, struct bytes form,
            const struct tree **out);
/* The same for who has nothing to say of the result but --json. */
int operate_plainly(const struct options *, const char *verb, struct buf *form);
/* Adds the words [KEYSPACE [TABLE]], or KEYSPACE.TABLE, to a form. */
void form_put_table(struct buf *form, const struct options *, size_t first_word);

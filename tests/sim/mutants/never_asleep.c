/* never_asleep.c - a broken build: a node that stood still does not know it, and works for its
 * clients at once.
 *
 * cluster/watch.c is compiled again, with another answer to cluster_is_awake; the story of a node
 * that is stopped before it hears of a change must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#define cluster_is_awake knows_that_it_stood_still
#include "cluster/watch.c"
#undef cluster_is_awake

bool cluster_is_awake(const struct cluster *c);
bool cluster_is_awake(const struct cluster *c)
{
    (void)c;
    return true;
}

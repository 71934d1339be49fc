/* short_read_forgotten.c - a broken build: a page that was merged of several answers is the last
 * one, however much there is behind it.
 *
 * model/result_merge.c is compiled again.  sim_heal must turn red: rows that were acknowledged are
 * not there.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/read.h"

enum err mutant_merge(const struct table *, const struct read *, struct result_answers *,
                      struct arena *, struct read_sink *, struct read_outcome *);

enum err result_merge(const struct table *table, const struct read *read,
                      struct result_answers *answers, struct arena *arena, struct read_sink *sink,
                      struct read_outcome *out)
{
    bool is_one = answers->count == 1;
    enum err err = mutant_merge(table, read, answers, arena, sink, out);
    out->has_more &= is_one;
    return err;
}
#define result_merge mutant_merge
#include "model/result_merge.c"

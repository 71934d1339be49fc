/* journal_judge.h - hole or torn tail?  Pure: what the reader of a journal concludes from the
 * marks.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/journal_format.h"

struct journal_judge {
    bool has_bad, has_end;
    struct journal_position bad; /* the first place that did not verify */
    struct journal_position end; /* where zeros began in the segment that was read last */
};

/* Something that did not verify. */
void journal_judge_bad(struct journal_judge *, struct journal_position);
/* A block of zeros. */
void journal_judge_zeros(struct journal_judge *, struct journal_position);
/* A mark that verifies; a mark at offset 0 is a segment's head.  ERR_CORRUPT: it proves that there
 * is a hole, at judge->bad. */
enum err journal_judge_mark(struct journal_judge *, const struct journal_mark *);

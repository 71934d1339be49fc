/* batch_not_kept.c - a broken build: keepers are asked to forget a batch before it is written, not
 * to keep it.
 *
 * coordinator/batch.c is compiled again, with another word for them.  sim_batch must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/batchlog_record.h"

static void put_forget(struct buf *b, const struct uuid *id, int64_t made_us, size_t count)
{
    (void)made_us, (void)count;
    batch_put(b, BATCH_FORGET, id);
}
static void put_nothing(struct buf *b, struct bytes mutation) { (void)b, (void)mutation; }
#define batch_put_keep put_forget
#define buf_put_sized put_nothing
#include "coordinator/batch.c"

/* index_scan.h - an index read through once, for files whose Summary or Checksums cannot be used.
 *
 * Private to store/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/sstable.h"

/* Makes the SSTable's sample, index_checks, first and last key from Index.db.  ERR_CORRUPT (an
 * entry that is none, keys out of order), ERR_IO. */
void index_scan(struct io *, struct io_req *, struct op *, struct sstable *, struct report *);

/* text_file.h - a small new file, whole and synced, or nothing: records of swaps, floors,
 * manifests.
 *
 * Private to store/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"

/* Makes the file, which must not be there, with these bytes.  OK: they are durable, though the name
 * is not before its folder is synced.  With an error there is no such file, unless even removing it
 * failed.  Path and bytes stay until completion; a stop of `op` does not end it. */
void text_file_make(struct io *, struct io_req *, struct op *, const char *path, struct bytes);

/* folder_empty.h - a folder and the files in it, removed.  Private to store/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"

/* Folders inside of it are not touched, and then it stays.  OK when it is gone, or never was there;
 * nothing is synced.  The path stays until completion. */
void folder_empty(struct io *, struct io_req *, struct op *, const char *folder);

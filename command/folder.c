/* folder.c - a walk that removes what it meets, what is inside first. */
// SPDX-License-Identifier: Apache-2.0
#include "command/folder.h"

#include <ftw.h>
#include <stdio.h>

enum { FILES_AT_ONCE = 16 };

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

void folder_remove(const char *path)
{
    (void)nftw(path, remove_one, FILES_AT_ONCE, FTW_DEPTH | FTW_PHYS);
}

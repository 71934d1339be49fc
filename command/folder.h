/* folder.h - folders that commands make for themselves and take away again. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

/* The folder and all that is in it, as far as it can be; links are not followed. */
void folder_remove(const char *path);

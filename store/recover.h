/* recover.h - what a crash left in the folders of tables is finished or taken away.
 *
 * Private to store/; store_recover is in the facade.  The names of folders: <table>-<id>, the id as
 * 32 hexadecimal digits.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/store.h"

/* "orders-0123...": the id; false for any other name. */
bool folder_name_parse(const char *name, struct uuid *table);
/* <data>/<keyspace>/<table>-<id>, in the arena. */
char *folder_path(struct arena *, const char *data_folder, const struct table *);

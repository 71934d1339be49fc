/* folder.h - where the files of a table are: <data>/<keyspace>/<table>-<id>, the id as 32
 * hexadecimal digits.  Private to store/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"
#include "model/model.h"

/* "orders-0123...": the id; false for any other name.  A path is fine. */
bool folder_name_parse(const char *name, struct uuid *table);
/* In the arena. */
char *folder_path(struct arena *, const char *data_folder, const struct table *);
/* The one above, in the arena. */
char *folder_above(struct arena *, const char *path);
/* Makes it, with its parents, and their names durable up to the data folder's, which is there. */
void folder_make(struct io *, struct io_req *, struct op *, const char *data_folder,
                 const char *folder);

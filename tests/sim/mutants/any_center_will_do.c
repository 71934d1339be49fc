/* any_center_will_do.c - a broken build: every data centre is this one.
 *
 * coordinator/level.c is compiled again, with names that are all the same.  sim_levels must turn
 * red.
 */
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#define strcmp(a, b) ((void)(a), (void)(b), 0)
#include "coordinator/level.c"

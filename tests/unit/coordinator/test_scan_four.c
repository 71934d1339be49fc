/* test_scan_four.c - test_scan.c on a ring of four. */
// SPDX-License-Identifier: Apache-2.0
#define RIG_SIZE 4
#include "test_scan.c"

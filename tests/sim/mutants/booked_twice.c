/* booked_twice.c - a broken build: a mutation that is sent is booked as two.
 *
 * coordinator/write_place.c is compiled again; its books balance all the same.  sim_books must turn
 * red: more was sent than clients have asked for.
 */
// SPDX-License-Identifier: Apache-2.0
#define write_place_begin write_place_begin_once
#include "coordinator/write_place.c"
#undef write_place_begin

void write_place_begin(struct write *w, size_t i);
void write_place_begin(struct write *w, size_t i)
{
    write_place_begin_once(w, i);
    write_book(w, i)->sent++;
    write_book(w, i)->in_flight++;
}

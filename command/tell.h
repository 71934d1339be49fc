/* tell.h - lines for people on standard error, the clock, and what an interrupt does. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

/* Prints "rondo: " and the line; returns EXIT_FAILED, so that `return tell(...)` reads. */
int tell(const char *format, ...) printf_like(1, 2);
/* The same, and returns false. */
bool tell_no(const char *format, ...) printf_like(1, 2);
/* A line about work under way, without the name in front. */
void tell_note(const char *format, ...) printf_like(1, 2);

bool tell_is_terminal(void); /* standard error */
uint64_t tell_now_ns(void);  /* monotonic */
void tell_pause_ms(unsigned);

/* Until interrupt_defer, SIGINT and SIGTERM end the process at once with 130 (nothing needs an
 * end).  After it they only set what interrupt_came answers, and waiting calls return early. */
void interrupt_watch(void);
void interrupt_defer(void);
bool interrupt_came(void);
/* From now on they do nothing: what is being cleaned up is cleaned up whole. */
void interrupt_ignore(void);

/* 1234567 as "1,234,567". */
struct grouped {
    char text[32];
};
struct grouped grouped_of(uint64_t);
/* "1 node", "1,234 nodes". */
struct counted {
    char text[64];
};
struct counted counted_of(double count, const char *noun);
/* 1536 as "1.5 KiB". */
struct grouped sized_of(double bytes);

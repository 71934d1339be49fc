/* tell.c - lines for people on standard error, the clock, and what an interrupt does.
 *
 * A command that leaves something behind (processes, a half-written file) defers interrupts and
 * asks at its waiting points; all others just end.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/tell.h"

#include "command/command.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t is_deferred, has_come;

static void line_print(const char *format, va_list args)
{
    fflush(stdout);
    fputs("rondo: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

int tell(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    line_print(format, args);
    va_end(args);
    return EXIT_FAILED;
}

bool tell_no(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    line_print(format, args);
    va_end(args);
    return false;
}

void tell_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

bool tell_is_terminal(void) { return isatty(STDERR_FILENO) == 1; }

uint64_t tell_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void tell_pause_ms(unsigned ms)
{
    struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
    nanosleep(&t, NULL);
}

static void interrupt_take(int signal_number)
{
    (void)signal_number;
    if (!is_deferred || has_come)
        _exit(EXIT_INTERRUPTED);
    has_come = 1;
}

void interrupt_watch(void)
{
    struct sigaction action = { .sa_handler = interrupt_take };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

void interrupt_defer(void) { is_deferred = 1; }
bool interrupt_came(void) { return has_come; }

void interrupt_ignore(void)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
}

struct grouped grouped_of(uint64_t value)
{
    char digits[24];
    struct grouped out;
    size_t at = 0;
    int count = snprintf(digits, sizeof digits, "%" PRIu64, value);
    ensure(count > 0);
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            out.text[at++] = ',';
        out.text[at++] = digits[i];
    }
    out.text[at] = '\0';
    return out;
}

struct counted counted_of(double count, const char *noun)
{
    struct counted out;
    (void)snprintf(out.text, sizeof out.text, "%s %s%s", grouped_of((uint64_t)count).text, noun,
                   count == 1 ? "" : "s");
    return out;
}

struct grouped sized_of(double bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    struct grouped out;
    size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < array_count(units)) {
        bytes /= 1024;
        unit++;
    }
    (void)snprintf(out.text, sizeof out.text, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return out;
}

/* floor.c - a bare echo as a process of its own, to hold a node's figures against.
 *
 * The program (tests/bench/echo.c) prints the port that it was given and lives until its standard
 * input ends, so it cannot outlive us whatever happens.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/floor.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static bool echo_path(char *out, size_t room)
{
    static const char name[] = "/rondo-echo";
    if (!process_own_folder(out, room - sizeof name))
        return false;
    memcpy(out + strlen(out), name, sizeof name);
    return true;
}

bool floor_is_there(void)
{
    char path[1024];
    return echo_path(path, sizeof path) && access(path, X_OK) == 0;
}

static bool echo_spawn(struct floor *f, char *const *arguments, int input, int output)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    int error = posix_spawn(&f->pid, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    errno = error;
    return error == 0;
}

/* The port that it prints; 0 when it ended instead. */
static uint16_t port_read(int fd)
{
    char text[16];
    size_t size = 0;
    while (size < sizeof text - 1) {
        ssize_t got = read(fd, text + size, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || text[size] == '\n')
            break;
        size++;
    }
    text[size] = '\0';
    return (uint16_t)strtoul(text, NULL, 10);
}

bool floor_start(struct floor *f, size_t request_bytes, size_t answer_bytes, char error[256])
{
    char path[1024], request[24], answer[24];
    char *arguments[] = { path, request, answer, NULL };
    int in[2], out[2];
    *f = (struct floor){ .hold = -1, .place = { .host = "127.0.0.1" } };
    (void)snprintf(request, sizeof request, "%zu", request_bytes);
    (void)snprintf(answer, sizeof answer, "%zu", answer_bytes);
    if (!echo_path(path, sizeof path) || pipe2(in, O_CLOEXEC) != 0)
        return false;
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return false;
    }
    bool is_started = echo_spawn(f, arguments, in[0], out[1]);
    int spawn_error = errno;
    close(in[0]);
    close(out[1]);
    f->hold = in[1];
    f->place.port = is_started ? port_read(out[0]) : 0;
    close(out[0]);
    if (f->place.port)
        return true;
    (void)snprintf(error, 256, "rondo-echo: %s",
                   is_started ? "it ended at once" : strerror(spawn_error));
    floor_stop(f);
    return false;
}

void floor_stop(struct floor *f)
{
    if (f->hold >= 0)
        close(f->hold);
    if (f->pid > 0)
        (void)waitpid(f->pid, NULL, 0);
    *f = (struct floor){ .hold = -1 };
}

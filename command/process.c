/* process.c - other processes, told apart from later ones with the same number by when they
 * started.
 *
 * A pid alone names nobody: after the process has ended the number is given to another.  Pid and
 * start time together do, and every signal is sent only after both were compared.  Processes that
 * we started and that ended are collected when they are asked for.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/process.h"

#include "command/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STAT_STATE = 3, STAT_STARTED_AT = 22, LOOK_EVERY_MS = 10 };

/* The fields of /proc/PID/stat behind the name, which is in parentheses and may hold anything. */
static bool stat_parse(char *text, char *state, uint64_t *started_at)
{
    char *at = strrchr(text, ')');
    if (!at || at[1] == '\0')
        return false;
    at += 2;
    *state = *at;
    for (int field = STAT_STATE; field < STAT_STARTED_AT; field++) {
        at = strchr(at, ' ');
        if (!at)
            return false;
        at++;
    }
    *started_at = strtoull(at, NULL, 10);
    return true;
}

bool process_find(pid_t pid, struct process *out)
{
    char path[64], text[1024], state = 0;
    (void)waitpid(pid, NULL, WNOHANG); /* ours and ended: collected; not ours: nothing */
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    out->pid = pid;
    return stat_parse(text, &state, &out->started_at) && state != 'Z' && state != 'X';
}

bool process_is_alive(const struct process *p)
{
    struct process now;
    return p->pid > 0 && process_find(p->pid, &now) && now.started_at == p->started_at;
}

void process_signal(const struct process *p, int signal_number)
{
    if (process_is_alive(p))
        kill(p->pid, signal_number);
}

bool process_wait_end(const struct process *p, unsigned timeout_ms)
{
    uint64_t deadline_ns = tell_now_ns() + (uint64_t)timeout_ms * 1000000;
    while (process_is_alive(p)) {
        if (tell_now_ns() >= deadline_ns)
            return false;
        tell_pause_ms(LOOK_EVERY_MS);
    }
    return true;
}

/* In the child: becomes the program, or reports errno through the pipe. */
static _Noreturn void child_run(char *const *arguments, int output, int report)
{
    int input = open("/dev/null", O_RDONLY);
    setsid();
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (input >= 0 && dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
        dup2(output, STDERR_FILENO) >= 0)
        execv(arguments[0], arguments);
    int error = errno;
    ssize_t ignored = write(report, &error, sizeof error);
    (void)ignored;
    _exit(127);
}

/* The errno that the child could not start with; 0 when the program runs. */
static int child_error(int report)
{
    int error = 0;
    ssize_t size;
    do
        size = read(report, &error, sizeof error);
    while (size < 0 && errno == EINTR);
    return size == (ssize_t)sizeof error ? error : 0;
}

static bool spawn_into(char *const *arguments, int output, struct process *out)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0)
        child_run(arguments, output, report[1]);
    int error = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0)
        error = child_error(report[0]);
    close(report[0]);
    if (error == 0) {
        *out = (struct process){ .pid = pid };
        (void)process_find(pid, out); /* one that has ended already is seen as that later */
        return true;
    }
    if (pid > 0)
        (void)waitpid(pid, NULL, 0);
    errno = error;
    return false;
}

bool process_spawn(char *const *arguments, const char *output, struct process *out)
{
    int fd = open(output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0)
        return false;
    bool is_started = spawn_into(arguments, fd, out);
    int error = errno;
    close(fd);
    errno = error;
    return is_started;
}

bool process_own_folder(char *out, size_t room)
{
    ssize_t size = readlink("/proc/self/exe", out, room - 1);
    if (size <= 0 || (size_t)size == room - 1)
        return false;
    out[size] = '\0';
    char *slash = strrchr(out, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

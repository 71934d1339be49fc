/* engine_side.c - a side as a process: orders into its standard input, an answer for each.
 *
 * It lives until its input ends, so it cannot outlive us whatever happens.  Only its folder can: it
 * is removed when the side is stopped, not when we are killed.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/engine_side.h"

#include "command/folder.h"
#include "command/process.h"
#include "command/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NUMBERS = 6, NUMBER_TEXT = 24 };

static bool side_path(const char *name, char *out, size_t room)
{
    if (!process_own_folder(out, room))
        return false;
    size_t size = strlen(out);
    int more = snprintf(out + size, room - size, "/%s", name);
    return more > 0 && (size_t)more < room - size;
}

bool engine_side_is_there(const char *name)
{
    char path[1024];
    return side_path(name, path, sizeof path) && access(path, X_OK) == 0;
}

static bool folder_make(struct engine_side *s, const struct engine_plan *plan)
{
    static const char *const parts[] = { "data", "commitlog" };
    int size = snprintf(s->folder, sizeof s->folder, "%s/%s.XXXXXX", plan->folder, s->name);
    if (size < 0 || (size_t)size >= sizeof s->folder || !mkdtemp(s->folder)) {
        s->folder[0] = 0;
        return tell_no("%s: no folder can be made in it: %s", plan->folder, strerror(errno));
    }
    for (size_t i = 0; i < array_count(parts); i++) {
        char path[600];
        (void)snprintf(path, sizeof path, "%s/%s", s->folder, parts[i]);
        if (mkdir(path, 0777) != 0)
            return tell_no("%s: %s", path, strerror(errno));
    }
    return true;
}

static int side_spawn(struct engine_side *s, char *const *arguments, int input, int output)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    int error = posix_spawn(&s->pid, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        s->pid = 0;
    return error;
}

/* Pipes both ways, then the program. */
static bool side_run(struct engine_side *s, char *const *arguments)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0)
        return tell_no("%s: %s", s->name, strerror(errno));
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return tell_no("%s: %s", s->name, strerror(errno));
    }
    int error = side_spawn(s, arguments, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    s->orders = fdopen(in[1], "w");
    s->answers = fdopen(out[0], "r");
    ensure(s->orders && s->answers);
    return error ? tell_no("%s: %s", s->name, strerror(error)) : true;
}

bool engine_side_start(struct engine_side *s, const char *name, const struct engine_plan *plan)
{
    char path[1024], numbers[NUMBERS][NUMBER_TEXT];
    const uint64_t values[NUMBERS] = { plan->rows,        plan->value_bytes, plan->memtable_bytes,
                                       plan->cache_bytes, plan->chunk_bytes, (uint64_t)plan->cpu };
    char *arguments[NUMBERS + 3] = { path, s->folder };
    *s = (struct engine_side){ .name = name };
    for (size_t i = 0; i < NUMBERS; i++) {
        (void)snprintf(numbers[i], NUMBER_TEXT, "%" PRIu64, values[i]);
        arguments[i + 2] = numbers[i];
    }
    if (!side_path(name, path, sizeof path) || access(path, X_OK) != 0)
        return tell_no("%s does not stand beside rondo: build it with -DTESTS=ON", name);
    return folder_make(s, plan) && side_run(s, arguments);
}

bool engine_side_order(struct engine_side *s, const char *order, struct engine_cost *cost)
{
    char line[256];
    uint64_t n[5];
    bool is_sent = fprintf(s->orders, "%s\n", order) > 0 && fflush(s->orders) == 0;
    if (!is_sent || !fgets(line, sizeof line, s->answers))
        return tell_no("%s ended at the order \"%s\"", s->name, order);
    int count = sscanf(line, "ok %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &n[0],
                       &n[1], &n[2], &n[3], &n[4]);
    if (count != 5)
        return tell_no("%s answered \"%s\" with: %s", s->name, order, line);
    cost->count += n[0], cost->wall_ns += n[1], cost->cpu_ns += n[2], cost->heap_calls += n[3];
    cost->disk_bytes = n[4];
    return true;
}

void engine_side_stop(struct engine_side *s)
{
    if (s->orders)
        (void)fclose(s->orders);
    if (s->answers)
        (void)fclose(s->answers);
    if (s->pid > 0)
        (void)waitpid(s->pid, NULL, 0);
    if (s->folder[0])
        folder_remove(s->folder);
    *s = (struct engine_side){ .name = s->name };
}

/* bench_compaction.c - `rondo bench compaction`: four overlapping SSTables become one, beside the
 * floor.
 *
 * All of it is done by rondo-compaction, a program of builds with tests that stands beside this one
 * (tests/bench/bench_compaction.c).  Here it gets a folder, its output is ours, and the folder is
 * removed behind it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/bench_compaction.h"

#include "command/command.h"
#include "command/folder.h"
#include "command/process.h"
#include "command/tell.h"

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS = 8, PATH_ROOM = 1024 };

static bool program_path(char out[PATH_ROOM])
{
    if (!process_own_folder(out, PATH_ROOM))
        return false;
    size_t size = strlen(out);
    int more = snprintf(out + size, PATH_ROOM - size, "/rondo-compaction");
    return more > 0 && (size_t)more < PATH_ROOM - size && access(out, X_OK) == 0;
}

static int program_run(char *const *arguments)
{
    extern char **environ;
    pid_t pid;
    int status = 0;
    fflush(stdout);
    int error = posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ);
    if (error) {
        (void)tell("%s: %s", arguments[0], strerror(error));
        return EXIT_FAILED;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? EXIT_DONE : EXIT_FAILED;
}

int bench_compaction_run(const struct options *o)
{
    static char rows_flag[] = "--rows", json_flag[] = "--json";
    char program[PATH_ROOM], folder[PATH_ROOM], rows[24];
    char *arguments[ARGUMENTS] = { program, folder };
    const char *place = o->dir[0] ? o->dir : ".";
    size_t count = 2;
    if (!program_path(program)) {
        (void)tell("rondo-compaction does not stand beside rondo: build it with -DTESTS=ON");
        return EXIT_FAILED;
    }
    int size = snprintf(folder, sizeof folder, "%s/rondo-compaction.XXXXXX", place);
    if (size < 0 || (size_t)size >= sizeof folder || !mkdtemp(folder)) {
        (void)tell("%s: no folder can be made in it: %s", place, strerror(errno));
        return EXIT_FAILED;
    }
    if (o->given[OPTION_rows]) {
        (void)snprintf(rows, sizeof rows, "%" PRIu64, o->rows);
        arguments[count++] = rows_flag;
        arguments[count++] = rows;
    }
    if (o->json)
        arguments[count++] = json_flag;
    int exit = program_run(arguments);
    folder_remove(folder);
    return exit;
}

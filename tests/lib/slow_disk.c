/* slow_disk.c - loaded before a program: its syncs and file writes take as many milliseconds more
 * as the file named by SLOW_DISK says, as long as there is one. */
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void wait_as_told(void)
{
    const char *path = getenv("SLOW_DISK");
    FILE *file = path ? fopen(path, "r") : NULL;
    long ms = 0;
    if (!file)
        return;
    if (fscanf(file, "%ld", &ms) == 1 && ms > 0 && ms < 60000) {
        struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
        nanosleep(&t, NULL);
    }
    fclose(file);
}

int fdatasync(int fd)
{
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_as_told();
    return next(fd);
}

int fsync(int fd)
{
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_as_told();
    return next(fd);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
    ssize_t (*next)(int, const void *, size_t, off64_t) =
        (ssize_t(*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    wait_as_told();
    return next(fd, data, size, at);
}

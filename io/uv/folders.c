/* folders.c - names: make, rename, link, remove, list, ask; on worker threads.
 *
 * Paths and out-parameters are the caller's and stay until the request has completed; a worker
 * writes results into them, except for lists, which are gathered on the heap and copied into the
 * caller's arena by the shard, since an arena belongs to one thread.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "io/uv/impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void start(struct job *job, const char *path, void *out)
{
    job->path = path;
    job->out = out;
    job_start(job, &job->io->world->lanes[LANE_READ]);
}

static void note_result(struct job *job, int result)
{
    if (result != 0)
        job->err = err_of_system(errno);
}

/* ---- names ---- */

static void run_rename(struct job *job) { note_result(job, rename(job->path, job->path_to)); }
static void run_link(struct job *job) { note_result(job, link(job->path, job->path_to)); }
static void run_remove(struct job *job) { note_result(job, remove(job->path)); }

void io_rename(struct io *io, struct io_req *req, struct op *op, const char *from, const char *to)
{
    struct job *job = job_new(io, req, op, run_rename);
    job->path_to = to;
    start(job, from, NULL);
}

void io_link(struct io *io, struct io_req *req, struct op *op, const char *from, const char *to)
{
    struct job *job = job_new(io, req, op, run_link);
    job->path_to = to;
    start(job, from, NULL);
}

void io_remove(struct io *io, struct io_req *req, struct op *op, const char *path)
{
    start(job_new(io, req, op, run_remove), path, NULL);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* One folder; its parent must be there.  0 when it is there already. */
static int make_folder(const char *path)
{
    if (mkdir(path, 0755) == 0 || (errno == EEXIST && is_folder(path)))
        return 0;
    return -1;
}

/* Each prefix that ends before a slash, then the whole. */
static void run_mkdir(struct job *job)
{
    size_t size = strlen(job->path) + 1;
    char *path = mem_alloc(size);
    memcpy(path, job->path, size);
    int result = 0;
    for (char *at = path + 1; size > 2 && *at && result == 0; at++) {
        if (*at != '/')
            continue;
        *at = 0;
        result = make_folder(path);
        *at = '/';
    }
    note_result(job, result == 0 ? make_folder(path) : result);
    mem_free(path);
}

void io_mkdir(struct io *io, struct io_req *req, struct op *op, const char *path)
{
    start(job_new(io, req, op, run_mkdir), path, NULL);
}

static void run_sync_dir(struct job *job)
{
    int fd = open(job->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        job->err = err_of_system(errno);
        return;
    }
    note_result(job, fsync(fd));
    close(fd);
}

void io_sync_dir(struct io *io, struct io_req *req, struct op *op, const char *path)
{
    struct job *job = job_new(io, req, op, run_sync_dir);
    job->path = path;
    io->counts.syncs++;
    job_start(job, &io->sync);
}

/* ---- questions ---- */

static void run_stat(struct job *job)
{
    struct io_stat *out = job->out;
    struct stat st;
    note_result(job, stat(job->path, &st));
    if (job->err == OK)
        *out = (struct io_stat){ (uint64_t)st.st_size, S_ISDIR(st.st_mode), st.st_mtim.tv_sec };
}

void io_stat(struct io *io, struct io_req *req, struct op *op, const char *path,
             struct io_stat *out)
{
    start(job_new(io, req, op, run_stat), path, out);
}

static void run_space(struct job *job)
{
    uint64_t *out = job->out;
    struct statvfs st;
    note_result(job, statvfs(job->path, &st));
    if (job->err == OK)
        *out = (uint64_t)st.f_bavail * st.f_frsize;
}

void io_space(struct io *io, struct io_req *req, struct op *op, const char *path,
              uint64_t *out_bytes)
{
    start(job_new(io, req, op, run_space), path, out_bytes);
}

/* ---- lists ---- */

struct listing {
    struct buf text; /* the names, each with its zero */
    size_t count;
    struct arena *arena;
    struct io_names *out;
};

static void gather(struct listing *list, DIR *dir)
{
    for (struct dirent *e; (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        buf_put(&list->text, e->d_name, strlen(e->d_name) + 1);
        list->count++;
    }
}

static void run_list(struct job *job)
{
    DIR *dir = opendir(job->path);
    if (!dir) {
        job->err = err_of_system(errno);
        return;
    }
    errno = 0;
    gather(job->out, dir);
    note_result(job, errno);
    closedir(dir);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void finish_list(struct job *job)
{
    struct listing *list = job->out;
    if (job->err == OK) {
        struct io_names *out = list->out;
        char *at = (char *)arena_copy(list->arena, buf_bytes(&list->text)).data;
        out->count = list->count;
        out->names = arena_array(list->arena, char *, list->count);
        for (size_t i = 0; i < list->count; at += strlen(at) + 1)
            out->names[i++] = at;
        if (list->count)
            qsort(out->names, list->count, sizeof *out->names, by_name);
    }
    buf_deinit(&list->text);
    mem_free(list);
}

void io_list(struct io *io, struct io_req *req, struct op *op, const char *path,
             struct arena *arena, struct io_names *out)
{
    struct listing *list = mem_zalloc(sizeof *list);
    list->arena = arena;
    list->out = out;
    struct job *job = job_new(io, req, op, run_list);
    job->finish = finish_list;
    start(job, path, list);
}

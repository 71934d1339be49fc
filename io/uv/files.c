/* files.c - open files: read, write, sync, on worker threads; and a look into the page cache.
 *
 * Which lane a request takes is decided here, from what is known of it:
 *     a read up to READ_BULK_BYTES          read lane        a larger one        bulk lane
 *     a write or sync of an ordinary file   the shard's sync lane
 *     all of a bulk file                    bulk lane
 * A file becomes a bulk file, for good, when DIRTY_BULK_BYTES have been written to it without a
 * sync: so data files on their way to the disk leave the commit log's thread alone, with no hint
 * from above; io_lane decides otherwise.  Requests on one file that are under way together may run
 * in any order.
 *
 * Standard error ("/dev/stderr") is opened as a duplicate, since it may be a socket, and is written
 * as a stream: without offsets, and never synced.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/log.h"
#include "io/uv/impl.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct io_file {
    int fd;
    bool is_stream;
    enum io_lane lane;
    bool has_no_nowait; /* the file system does not know reading without waiting */
    uint64_t dirty_bytes;
};

struct io_file *file_new(int fd, bool is_stream)
{
    struct io_file *file = mem_zalloc(sizeof *file);
    file->fd = fd;
    file->is_stream = is_stream;
    return file;
}

static struct lane *lane_of(struct io *io, const struct io_file *file)
{
    return file->lane == IO_LANE_BULK ? &io->world->lanes[LANE_BULK] : &io->sync;
}

void io_lane(struct io_file *file, enum io_lane lane) { file->lane = lane; }

/* ---- open, lock, close ---- */

static const int open_flags[] = {
    [IO_READ] = O_RDONLY,
    [IO_UPDATE] = O_RDWR | O_CREAT,
    [IO_CREATE] = O_RDWR | O_CREAT | O_EXCL,
    [IO_APPEND] = O_RDWR | O_CREAT | O_APPEND,
};

static void run_open(struct job *job)
{
    bool is_stream = strcmp(job->path, "/dev/stderr") == 0;
    int fd = is_stream ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
                       : open(job->path, open_flags[job->how] | O_CLOEXEC, 0644);
    if (fd < 0)
        job->err = err_of_system(errno);
    else
        job->file = file_new(fd, is_stream);
}

static void finish_open(struct job *job)
{
    if (job->err == OK)
        *(struct io_file **)job->out = job->file;
}

void io_open(struct io *io, struct io_req *req, struct op *op, const char *path,
             enum io_open_how how, struct io_file **out)
{
    ensure((size_t)how < array_count(open_flags));
    struct job *job = job_new(io, req, op, run_open);
    job->path = path;
    job->how = (int)how;
    job->out = out;
    job->finish = finish_open;
    job_start(job, &io->world->lanes[LANE_READ]);
}

static void run_lock(struct job *job)
{
    int fd = open(job->path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        job->err = err_of_system(errno);
        return;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        job->file = file_new(fd, false);
        return;
    }
    job->err = errno == EWOULDBLOCK ? ERR_EXISTS : err_of_system(errno);
    close(fd);
}

void io_lock(struct io *io, struct io_req *req, struct op *op, const char *path,
             struct io_file **out)
{
    struct job *job = job_new(io, req, op, run_lock);
    job->path = path;
    job->out = out;
    job->finish = finish_open;
    job_start(job, &io->world->lanes[LANE_READ]);
}

static void run_close(struct job *job)
{
    if (close(job->file->fd) != 0 && errno != EINTR)
        job->err = err_of_system(errno);
    mem_free(job->file);
}

void io_close(struct io *io, struct io_req *req, struct op *op, struct io_file **taken)
{
    ensure(*taken);
    struct job *job = job_new(io, req, op, run_close);
    job->file = *taken;
    *taken = NULL;
    job_start(job, &io->world->lanes[LANE_READ]);
}

/* ---- reading ---- */

static void run_read(struct job *job)
{
    uint8_t *to = job->to;
    size_t want = job->size, got = 0;
    while (got < want) {
        ssize_t n = pread(job->file->fd, to + got, want - got, (off_t)(job->offset + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            job->err = err_of_system(errno);
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    job->size = got;
}

// NOLINTNEXTLINE(readability-function-size): io.h has these parameters
void io_read(struct io *io, struct io_req *req, struct op *op, struct io_file *file, void *to,
             size_t n, uint64_t offset)
{
    struct job *job = job_new(io, req, op, run_read);
    job->file = file;
    job->to = to;
    job->size = n;
    job->offset = offset;
    io->counts.reads++;
    io->counts.read_bytes += n;
    bool is_bulk = n > READ_BULK_BYTES || file->lane == IO_LANE_BULK;
    job_start(job, &io->world->lanes[is_bulk ? LANE_BULK : LANE_READ]);
}

static void say_no_nowait(struct io *io)
{
    if (!io->is_told_no_nowait)
        log_note(io, LOG_WARN, "read_now_unsupported", "file_system=refuses reads=by_workers");
    io->is_told_no_nowait = true;
}

/* A short answer is the end of the file or a page that is not there: a second look decides. */
enum err io_read_now(struct io *io, struct io_file *file, void *to, size_t n, uint64_t offset,
                     size_t *got)
{
    *got = 0;
    if (file->has_no_nowait)
        return ERR_WOULD_WAIT;
    while (*got < n) {
        struct iovec room = { (uint8_t *)to + *got, n - *got };
        ssize_t k = preadv2(file->fd, &room, 1, (off_t)(offset + *got), RWF_NOWAIT);
        if (k < 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) {
            file->has_no_nowait = true;
            say_no_nowait(io);
            return ERR_WOULD_WAIT;
        }
        if (k < 0)
            return errno == EINTR ? ERR_WOULD_WAIT : err_of_system(errno);
        if (k == 0)
            break;
        *got += (size_t)k;
    }
    io->counts.reads++;
    io->counts.read_bytes += *got;
    return OK;
}

/* ---- writing ---- */

static ssize_t write_some(const struct io_file *file, const void *from, size_t n, uint64_t offset)
{
    return file->is_stream ? write(file->fd, from, n) : pwrite(file->fd, from, n, (off_t)offset);
}

static void run_write(struct job *job)
{
    const uint8_t *from = job->from;
    size_t done = 0;
    while (done < job->size) {
        ssize_t n = write_some(job->file, from + done, job->size - done, job->offset + done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) { /* 0: a disk that takes nothing and does not say why */
            job->err = n < 0 ? err_of_system(errno) : ERR_IO;
            break;
        }
        done += (size_t)n;
    }
    job->size = done;
}

static struct job *write_begin(struct job *job, struct io_file *file, const void *from, size_t n)
{
    job->file = file;
    job->from = from;
    job->size = n;
    job->io->counts.writes++;
    job->io->counts.write_bytes += n;
    return job;
}

// NOLINTNEXTLINE(readability-function-size): io.h has these parameters
void io_write(struct io *io, struct io_req *req, struct op *op, struct io_file *file,
              const void *from, size_t n, uint64_t offset)
{
    struct job *job = write_begin(job_new(io, req, op, run_write), file, from, n);
    job->offset = offset;
    file->dirty_bytes += n;
    if (file->lane == IO_LANE_AUTO && file->dirty_bytes > DIRTY_BULK_BYTES)
        file->lane = IO_LANE_BULK;
    job_start(job, lane_of(io, file));
}

static void run_sync(struct job *job)
{
    if (!job->file->is_stream && fdatasync(job->file->fd) != 0)
        job->err = err_of_system(errno);
}

static void run_write_sync(struct job *job)
{
    run_write(job);
    if (job->err == OK)
        run_sync(job);
}

// NOLINTNEXTLINE(readability-function-size): io.h has these parameters
void io_write_sync(struct io *io, struct io_req *req, struct op *op, struct io_file *file,
                   const void *from, size_t n, uint64_t offset)
{
    struct job *job = write_begin(job_new(io, req, op, run_write_sync), file, from, n);
    job->offset = offset;
    file->dirty_bytes = 0;
    io->counts.syncs++;
    job_start(job, lane_of(io, file));
}

void io_sync(struct io *io, struct io_req *req, struct op *op, struct io_file *file)
{
    struct job *job = job_new(io, req, op, run_sync);
    job->file = file;
    file->dirty_bytes = 0;
    io->counts.syncs++;
    job_start(job, lane_of(io, file));
}

static void run_drop_cache(struct job *job)
{
    int code = job->file->is_stream ? 0 : posix_fadvise(job->file->fd, 0, 0, POSIX_FADV_DONTNEED);
    if (code != 0)
        job->err = err_of_system(code);
}

void io_drop_cache(struct io *io, struct io_req *req, struct op *op, struct io_file *file)
{
    struct job *job = job_new(io, req, op, run_drop_cache);
    job->file = file;
    io->counts.cache_drops++;
    job_start(job, &io->world->lanes[LANE_BULK]);
}

/* Room for `offset` bytes; where the file system cannot reserve, at least the size is the same. */
static void run_allocate(struct job *job)
{
    struct stat st;
    int fd = job->file->fd;
    if (fallocate(fd, 0, 0, (off_t)job->offset) == 0)
        return;
    if (errno == EOPNOTSUPP && fstat(fd, &st) == 0) {
        bool is_long_enough = (uint64_t)st.st_size >= job->offset;
        if (is_long_enough || ftruncate(fd, (off_t)job->offset) == 0)
            return;
    }
    job->err = err_of_system(errno);
}

static void run_truncate(struct job *job)
{
    if (ftruncate(job->file->fd, (off_t)job->offset) != 0)
        job->err = err_of_system(errno);
}

static void resize(struct job *job, struct io_file *file, uint64_t bytes)
{
    job->file = file;
    job->offset = bytes;
    job_start(job, lane_of(job->io, file));
}

void io_allocate(struct io *io, struct io_req *req, struct op *op, struct io_file *file,
                 uint64_t bytes)
{
    resize(job_new(io, req, op, run_allocate), file, bytes);
}

void io_truncate(struct io *io, struct io_req *req, struct op *op, struct io_file *file,
                 uint64_t bytes)
{
    resize(job_new(io, req, op, run_truncate), file, bytes);
}

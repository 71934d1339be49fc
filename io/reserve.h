/* reserve.h - space of a disk that is kept back, to be given up when the disk is full: so that what
 * makes room again (flushes, compactions, removals) can go on while writes are refused.
 *
 * It is a file, `reserve`, in a folder of that disk.  Where the file system cannot allocate, it
 * keeps nothing back.  One request at a time; after a reserve_open that failed only reserve_close.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"

enum { RESERVE_PATH_BYTES = 1024 };

struct reserve {
    struct op op;
    struct io *io;
    struct io_req req;
    struct io_req *asked;
    struct io_file *file; /* NULL: closed */
    struct io_stat stat;
    uint64_t wanted_bytes, held_bytes, most_bytes, free_bytes, more_bytes;
    enum err err;
    bool is_opening, is_giving;
    char folder[RESERVE_PATH_BYTES], path[RESERVE_PATH_BYTES];
};

/* Keeps back `bytes`, or a quarter of what is free if that is less; takes over what the file of a
 * former opening holds.  OK also where there is no space: then it holds nothing.  `*r` is
 * overwritten, and stays in place until it is closed. */
void reserve_open(struct reserve *r, struct io *, struct io_req *, struct op *, const char *folder,
                  uint64_t bytes);
/* Gives all of it back to the disk. */
void reserve_release(struct reserve *, struct io_req *, struct op *);
/* Keeps it back again.  ERR_NO_SPACE, and it holds what it held, unless a quarter of what is free
 * is half of what it once held: so that it does not take the first space that comes back. */
void reserve_refill(struct reserve *, struct io_req *, struct op *);
uint64_t reserve_bytes(const struct reserve *); /* held now */
/* The file stays, with what it holds. */
void reserve_close(struct reserve *, struct io_req *, struct op *);

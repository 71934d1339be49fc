/* disk_impl.h - a simulated disk: inodes, names, what is not synced; for the files of the
 * simulator.
 *
 * disk.c: content; folder.c: names; crash.c: what survives; file.c, tree.c: io.h's requests;
 * hand.c: the test's own hand.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/list.h"
#include "io/sim/sim.h"

struct event;
struct sim_node;

struct pages {
    uint64_t size;
    uint8_t **page; /* NULL: zeros */
    size_t room;
};
struct entry {
    char *name;
    struct inode *inode;
};
struct folder {
    struct entry *entries; /* sorted by name */
    size_t count, room;
};
struct inode {
    struct sim_disk *disk;
    struct list of_disk, unsynced;
    unsigned refs; /* entries, handles and un-synced changes that point here */
    bool is_folder, is_locked;
    int64_t modified_us;    /* by its writer's clock */
    uint64_t slow_ns;       /* sim_slow_file */
    struct pages now, kept; /* as a read sees it; as a crash leaves it at least */
    struct folder names_now, names_kept;
};
enum unsynced_kind { UNSYNCED_WRITE, UNSYNCED_GROW, UNSYNCED_TRUNCATE, UNSYNCED_NAME };
struct unsynced {
    struct list of_disk, of_inode;
    enum unsynced_kind kind;
    uint64_t done; /* when its request had completed; 0 before */
    struct inode *inode;
    uint64_t offset, size;
    struct inode *from, *to; /* folders of a changed name; either may be NULL */
    char *from_name, *to_name;
    bool is_chosen; /* by the sync that is looking */
    uint8_t data[];
};
struct sim_disk {
    struct inode *root;
    struct list inodes, unsynced; /* unsynced: oldest first */
    uint64_t seq;
    uint64_t used_bytes, size_bytes;
    uint64_t calls, changes;
    uint64_t fail_from, fail_count; /* which calls fail, by number */
    enum err fail_err;
    enum sim_image image;
    uint64_t kill_at; /* the change at which the power fails, by number; 0: none */
    enum sim_image kill_image;
    void (*kill_release)(void *context);
};
/* What a request is, for those that fail or are counted by kind. */
enum disk_call { CALL_LOOK = 0, CALL_OPEN = 1, CALL_CHANGE = 2, CALL_CREATE = 3 };
bool sim_disk_is_off(const struct sim_disk *); /* the power has failed */
void sim_disk_init(struct sim_disk *);
void sim_disk_deinit(struct sim_disk *);
struct inode *inode_new(struct sim_disk *, bool is_folder);
void inode_ref(struct inode *);
void inode_unref(struct inode *);
struct unsynced *inode_write(struct inode *, const void *, size_t n, uint64_t offset);
struct unsynced *inode_resize(struct inode *, enum unsynced_kind, uint64_t size);
/* What was done before `upto` becomes durable; or is forgotten, as after a failed fsync. */
void inode_sync(struct inode *, uint64_t upto, bool is_good);
void unsynced_apply(struct unsynced *);
void unsynced_free(struct unsynced *);
struct unsynced *unsynced_new(struct inode *, enum unsynced_kind, size_t data_size);
void pages_read(const struct pages *, void *to, size_t n, uint64_t offset);
void pages_write(struct pages *, const void *from, size_t n, uint64_t offset);
void pages_resize(struct pages *, uint64_t size);
void pages_copy(struct pages *to, const struct pages *from);
void pages_deinit(struct pages *);

/* A path taken apart: the folder that holds its last name, and that name.  folder is NULL when it
 * does not exist, and for the root. */
struct place {
    struct inode *folder;
    struct inode *inode; /* NULL: no such entry */
    char name[256];
};
bool sim_path_next(const char **path, char name[256]); /* the next name; false at the end */
struct place sim_place_of(struct sim_disk *, const char *path);
struct inode *sim_folder_get(const struct folder *, const char *name);
void sim_folder_set(struct folder *, const char *name, struct inode *);
void sim_folder_remove(struct folder *, const char *name);
void sim_folder_copy(struct folder *to, const struct folder *from);
void sim_folder_deinit(struct folder *);
struct unsynced *sim_place_add(struct place *, struct inode *);
struct unsynced *sim_place_remove(struct place *);
struct unsynced *sim_place_move(struct place *from, struct place *to);
struct unsynced *sim_path_make(struct sim_disk *, const char *path);
void sim_folder_sync(struct inode *, uint64_t upto);
void sim_disk_crash(struct sim *, struct sim_disk *, enum sim_image);
void sim_file_close_all(struct sim_node *);
/* What every request of a disk begins with: a drawn time and, by chance or by order, an error. */
struct event *sim_disk_request(struct io *, struct io_req *, struct op *, enum disk_call);
void sim_disk_change_done(struct event *);

/* golden.h - every table that Cassandra itself wrote, with all its files in memory.
 *
 *     RONDO_GOLDEN, else ../shared/golden beside the sources     may be absent
 *     tests/golden
 *
 * A folder with a Data.db in it is a table, at any depth.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/mem.h"
#include "sstable/sstable.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

struct golden {
    char folder[512];
    struct sstable_name name;
    unsigned components;                 /* a bit each */
    struct bytes files[COMPONENT_COUNT]; /* each on the heap, at its size: an overread is found */
};
typedef void golden_visit(const struct golden *);

static inline struct bytes golden_read(const char *path)
{
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f, "%s: cannot be read", path);
    struct buf b = { 0 };
    for (size_t got = 1; got;) {
        uint8_t *at = buf_take(&b, 65536);
        got = fread(at, 1, 65536, f);
        b.size -= 65536 - got;
    }
    fclose(f);
    uint8_t *exact = mem_alloc(b.size);
    if (b.size)
        memcpy(exact, b.data, b.size);
    struct bytes file = { exact, b.size };
    buf_deinit(&b);
    return file;
}

static inline void golden_open(struct golden *g)
{
    for (enum sstable_component c = COMPONENT_DATA; c < COMPONENT_COUNT; c++) {
        char file[SSTABLE_NAME_BYTES], path[640];
        struct stat at;
        sstable_name_print(&g->name, c, file);
        snprintf(path, sizeof path, "%s/%s", g->folder, file);
        if (stat(path, &at))
            continue;
        g->components |= 1U << c;
        g->files[c] = golden_read(path);
    }
}

static inline size_t golden_walk_folder(const char *folder, golden_visit *visit)
{
    size_t count = 0;
    struct dirent **entries;
    int entries_count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < entries_count; i++) {
        struct golden g = { 0 };
        enum sstable_component component;
        struct report report;
        const char *name = entries[i]->d_name;
        snprintf(g.folder, sizeof g.folder, "%s/%s", folder, name);
        if (entries[i]->d_type == DT_DIR && name[0] != '.')
            count += golden_walk_folder(g.folder, visit);
        if (sstable_name_parse(name, &g.name, &component, &report) == OK &&
            component == COMPONENT_DATA) {
            snprintf(g.folder, sizeof g.folder, "%s", folder);
            golden_open(&g);
            visit(&g);
            count++;
            for (size_t c = 0; c < COMPONENT_COUNT; c++)
                mem_free((void *)g.files[c].data);
        }
        free(entries[i]);
    }
    if (entries_count >= 0)
        free(entries);
    return count;
}

/* How many tables were visited; says which folder is not there. */
static inline size_t golden_walk(golden_visit *visit)
{
    const char *given = getenv("RONDO_GOLDEN");
    const char *roots[] = { given ? given : SOURCE_DIR "/../shared/golden",
                            SOURCE_DIR "/tests/golden" };
    size_t count = 0;
    for (size_t i = 0; i < array_count(roots); i++) {
        size_t found = golden_walk_folder(roots[i], visit);
        if (!found)
            printf("skipped: no golden tables in %s\n", roots[i]);
        count += found;
    }
    return count;
}

/* The next entry of Index.db: its key; false at the end. */
static inline bool golden_index_next(struct cursor *index, struct bytes *key, uint64_t *place)
{
    if (!cursor_left(index))
        return false;
    uint16_t size = cursor_be16(index);
    *key = cursor_bytes(index, size);
    *place = cursor_vint(index);
    cursor_bytes(index, cursor_vint(index));
    ck_assert(!index->bad);
    return true;
}

/* layout.c - a cluster's folder: where its nodes are and how they are set.
 *
 * rondo.yaml is the truth about a node's addresses: it is written once and read from then on, so
 * that whoever edits it is obeyed.  All nodes are seeds, so all are members when the cluster is
 * born.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/layout.h"

#include "base/arena.h"
#include "base/buf.h"
#include "command/tell.h"
#include "config/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MEMTABLE_BYTES = 256 << 20, CACHE_BYTES = 64 << 20, YAML_BYTES_MAX = 1 << 20 };

void layout_path(const struct layout_node *node, const char *name, char out[LAYOUT_PATH_BYTES])
{
    int size = snprintf(out, LAYOUT_PATH_BYTES, "%s/%s", node->folder, name);
    ensure(size > 0 && size < LAYOUT_PATH_BYTES); /* layout_folder left room for names */
}

bool layout_address(const char *first, unsigned at, char out[64])
{
    struct in_addr address;
    if (inet_pton(AF_INET, first, &address) != 1)
        return false;
    uint32_t number = ntohl(address.s_addr);
    if (number + at < number)
        return false;
    address.s_addr = htonl(number + at);
    return inet_ntop(AF_INET, &address, out, 64) != NULL;
}

/* The absolute form of a folder that exists. */
static bool layout_folder(struct layout *l, const char *folder)
{
    char *path = realpath(folder, NULL);
    bool is_short = path && strlen(path) + 64 < LAYOUT_PATH_BYTES;
    if (!path)
        (void)tell("%s: %s", folder, strerror(errno));
    else if (!is_short)
        (void)tell("%s is too long a path", path);
    else
        memcpy(l->folder, path, strlen(path) + 1);
    free(path);
    return is_short;
}

static void node_begin(struct layout *l, unsigned number)
{
    struct layout_node *node = &l->nodes[number - 1];
    char folder[sizeof node->folder];
    int size = snprintf(folder, sizeof folder, "%s/node%u", l->folder, number);
    ensure(size > 0 && (size_t)size < sizeof folder);
    *node = (struct layout_node){ .number = number };
    memcpy(node->folder, folder, (size_t)size + 1);
}

/* ---- reading ---- */

static bool config_read(struct config *config, struct arena *arena, const char *path)
{
    struct report report;
    FILE *file = fopen(path, "rb");
    if (!file)
        return tell_no("%s: %s", path, strerror(errno));
    uint8_t *text = arena_alloc(arena, YAML_BYTES_MAX);
    size_t size = fread(text, 1, YAML_BYTES_MAX, file);
    fclose(file);
    config_defaults(config);
    if (config_parse(config, arena, path, bytes_of(text, size), &report) != OK)
        return tell_no("%s", report.text);
    return true;
}

static void pid_read(struct layout_node *node)
{
    char path[LAYOUT_PATH_BYTES], text[64] = "", *end;
    layout_path(node, "rondod.pid", path);
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    node->process.pid = (pid_t)strtol(text, &end, 10);
    node->process.started_at = strtoull(end, NULL, 10);
    if (node->process.pid <= 0)
        node->process.pid = 0;
}

static bool node_read(struct layout *l, unsigned number)
{
    struct layout_node *node = &l->nodes[number - 1];
    struct config config = { 0 };
    struct arena arena = { 0 };
    char path[LAYOUT_PATH_BYTES];
    layout_path(node, "rondo.yaml", path);
    bool is_good = config_read(&config, &arena, path);
    if (is_good) {
        (void)snprintf(node->address, sizeof node->address, "%s", config.rpc_address);
        node->port = (uint16_t)config.native_transport_port;
        node->admin_port = (uint16_t)config.admin_port;
        node->storage_port = (uint16_t)config.storage_port;
        pid_read(node);
    }
    arena_deinit(&arena);
    return is_good;
}

static bool is_there(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

bool layout_read(struct layout *l, const char *folder)
{
    *l = (struct layout){ 0 };
    if (!is_there(folder) && errno == ENOENT)
        return true;
    if (!layout_folder(l, folder))
        return false;
    while (l->count < LAYOUT_NODES_MAX) {
        char path[LAYOUT_PATH_BYTES];
        node_begin(l, l->count + 1);
        layout_path(&l->nodes[l->count], "rondo.yaml", path);
        if (!is_there(path))
            break;
        l->count++;
        if (!node_read(l, l->count))
            return false;
    }
    return true;
}

/* ---- making ---- */

static bool folder_make(const char *path)
{
    if (mkdir(path, 0755) == 0 || errno == EEXIST)
        return true;
    (void)tell("%s cannot be made: %s", path, strerror(errno));
    return false;
}

/* mkdir -p */
static bool folders_make(const char *path)
{
    char part[LAYOUT_PATH_BYTES];
    if (strlen(path) >= sizeof part)
        return tell_no("%s is too long a path", path);
    for (size_t i = 1; path[i]; i++) {
        memcpy(part, path, i + 1);
        part[i + 1] = '\0';
        bool is_inner = part[i] == '/';
        if (is_inner)
            part[i] = '\0';
        if (is_inner && !is_there(part) && !folder_make(part))
            return false;
    }
    return is_there(path) || folder_make(path);
}

static bool text_write(const char *path, struct bytes text)
{
    FILE *file = fopen(path, "wb");
    bool is_good = file && fwrite(text.data, 1, text.size, file) == text.size;
    if (file && fclose(file) != 0)
        is_good = false;
    if (!is_good)
        (void)tell("%s cannot be written: %s", path, strerror(errno));
    return is_good;
}

/* What is not the default: who the node is, where it listens, where its folders are. */
static void config_fill(struct config *config, const struct layout_node *node,
                        const struct options *o, struct arena *arena)
{
    const char **data = arena_array(arena, const char *, 1);
    const char *cluster = strrchr(o->dir, '/');
    config_defaults(config);
    config->cluster_name = cluster && cluster[1] ? cluster + 1 : o->dir;
    config->listen_address = config->rpc_address = config->admin_address = node->address;
    config->native_transport_port = node->port;
    config->admin_port = node->admin_port;
    config->storage_port = node->storage_port;
    data[0] = arena_printf(arena, "%s/data", node->folder);
    config->data_file_directories = (struct config_texts){ data, 1 };
    config->commitlog_directory = arena_printf(arena, "%s/commitlog", node->folder);
    config->hints_directory = arena_printf(arena, "%s/hints", node->folder);
    config->log_file = arena_printf(arena, "%s/rondod.log", node->folder);
    config->memtable_heap_space_bytes = MEMTABLE_BYTES;
    config->file_cache_size_bytes = CACHE_BYTES;
    config->shards = (int)o->shards;
    config->default_compaction = (struct config_compaction){
        .class_name = "UnifiedCompactionStrategy",
        .pairs = { { "scaling_parameters", "T4" } },
        .pairs_count = 1,
    };
}

static bool node_make(struct layout_node *node, const struct config_texts *seeds,
                      const struct options *o)
{
    static const char *const folders[] = { "data", "commitlog", "hints" };
    struct config config;
    struct arena arena = { 0 };
    struct buf text = { 0 };
    char path[LAYOUT_PATH_BYTES];
    bool is_good = folder_make(node->folder);
    for (size_t i = 0; i < array_count(folders) && is_good; i++) {
        layout_path(node, folders[i], path);
        is_good = folder_make(path);
    }
    config_fill(&config, node, o, &arena);
    config.seeds = *seeds;
    config_print(&config, &text);
    layout_path(node, "rondo.yaml", path);
    is_good = is_good && text_write(path, buf_bytes(&text));
    buf_deinit(&text);
    arena_deinit(&arena);
    return is_good;
}

bool layout_make(struct layout *l, const struct options *o)
{
    const char *addresses[LAYOUT_NODES_MAX];
    if (!folders_make(o->dir) || !layout_folder(l, o->dir))
        return false;
    l->count = (unsigned)o->nodes;
    for (unsigned i = 0; i < l->count; i++) {
        struct layout_node *node = &l->nodes[i];
        node_begin(l, i + 1);
        node->port = (uint16_t)o->port;
        node->admin_port = (uint16_t)o->admin_port;
        node->storage_port = 7000;
        addresses[i] = node->address;
        if (!layout_address(o->address, i, node->address))
            return tell_no("there is no IPv4 address %u behind %s", i, o->address);
    }
    struct config_texts seeds = { addresses, l->count };
    for (unsigned i = 0; i < l->count; i++)
        if (!node_make(&l->nodes[i], &seeds, o))
            return false;
    return true;
}

bool layout_note_process(const struct layout_node *node)
{
    char path[LAYOUT_PATH_BYTES], text[64];
    layout_path(node, "rondod.pid", path);
    if (node->process.pid == 0)
        return unlink(path) == 0 || errno == ENOENT;
    int size = snprintf(text, sizeof text, "%d %" PRIu64 "\n", (int)node->process.pid,
                        node->process.started_at);
    return text_write(path, bytes_of(text, (size_t)size));
}

void layout_last_words(const struct layout_node *node, char *out, size_t room)
{
    char path[LAYOUT_PATH_BYTES], line[1024];
    out[0] = '\0';
    layout_path(node, "console", path);
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0])
            (void)snprintf(out, room, "%s", line);
    }
    fclose(file);
}

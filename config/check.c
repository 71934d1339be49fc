/* check.c - what settings demand of one another, once each is right by itself.
 *
 * Each check names the setting that has to change first, and its place in the file if it stood
 * there.
 */
// SPDX-License-Identifier: Apache-2.0
#include "config/setting.h"

/* "rondo.yaml:3:1: name: " before the sentence, or "name: " for a setting that is not in the file.
 */
static enum err refuse(const struct config *c, enum config_key key, struct report *report,
                       const char *sentence)
{
    const struct config_place *at = &c->places[key];
    const char *name = setting_at(key)->name;
    if (!c->file_name || !at->line)
        return report_set(report, ERR_CONFIG, "%s: %s", name, sentence);
    return report_set(report, ERR_CONFIG, "%s:%u:%u: %s: %s", c->file_name, at->line, at->column,
                      name, sentence);
}

static bool is_wildcard(const char *address)
{
    static const char *const wildcards[] = { "0.0.0.0", "::", "0", "*", "[::]" };
    for (size_t i = 0; i < array_count(wildcards); i++)
        if (strcmp(address, wildcards[i]) == 0)
            return true;
    return false;
}

static enum err check_addresses(const struct config *c, struct report *report)
{
    if (is_wildcard(c->broadcast_address))
        return refuse(c, CONFIG_KEY_broadcast_address, report,
                      "must be an address that other nodes can connect to, not all addresses");
    if (is_wildcard(c->broadcast_rpc_address))
        return refuse(c, CONFIG_KEY_broadcast_rpc_address, report,
                      "must be an address that clients can connect to, not all addresses");
    if (is_wildcard(c->listen_address) && !*c->broadcast_address)
        return refuse(c, CONFIG_KEY_listen_address, report,
                      "listening on all addresses needs broadcast_address, "
                      "the one that other nodes connect to");
    if (is_wildcard(c->rpc_address) && !*c->broadcast_rpc_address)
        return refuse(c, CONFIG_KEY_rpc_address, report,
                      "listening on all addresses needs broadcast_rpc_address, "
                      "the one that clients connect to");
    return OK;
}

/* Two listeners want the same port of addresses that may be the same. */
static bool is_clash(const char *a, int a_port, const char *b, int b_port)
{
    bool same = strcmp(a, b) == 0 || is_wildcard(a) || is_wildcard(b);
    return a_port == b_port && a_port != 0 && same;
}

static enum err check_ports(const struct config *c, struct report *report)
{
    if (is_clash(c->listen_address, c->storage_port, c->rpc_address, c->native_transport_port))
        return refuse(c, CONFIG_KEY_storage_port, report,
                      "is native_transport_port's too, on the same address; "
                      "give them different ports");
    if (is_clash(c->admin_address, c->admin_port, c->rpc_address, c->native_transport_port))
        return refuse(c, CONFIG_KEY_admin_port, report,
                      "is native_transport_port's too, on the same address; "
                      "give them different ports");
    if (is_clash(c->admin_address, c->admin_port, c->listen_address, c->storage_port))
        return refuse(c, CONFIG_KEY_admin_port, report,
                      "is storage_port's too, on the same address; give them different ports");
    return OK;
}

static enum err check_folders(const struct config *c, struct report *report)
{
    if (strcmp(c->commitlog_directory, c->hints_directory) == 0)
        return refuse(c, CONFIG_KEY_hints_directory, report,
                      "is commitlog_directory too; each needs a folder of its own");
    for (size_t i = 0; i < c->data_file_directories.count; i++) {
        const char *folder = c->data_file_directories.items[i];
        if (strcmp(folder, c->commitlog_directory) == 0)
            return refuse(c, CONFIG_KEY_commitlog_directory, report,
                          "is a data folder too; each needs a folder of its own");
        if (strcmp(folder, c->hints_directory) == 0)
            return refuse(c, CONFIG_KEY_hints_directory, report,
                          "is a data folder too; each needs a folder of its own");
        for (size_t j = 0; j < i; j++)
            if (strcmp(folder, c->data_file_directories.items[j]) == 0)
                return refuse(c, CONFIG_KEY_data_file_directories, report,
                              "names the same folder twice");
    }
    return OK;
}

static enum err check_sizes(const struct config *c, struct report *report)
{
    if (c->commitlog_total_space_bytes < 2 * c->commitlog_segment_size_bytes)
        return refuse(c, CONFIG_KEY_commitlog_total_space, report,
                      "must hold at least two files of commitlog_segment_size");
    uint64_t in_flight = c->native_transport_max_request_data_in_flight_bytes;
    if (in_flight && in_flight < c->native_transport_max_frame_size_bytes)
        return refuse(c, CONFIG_KEY_native_transport_max_request_data_in_flight, report,
                      "must be at least native_transport_max_frame_size, "
                      "or no request of that size could ever be taken");
    uint64_t parts = c->memtable_heap_space_bytes + c->file_cache_size_bytes;
    if (c->memory_limit_bytes && parts > c->memory_limit_bytes)
        return refuse(c, CONFIG_KEY_memory_limit, report,
                      "is less than memtable_heap_space and file_cache_size together");
    return OK;
}

enum err config_check(const struct config *c, struct report *report)
{
    enum err err = check_addresses(c, report);
    if (err == OK)
        err = check_ports(c, report);
    if (err == OK)
        err = check_folders(c, report);
    if (err == OK)
        err = check_sizes(c, report);
    return err;
}

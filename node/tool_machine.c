/* tool_machine.c - see tool_machine.h.
 *
 * A port's owner is found as ss(8) finds it: the listening socket's inode in /proc/net/tcp, then
 * the process that has it open.  Other users' processes cannot be looked into; then no pid is
 * named.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/tool_machine.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

int machine_pid(void) { return (int)getpid(); }

const char *machine_folder(void)
{
    static char folder[1024];
    return getcwd(folder, sizeof folder);
}

const char *machine_host_name(void)
{
    static char name[256];
    bool is_told = gethostname(name, sizeof name) == 0 && memchr(name, 0, sizeof name);
    return is_told && name[0] ? name : "localhost";
}

int machine_cores(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? count : 1;
}

/* What a kernel's file says: a number, or "max", which is none. */
static uint64_t limit_in(const char *path)
{
    uint64_t limit = UINT64_MAX;
    FILE *file = fopen(path, "r");
    if (!file)
        return limit;
    if (fscanf(file, "%" SCNu64, &limit) != 1)
        limit = UINT64_MAX;
    fclose(file);
    return limit;
}

/* Of cgroups in their second version, and in their first. */
static uint64_t cgroup_limit_bytes(void)
{
    return u64_min(limit_in("/sys/fs/cgroup/memory.max"),
                   limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
}

uint64_t machine_memory_bytes(void)
{
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t cgroup = cgroup_limit_bytes();
    if (cgroup > UINT64_MAX / 8)
        return memory;
    return u64_min(memory, cgroup / 5 * 8);
}

/* Does a socket at `held` keep `wanted` from being listened at?  A name is taken to match. */
static bool address_is_held(unsigned held, const char *wanted)
{
    struct in_addr address;
    return held == INADDR_ANY || inet_pton(AF_INET, wanted, &address) != 1 ||
           address.s_addr == INADDR_ANY || address.s_addr == held;
}

/* The inode of the socket that listens there, or 0. */
static uint64_t port_inode(const char *address, int port)
{
    char line[512];
    uint64_t found = 0;
    FILE *file = fopen("/proc/net/tcp", "r");
    while (file && !found && fgets(line, sizeof line, file)) {
        unsigned held = 0, local = 0, state = 0;
        uint64_t inode = 0;
        int n = sscanf(line, " %*d: %8x:%x %*8x:%*x %x %*s %*s %*s %*s %*s %" SCNu64, &held, &local,
                       &state, &inode);
        if (n == 4 && state == 0x0A && (int)local == port && address_is_held(held, address))
            found = inode;
    }
    if (file)
        fclose(file);
    return found;
}

static bool process_holds(const char *pid, uint64_t inode)
{
    char path[300], link[64], wanted[64];
    bool holds = false;
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    snprintf(wanted, sizeof wanted, "socket:[%" PRIu64 "]", inode);
    DIR *folder = opendir(path);
    struct dirent *entry = NULL;
    while (folder && !holds && (entry = readdir(folder)) != NULL) {
        snprintf(path, sizeof path, "/proc/%s/fd/%.20s", pid, entry->d_name);
        ssize_t n = readlink(path, link, sizeof link - 1);
        if (n > 0) {
            link[n] = 0;
            holds = strcmp(link, wanted) == 0;
        }
    }
    if (folder)
        closedir(folder);
    return holds;
}

static int inode_owner(uint64_t inode)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry = NULL;
    int pid = 0;
    while (folder && !pid && (entry = readdir(folder)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            process_holds(entry->d_name, inode))
            pid = atoi(entry->d_name);
    if (folder)
        closedir(folder);
    return pid;
}

void machine_name_port_owner(const struct config *c, struct report *report)
{
    const struct {
        const char *address;
        int port;
    } all[] = { { c->rpc_address, c->native_transport_port },
                { c->listen_address, c->storage_port },
                { c->admin_address, c->admin_port } };
    for (size_t i = 0; i < array_count(all); i++) {
        char port[16];
        snprintf(port, sizeof port, ":%d", all[i].port);
        uint64_t inode = strstr(report->text, port) ? port_inode(all[i].address, all[i].port) : 0;
        int pid = inode ? inode_owner(inode) : 0;
        size_t n = strlen(report->text);
        if (pid)
            snprintf(report->text + n, sizeof report->text - n, " (taken by pid %d)", pid);
        if (inode)
            return;
    }
}

/* main.c - rondod: the command line, the configuration, the real world.
 *
 *     rondod --config FILE | (none: loopback, ./rondo-data) | --version | --help | --print-config
 *
 * Everything that is wrong before the node runs, and whatever stopped it, is one line on standard
 * error and exit code 1; wrong usage is 2.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/buf.h"
#include "io/uv/uv.h"
#include "node/context.h"
#include "node/node.h"
#include "node/tool_machine.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char help[] =
    "rondod - one node of a Rondo ring\n"
    "\n"
    "    rondod                     a node of its own on loopback, data in ./rondo-data\n"
    "    rondod --config FILE       settings from FILE (rondo.yaml)\n"
    "    rondod --config FILE --commitlog-upto-hole | --commitlog-skip-hole\n"
    "                               start though a commit log is damaged before its end: with\n"
    "                               what stands before that place, or with what is behind it too\n"
    "    rondod --print-config      every setting with its meaning, as a file to begin from\n"
    "    rondod --version           the version\n"
    "    rondod --help              this text\n"
    "\n"
    "SIGTERM and SIGINT stop the node within seconds: what it has acknowledged is on disk.\n"
    "Clients connect to rpc_address:native_transport_port (127.0.0.1:9042) with any Cassandra\n"
    "driver, or with: rondo query \"SELECT * FROM system.local\"\n"
    "\n"
    "exit codes: 0 stopped as asked; 1 could not start or go on (one line says why); 2 wrong "
    "usage\n";

enum { CONFIG_BYTES_MAX = 1 << 20 };

static void say(const char *line)
{
    fprintf(stderr, "rondod: %s\n", line);
    fflush(stderr);
}

static int complain(const struct report *report)
{
    fprintf(stderr, "rondod: %s\n", report->text);
    return 1;
}

static enum err read_file(struct arena *arena, const char *path, struct bytes *out,
                          struct report *report)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return report_set(report, ERR_CONFIG, "cannot read %s: %s", path, strerror(errno));
    uint8_t *data = arena_alloc(arena, CONFIG_BYTES_MAX + 1);
    size_t size = fread(data, 1, CONFIG_BYTES_MAX + 1, file);
    int failed = ferror(file) ? errno : 0; /* a folder can be opened, and not read */
    fclose(file);
    if (failed)
        return report_set(report, ERR_CONFIG, "cannot read %s: %s", path, strerror(failed));
    if (size > CONFIG_BYTES_MAX)
        return report_set(report, ERR_CONFIG, "%s is larger than 1 MiB: is it a configuration?",
                          path);
    *out = bytes_of(data, size);
    return OK;
}

/* The word stands for a name that only the machine knows. */
static void name_host(struct config *config)
{
    const char **all[] = { &config->listen_address, &config->broadcast_address,
                           &config->rpc_address, &config->broadcast_rpc_address,
                           &config->admin_address };
    for (size_t i = 0; i < array_count(all); i++)
        if (strcmp(*all[i], "hostname") == 0)
            *all[i] = machine_host_name();
}

static enum err load_config(struct config *config, struct arena *arena, const char *path,
                            struct report *report)
{
    struct bytes text = { 0 };
    enum err err = OK;
    config_defaults(config);
    if (path)
        err = read_file(arena, path, &text, report);
    if (path && err == OK)
        err = config_parse(config, arena, path, text, report);
    if (err == OK)
        err = config_check(config, report);
    if (err == OK)
        err = context_check(config, arena, report);
    return err;
}

static enum err run_config(struct config *config, enum journal_holes holes, struct report *failed)
{
    struct node_process process = { .config = config, .said = say, .pid = machine_pid() };
    process.holes = holes;
    process.folder = machine_folder();
    name_host(config);
    if (config->shards == 0)
        config->shards = (int)u64_min((uint64_t)machine_cores(), NODE_SHARDS_MAX);
    if (config->shards > NODE_SHARDS_MAX)
        return report_set(failed, ERR_CONFIG, "shards: %d is more than %d", config->shards,
                          NODE_SHARDS_MAX);
    process.memory_bytes = machine_memory_bytes();
    uv_world_run(config->shards, node_start, &process);
    if (process.failed.err == ERR_ADDRESS_IN_USE)
        machine_name_port_owner(config, &process.failed);
    *failed = process.failed;
    return failed->err;
}

static int run(const char *path, enum journal_holes holes)
{
    static struct config config;
    struct arena arena = { 0 };
    struct report failed = { 0 };
    enum err err = load_config(&config, &arena, path, &failed);
    if (err == OK)
        err = run_config(&config, holes, &failed);
    int code = err == OK ? 0 : complain(&failed);
    arena_deinit(&arena);
    return code;
}

static int print_config(void)
{
    struct buf out = { 0 };
    config_print(NULL, &out);
    fwrite(out.data, 1, out.size, stdout);
    buf_deinit(&out);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 1)
        return run(NULL, JOURNAL_STRICT);
    if (argc == 3 && strcmp(argv[1], "--config") == 0)
        return run(argv[2], JOURNAL_STRICT);
    if (argc == 4 && strcmp(argv[1], "--config") == 0) {
        if (strcmp(argv[3], "--commitlog-upto-hole") == 0)
            return run(argv[2], JOURNAL_UPTO_HOLE);
        if (strcmp(argv[3], "--commitlog-skip-hole") == 0)
            return run(argv[2], JOURNAL_SKIP_HOLE);
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("rondod %s\n", RONDO_VERSION);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--print-config") == 0)
        return print_config();
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    fprintf(stderr, "rondod: '%s' is not understood here; rondod --help says what is\n", argv[1]);
    return 2;
}

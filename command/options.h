/* options.h - the command line: one table of flags for all commands.
 *
 * Every flag is declared once, with its kind, what it may be, its default and its line of help; a
 * command names those that it takes.  `--flag value`, `--flag=value`, and `-k value` for those with
 * a letter; `--` ends the flags; `-` is a word like any other.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"
#include "driver/rondo.h"

enum { OPTIONS_WORDS_MAX = 8, OPTIONS_HOSTS_TEXT = 512 };

/* X(flag, field, kind, letter, default, allowed, value's name, help)
 * kinds: TEXT; COUNT "least..most"; YES (no value); LEVEL; ROUTE; HOSTS */
#define OPTION_LIST(X)                                                                            \
    X("host", hosts, TEXT, 'H', "127.0.0.1", "", "H[,H...]", "the node to speak to, or several")  \
    X("port", port, COUNT, 'p', "9042", "1..65535", "P", "its port for clients (CQL)")            \
    X("admin-port", admin_port, COUNT, 0, "9180", "1..65535", "P", "its port for administration") \
    X("json", json, YES, 0, "", "", "", "print JSON")                                             \
    X("csv", csv, YES, 0, "", "", "", "print CSV, names first")                                   \
    X("keyspace", keyspace, TEXT, 'k', "", "", "KEYSPACE",                                        \
      "where unqualified tables are looked up")                                                   \
    X("consistency", consistency, LEVEL, 'c', "", "", "CL",                                       \
      "ONE (the default), TWO, THREE, QUORUM, ALL, ANY, LOCAL_ONE, LOCAL_QUORUM or EACH_QUORUM")  \
    X("page-size", page_size, COUNT, 0, "5000", "1..1000000", "ROWS", "rows fetched at a time")   \
    X("null", null_text, TEXT, 0, "", "", "TEXT",                                                 \
      "the unquoted text that stands for null (default: nothing)")                                \
    X("reject", reject, TEXT, 0, "", "", "FILE",                                                  \
      "where bad rows go (default: KEYSPACE.TABLE.rejected.csv)")                                 \
    X("in-flight", in_flight, COUNT, 0, "256", "1..1024", "N", "rows that may be under way")      \
    X("local", local, YES, 0, "", "", "", "ask only the node named by --host")                    \
    X("tag", tag, TEXT, 't', "", "", "TAG", "the snapshot's name")                                \
    X("table", table, TEXT, 0, "", "", "TABLE", "the table that files are for")                   \
    X("all", all, YES, 0, "", "", "", "every snapshot")                                           \
    X("nodes", nodes, COUNT, 'n', "3", "1..64", "N", "how many nodes, at the first start")        \
    X("dir", dir, TEXT, 'd', "", "", "DIR",                                                       \
      "cluster: its folder, required; bench: where to make one (.)")                              \
    X("address", address, TEXT, 0, "127.0.0.1", "", "IPv4",                                       \
      "node 1 listens here, node 2 on the next address, and so on")                               \
    X("shards", shards, COUNT, 0, "1", "1..64", "N", "threads of each node")                      \
    X("rows", rows, COUNT, 0, "100000", "1..1000000000", "N", "rows to load and read")            \
    X("seconds", seconds, COUNT, 0, "10", "1..86400", "S", "how long each run lasts")             \
    X("connections", connections, COUNT, 0, "1", "1..10000", "C", "clients, a connection each")   \
    X("depth", depth, COUNT, 0, "1", "1..1024", "D", "requests in flight on each")                \
    X("value", value_bytes, COUNT, 0, "1024", "1..1048576", "BYTES", "size of a value")           \
    X("rf", rf, COUNT, 0, "3", "1..64", "N", "replication factor")                                \
    X("rate", rate, COUNT, 0, "0", "0..100000000", "R",                                           \
      "requests a second in all, each timed from when it was due; 0: as fast as they go")         \
    X("no-load", no_load, YES, 0, "", "", "", "read what an earlier run has loaded")              \
    X("route", route, ROUTE, 0, "aware", "", "aware|forward|random",                              \
      "send to a replica, to a node that is none, to any")                                        \
    X("floor", floor, YES, 0, "", "", "", "measure a bare echo of the same bytes beside it")      \
    X("raw-times", raw_times, YES, 't', "", "", "", "dump: times as numbers, not as dates")       \
    X("lines", lines, YES, 'l', "", "", "", "dump: a line of JSON for each partition")            \
    X("keys-only", keys_only, YES, 'e', "", "", "", "dump: only the partition keys")              \
    X("to", to_version, TEXT, 0, "nb", "", "nb|oa", "upgrade: the version of the format to write")

enum option_key {
#define OPTION_KEY(flag, field, kind, letter, initial, allowed, value, help) OPTION_##field,
    OPTION_LIST(OPTION_KEY)
#undef OPTION_KEY
        OPTIONS_COUNT
};

#define OPTION_FIELD_TEXT(field) const char *field
#define OPTION_FIELD_COUNT(field) uint64_t field
#define OPTION_FIELD_YES(field) bool field
#define OPTION_FIELD_LEVEL(field) rd_consistency field
#define OPTION_FIELD_ROUTE(field) rd_routing field
struct options {
#define OPTION_FIELD(flag, field, kind, letter, initial, allowed, value, help) \
    OPTION_FIELD_##kind(field);
    OPTION_LIST(OPTION_FIELD)
#undef OPTION_FIELD
    bool given[OPTIONS_COUNT]; /* on the command line, not by default */
    const char *words[OPTIONS_WORDS_MAX];
    size_t words_count;
};

/* What a command takes: a bit per option. */
#define TAKES(field) (UINT64_C(1) << OPTION_##field)
#define TAKES_OPERATION (TAKES(hosts) | TAKES(admin_port) | TAKES(json))
#define TAKES_NODE (TAKES(hosts) | TAKES(port) | TAKES(admin_port) | TAKES(json))

/* OK, or ERR_SYNTAX with the sentence.  `arguments` begin behind the command's name; texts are
 * borrowed from them. */
enum err options_parse(struct options *, uint64_t takes, int count, char **arguments,
                       struct report *);
/* The lines of help for what is taken. */
void options_help(uint64_t takes, FILE *out);
const char *options_level_name(rd_consistency);

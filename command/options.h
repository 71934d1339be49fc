/* options.h - the command line: one table of flags for all commands.
 *
 * Every flag is declared once, with its kind, what it may be, its default and its line of help; a
 * command names those that it takes.  `--flag value`, `--flag=value`, and `-k value` for those with
 * a short name (nodetool has some of two letters: `-st`); `--` ends the flags; `-` is a word like
 * any other.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "driver/rondo.h"

enum { OPTIONS_WORDS_MAX = 64, OPTIONS_HOSTS_TEXT = 512 };

/* X(flag, field, kind, short name, default, allowed, value's name, help)
 * kinds: TEXT; COUNT "least..most"; YES (no value); LEVEL; ROUTE; HOSTS */
#define OPTION_LIST(X)                                                                             \
    X("host", hosts, TEXT, "H", "127.0.0.1", "", "H[,H...]", "the node to speak to, or several")   \
    X("port", port, COUNT, "p", "9042", "1..65535", "P", "its port for clients (CQL)")             \
    X("admin-port", admin_port, COUNT, "", "9180", "1..65535", "P", "its port for administration") \
    X("json", json, YES, "", "", "", "", "print JSON")                                             \
    X("csv", csv, YES, "", "", "", "", "print CSV, names first")                                   \
    X("keyspace", keyspace, TEXT, "k", "", "", "KEYSPACE",                                         \
      "where unqualified tables are looked up")                                                    \
    X("consistency", consistency, LEVEL, "c", "", "", "CL",                                        \
      "ONE (the default), TWO, THREE, QUORUM, ALL, ANY, LOCAL_ONE, LOCAL_QUORUM or EACH_QUORUM")   \
    X("page-size", page_size, COUNT, "", "5000", "1..1000000", "ROWS", "rows fetched at a time")   \
    X("null", null_text, TEXT, "", "", "", "TEXT",                                                 \
      "the unquoted text that stands for null (default: nothing)")                                 \
    X("reject", reject, TEXT, "", "", "", "FILE",                                                  \
      "where bad rows go (default: KEYSPACE.TABLE.rejected.csv)")                                  \
    X("in-flight", in_flight, COUNT, "", "256", "1..1024", "N", "rows that may be under way")      \
    X("local", local, YES, "", "", "", "", "ask only the node named by --host")                    \
    X("tag", tag, TEXT, "t", "", "", "TAG", "the snapshot's name")                                 \
    X("table", table, TEXT, "", "", "", "TABLE", "the table that files are for")                   \
    X("all", all, YES, "", "", "", "", "every snapshot")                                           \
    X("nodes", nodes, COUNT, "n", "3", "1..64", "N", "how many nodes, at the first start")         \
    X("dir", dir, TEXT, "d", "", "", "DIR",                                                        \
      "cluster: its folder, required; bench: where to make one (.)")                               \
    X("address", address, TEXT, "", "127.0.0.1", "", "IPv4",                                       \
      "node 1 listens here, node 2 on the next address, and so on")                                \
    X("shards", shards, COUNT, "", "1", "1..64", "N", "threads of each node")                      \
    X("rows", rows, COUNT, "", "100000", "1..1000000000", "N", "rows to load and read")            \
    X("seconds", seconds, COUNT, "", "10", "1..86400", "S", "how long each run lasts")             \
    X("connections", connections, COUNT, "", "1", "1..10000", "C", "clients, a connection each")   \
    X("depth", depth, COUNT, "", "1", "1..1024", "D", "requests in flight on each")                \
    X("value", value_bytes, COUNT, "", "1024", "1..1048576", "BYTES", "size of a value")           \
    X("rf", rf, COUNT, "", "3", "1..64", "N", "replication factor")                                \
    X("rate", rate, COUNT, "", "0", "0..100000000", "R",                                           \
      "requests a second in all, each timed from when it was due; 0: as fast as they go")          \
    X("no-load", no_load, YES, "", "", "", "", "read what an earlier run has loaded")              \
    X("route", route, ROUTE, "", "aware", "", "aware|forward|random",                              \
      "send to a replica, to a node that is none, to any")                                         \
    X("floor", floor, YES, "", "", "", "", "measure a bare echo of the same bytes beside it")      \
    X("raw-times", raw_times, YES, "t", "", "", "", "dump: times as numbers, not as dates")        \
    X("lines", lines, YES, "l", "", "", "", "dump: a line of JSON for each partition")             \
    X("keys-only", keys_only, YES, "e", "", "", "", "dump: only the partition keys")               \
    X("user-defined", user_defined, YES, "", "", "", "", "the words are files: FILE-Data.db ...")  \
    X("split-output", splits, YES, "s", "", "", "",                                                \
      "SizeTiered: several files, each half of the one before, not one")                           \
    X("start-token", start_token, TEXT, "st", "", "", "TOKEN",                                     \
      "only what has tokens from here on")                                                         \
    X("end-token", end_token, TEXT, "et", "", "", "TOKEN", "only files with tokens up to here")    \
    X("partition", partition, TEXT, "", "", "", "KEY",                                             \
      "only files that may have this partition; a:b for a key of several columns")                 \
    X("id", id, COUNT, "id", "0", "0..9007199254740992", "N",                                      \
      "the one that compactionstats shows with this id")                                           \
    X("with", with, TEXT, "", "", "", "SETTING",                                                   \
      "L10, T4, N, T4,L10 ...; a class; or {'class': ..., ...} as ALTER TABLE takes it")           \
    X("validate", validate, YES, "vd", "", "", "", "repair: compare only")                         \
    X("throttle", throttle, COUNT, "", "0", "0..1048576", "MIB",                                   \
      "repair: how many MiB a second it compares at most; 0: no limit")                            \
    X("out", out, TEXT, "", "", "", "DIR", "sweep: where its results go")                          \
    X("model", model, YES, "", "", "", "", "sweep: predict only, without data")                    \
    X("to", to_version, TEXT, "", "nb", "", "nb|oa", "upgrade: the version of the format to write")

enum option_key {
#define OPTION_KEY(flag, field, kind, brief, initial, allowed, value, help) OPTION_##field,
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
#define OPTION_FIELD(flag, field, kind, brief, initial, allowed, value, help) \
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
/* The first flag that was given and is not among these; NULL: none. */
const char *options_beyond(const struct options *, uint64_t takes);
/* The lines of help for what is taken. */
void options_help(uint64_t takes, FILE *out);
/* What was given, but for one flag, as one would type it again: a blank before each word. */
void options_again(const struct options *, enum option_key except, struct buf *out);
const char *options_level_name(rd_consistency);

/* main.c - rondo: the table of commands, help, dispatch.
 *
 *     rondo COMMAND [flags] [words]      rondo help [COMMAND]      rondo COMMAND --help
 *
 * A broken invariant or memory that cannot be had, anywhere below, comes back here (base/fail) and
 * is one line like everything else.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/fail/driver.h"
#include "command/command.h"
#include "command/options.h"
#include "command/tell.h"

struct command {
    const char *name;
    const char *words; /* what stands behind the flags */
    size_t words_least, words_most;
    int (*run)(const struct options *);
    uint64_t takes;
    const char *about; /* the first line says it all */
};

static const struct command commands[] = {
    { "cluster", "start|stop|status|kill N|restart N", 1, 2, cluster_run,
      TAKES(dir) | TAKES(nodes) | TAKES(address) | TAKES(port) | TAKES(admin_port) | TAKES(shards) |
          TAKES(json),
      "A cluster on this machine, its nodes on neighbouring addresses.\n"
      "\n"
      "    rondo cluster start --dir ring\n"
      "    rondo cluster stop --dir ring\n"
      "\n"
      "start    makes DIR/node1, node2, ... if they are not there, starts all nodes at once and\n"
      "         returns when every one serves; what it cannot start it stops again\n"
      "stop     stops all that run: SIGTERM, and SIGKILL after 10 s\n"
      "status   which nodes run\n"
      "kill     ends node N without warning (SIGKILL)\n"
      "restart  stops node N if it runs, starts it, and returns when it serves\n"
      "\n"
      "--dir is required.  --nodes, --address, --shards and the ports count at the first start,\n"
      "which writes them into DIR/nodeN/rondo.yaml; later ones read them from there.  Each node\n"
      "takes three ports of its address: 9042 for clients, 9180 for administration (both may be\n"
      "chosen), and 7000 for the other nodes.\n" },
    { "query", "\"CQL\"", 1, 1, query_run,
      TAKES_NODE | TAKES(csv) | TAKES(keyspace) | TAKES(consistency) | TAKES(page_size),
      "Runs one statement and prints its rows: a table, --json (an object a row), --csv.\n" },
    { "load", "KEYSPACE.TABLE FILE|-", 2, 2, load_run,
      TAKES_NODE | TAKES(consistency) | TAKES(null_text) | TAKES(reject) | TAKES(in_flight),
      "Loads CSV (RFC 4180) into a table; the first row names the columns.\n"
      "\n"
      "A row that is wrong goes to the reject file with its line and the reason, is counted, and\n"
      "makes the exit code 1.  An empty cell is null, \"\" is an empty text.\n" },
    { "unload", "KEYSPACE.TABLE FILE|-", 2, 2, unload_run,
      TAKES_NODE | TAKES(consistency) | TAKES(null_text) | TAKES(page_size),
      "Writes a table as CSV that `rondo load` takes.\n" },
    { "status", "", 0, 0, status_run, TAKES(hosts) | TAKES(admin_port) | TAKES(json) | TAKES(local),
      "Shows every node of the ring, each asked through its admin port.\n" },
    { "health", "", 0, 0, health_run, TAKES(hosts) | TAKES(admin_port),
      "Exit code 0 when the node serves clients; else 1 and what it waits for.\n" },
    { "info", "", 0, 0, info_run, TAKES(hosts) | TAKES(admin_port) | TAKES(json),
      "Shows one node's process: version, folders, and how its memory is divided.\n" },
    { "gossipinfo", "", 0, 0, gossipinfo_run, TAKES(hosts) | TAKES(admin_port) | TAKES(json),
      "Shows what one node has heard of every node: generation, heartbeat, epoch, phi, clocks.\n" },
    { "repair", "[KEYSPACE [TABLE]]", 0, 2, repair_run,
      TAKES_OPERATION | TAKES(start_token) | TAKES(validate) | TAKES(throttle),
      "Makes all replicas equal, range by range: what differs is brought to whom lacks it.\n"
      "\n"
      "The node leads; every replica of a range has to be up for it, else the range is passed\n"
      "over and the exit code is 1.  --validate writes nothing and tells how many rows differ\n"
      "(exit code 1 if any do).  What ends early, or is interrupted, says how to go on; an\n"
      "interrupt does not end what the node does.\n" },
    { "divergence", "", 0, 0, divergence_run,
      TAKES(hosts) | TAKES(admin_port) | TAKES(json) | TAKES(local),
      "Shows for how long writes may be missing on a replica: one number for all, and why.\n"
      "\n"
      "Fed by writes under way, hints that are pending, and ranges that are unknown because a\n"
      "hint could not be kept or a coordinator died; `rondo repair` makes those known again.  A\n"
      "node that does not answer is named, and the exit code is 1.\n" },
    { "sstable", "dump|stats|verify|scrub|upgrade FILE-Data.db | import DIR", 2, 2, sstable_run,
      TAKES_OPERATION | TAKES(keyspace) | TAKES(table) | TAKES(raw_times) | TAKES(lines) |
          TAKES(keys_only) | TAKES(to_version),
      "Looks at files of tables, Cassandra's or ours, without a node.\n"
      "\n"
      "    rondo sstable verify data/shop/orders-*/nb-7-big-Data.db\n"
      "\n"
      "dump     the rows as JSON, in the form of Cassandra's sstabledump\n"
      "stats    what the file says of itself: sizes, times, histograms (--json: all of it)\n"
      "verify   checks every byte, and that everything fits together; what is wrong is told with\n"
      "         file and offset, and makes the exit code 1\n"
      "scrub    writes what can be read of a damaged file into a new one beside it, and moves the\n"
      "         old one into snapshots/; exit code 1 if anything was lost\n"
      "upgrade  writes the file again in another version of the format (--to), which takes its\n"
      "         place\n"
      "\n"
      "scrub and upgrade change the folder: the node that it belongs to must not be running.\n"
      "\n"
      "import   has the node at --host take in all SSTables of a folder, such as a snapshot of\n"
      "         Cassandra's: each is read whole and checked, then written as the node's own; the\n"
      "         folder stays as it is.  The table is the one that schema.cql in the folder or its\n"
      "         name tells; --keyspace and --table name another\n" },
    { "flush", "[KEYSPACE [TABLE]]", 0, 2, flush_run, TAKES_OPERATION,
      "Writes what is in memory into files: of one table, a keyspace, or all of the node.\n" },
    { "snapshot", "[KEYSPACE [TABLE]]", 0, 2, snapshot_run, TAKES_OPERATION | TAKES(tag),
      "Keeps the files of tables as they are now, under a name.\n"
      "\n"
      "It flushes, and makes hard links in DATA/KEYSPACE/TABLE-ID/snapshots/TAG, beside them\n"
      "schema.cql and manifest.json as Cassandra writes them.  Without --tag it is the time.\n" },
    { "listsnapshots", "", 0, 0, listsnapshots_run, TAKES_OPERATION,
      "Shows the snapshots of a node; true size: what would be free without it.\n" },
    { "clearsnapshot", "[KEYSPACE [TABLE]]", 0, 2, clearsnapshot_run,
      TAKES_OPERATION | TAKES(tag) | TAKES(all),
      "Removes snapshots: those of one --tag, or --all; also those of dropped tables.\n" },
    { "refresh", "KEYSPACE TABLE", 1, 2, refresh_run, TAKES_OPERATION,
      "Takes in the SSTables that were put into the table's folder by hand.\n"
      "\n"
      "They are checked and written as the node's own, as `rondo sstable import` does, and go.\n" },
    { "compact", "[KEYSPACE [TABLE ...]] | --user-defined FILE-Data.db ...", 0, OPTIONS_WORDS_MAX,
      compact_run,
      TAKES_OPERATION | TAKES(user_defined) | TAKES(splits) | TAKES(start_token) |
          TAKES(end_token) | TAKES(partition),
      "Merges the files of tables now: of one or several, a keyspace, or all of the node.\n"
      "\n"
      "    rondo compact shop orders\n"
      "    rondo compact --user-defined nb-7-big-Data.db nb-9-big-Data.db\n"
      "\n"
      "It does not flush first.  What runs on these tables in the background is stopped; reads\n"
      "and writes go on.  The exit code is 1 if it was stopped or failed: the files are then as\n"
      "they were, or as far as it has come.\n" },
    { "compactionstats", "", 0, 0, compactionstats_run, TAKES_OPERATION,
      "Shows the compactions that run, what is due on each level, and why.\n" },
    { "compactionhistory", "", 0, 0, compactionhistory_run, TAKES_OPERATION,
      "Shows the compactions that have ended, the latest first.\n" },
    { "compaction", "plan KEYSPACE TABLE --with SETTING | why FILE-Data.db", 2, 3, compaction_run,
      TAKES_OPERATION | TAKES(with),
      "Says what another setting would do and cost, or why a file is still here.\n"
      "\n"
      "    rondo compaction plan shop orders --with L10\n"
      "    rondo compaction plan shop orders --with \"{'class': 'LeveledCompactionStrategy'}\"\n"
      "    rondo compaction why data/shop/orders-*/nb-7-big-Data.db\n"
      "\n"
      "plan   from the files that there are: what would be done next, and what it costs in all,\n"
      "       beside the setting of now.  Nothing is changed; ALTER TABLE changes it\n"
      "why    what keeps the file, its tombstones and expired rows, and from when they can go\n" },
    { "stop", "COMPACTION", 1, 1, stop_run, TAKES_OPERATION | TAKES(id),
      "Stops the compactions that run, or the one with this --id: within a second.\n"
      "\n"
      "Their files stay as they were.  Compactions that are due begin again by themselves; `rondo\n"
      "autocompaction off` keeps them from it.\n" },
    { "autocompaction", "on|off|status [KEYSPACE [TABLE]]", 1, 3, autocompaction_run,
      TAKES_OPERATION,
      "Whether tables are compacted by themselves: until the node's next start.\n"
      "\n"
      "For longer: ALTER TABLE ... WITH compaction = {'class': ..., 'enabled': false}.\n" },
    { "enableautocompaction", "[KEYSPACE [TABLE]]", 0, 2, enableautocompaction_run, TAKES_OPERATION,
      "The same as: autocompaction on.\n" },
    { "disableautocompaction", "[KEYSPACE [TABLE]]", 0, 2, disableautocompaction_run,
      TAKES_OPERATION, "The same as: autocompaction off.\n" },
    { "statusautocompaction", "[KEYSPACE [TABLE]]", 0, 2, statusautocompaction_run, TAKES_OPERATION,
      "The same as: autocompaction status.\n" },
    { "setcompactionthroughput", "MEBIBYTES", 1, 1, setcompactionthroughput_run, TAKES_OPERATION,
      "Sets how many MiB a second a node's compactions read at most; 0: no limit.\n"
      "\n"
      "Until its next start; for longer: compaction_throughput in rondo.yaml.\n" },
    { "getcompactionthroughput", "", 0, 0, getcompactionthroughput_run, TAKES_OPERATION,
      "Shows how fast a node's compactions may read, and how fast they do.\n" },
    { "setconcurrentcompactors", "N", 1, 1, setconcurrentcompactors_run, TAKES_OPERATION,
      "Sets how many compactions a node runs at once: each shard its share, at least one.\n"
      "\n"
      "Until its next start; for longer: concurrent_compactors in rondo.yaml.\n" },
    { "getconcurrentcompactors", "", 0, 0, getconcurrentcompactors_run, TAKES_OPERATION,
      "Shows how many compactions a node runs at once.\n" },
    { "tablestats", "[KEYSPACE[.TABLE]]", 0, 2, tablestats_run, TAKES_OPERATION,
      "Shows what a node has of its tables: files, space, filters, reads and writes, damage.\n" },
    { "tablehistograms", "KEYSPACE TABLE", 1, 2, tablehistograms_run, TAKES_OPERATION,
      "Shows percentiles of a table: SSTables per read, latencies, sizes of partitions.\n" },
    { "hints", "", 0, 0, hints_run, TAKES(hosts) | TAKES(admin_port) | TAKES(json) | TAKES(local),
      "Shows what nodes keep for others that missed it: written, delivered, pending, given up.\n"
      "\n"
      "For each target and table: written = delivered + pending + expired + dropped.  Every node\n"
      "is asked, with --local only the one named; one that does not answer is named, and the exit\n"
      "code is 1.\n" },
    { "statushandoff", "", 0, 0, statushandoff_run, TAKES_OPERATION,
      "Shows whether a node delivers hints: running, paused, or off (it keeps none).\n" },
    { "pausehandoff", "", 0, 0, pausehandoff_run, TAKES_OPERATION,
      "Lets a node keep hints, but not deliver them: until resumehandoff, or its next start.\n" },
    { "resumehandoff", "", 0, 0, resumehandoff_run, TAKES_OPERATION,
      "Lets a node deliver hints again.\n" },
    { "sethintedhandoffthrottlekb", "KIBIBYTES", 1, 1, sethintedhandoffthrottlekb_run,
      TAKES_OPERATION,
      "Sets how many KiB a second of hints a node is sent by all others together; 0: no limit.\n"
      "\n"
      "Until its next start; for longer: hinted_handoff_throttle in rondo.yaml.\n" },
    { "truncatehints", "[NODE]", 0, 1, truncatehints_run, TAKES_OPERATION,
      "Gives up what a node keeps for others: for the one with this address or host id, or "
      "all.\n" },
    { "cache", "drop", 1, 1, cache_run, TAKES_OPERATION,
      "drop: lets go of what is kept of files in memory, the node's own and the system's.\n" },
    { "sweep", "FILE", 1, 1, sweep_run, TAKES(out) | TAKES(rows) | TAKES(model) | TAKES(json),
      "Runs one stream of writes under many settings of compaction, and draws what they cost.\n"
      "\n"
      "    rondo sweep config/sweeps/small.yaml --out results\n"
      "\n"
      "Writes DIR/sweep.json and DIR/sweep.html after each setting, and takes away the data that\n"
      "it needed (DIR/sweep.run).  Interrupted, or out of disk, it keeps the settings that are\n"
      "done, and the same command goes on behind them; what another sweep has measured in DIR is\n"
      "not written over.  --rows scales the stream, and sizes with it.  --model only predicts: at\n"
      "once, without data; --out may then be left out.\n" },
    { "bench", "keyvalue|quorum|engine|compaction", 1, 2, bench_run,
      TAKES_NODE | TAKES(rows) | TAKES(seconds) | TAKES(connections) | TAKES(depth) |
          TAKES(value_bytes) | TAKES(rf) | TAKES(rate) | TAKES(no_load) | TAKES(consistency) |
          TAKES(route) | TAKES(floor) | TAKES(dir),
      "Measures reads of rows that it has loaded before: throughput and latency.\n"
      "\n"
      "It makes the keyspace rondo_bench, dropping one that is there, and loads --rows rows into\n"
      "its table keyvalue.  They stay; --no-load reads them again.\n"
      "\n"
      "Without --connections and --depth keyvalue runs its three standard cases: one connection,\n"
      "one request at a time; 50 connections; one connection, 16 requests in flight.  Beside each\n"
      "stands the floor: the same bytes against a bare echo, in the same run.\n"
      "\n"
      "quorum takes reads and writes at ONE and at QUORUM in turns, a second each, and says how\n"
      "many times as much the second costs; --seconds is how many rounds.\n"
      "\n"
      "engine needs no node: it measures one shard's store by itself in a new folder in --dir, of\n"
      "a build with tests (rondo-engine); --floor beside RocksDB (rondo-rocksdb), in turns.  Its\n"
      "own defaults: 10,000,000 rows of 100 bytes, 5 s for each kind of read.\n"
      "\n"
      "compaction needs no node either: four overlapping SSTables, of --rows rows in all or of\n"
      "1 GiB, become one; first of 30 columns, then of 100 bytes.  Beside it stands a loop that\n"
      "unpacks, compares and packs the same bytes (rondo-compaction, of a build with tests).\n" },
};

static const char *const not_yet[] = {
    "cql",     "drain",   "cleanup",  "decommission", "join",   "removenode",
    "replace", "rebuild", "truncate", "upgrade",      "backup", "restore",
};

static void help_all(FILE *out)
{
    fputs("rondo - works with a ring of Rondo nodes\n\n", out);
    for (size_t i = 0; i < array_count(commands); i++)
        fprintf(out, "    %-23s %.*s\n", commands[i].name, (int)strcspn(commands[i].about, "\n"),
                commands[i].about);
    fputs("    version                 Prints the version.\n"
          "    help                    Prints this, or says more: rondo help COMMAND\n"
          "\n"
          "    rondo query \"SELECT release_version FROM system.local\"\n"
          "    rondo cluster start --dir ring\n"
          "\n"
          "A node by itself is the program rondod (rondod --help).  Commands speak to the node at\n"
          "127.0.0.1 where --host names no other.\n"
          "\n"
          "exit codes: 0 done; 1 failed, or something was found; 2 wrong usage, nothing was done;\n"
          "130 interrupted\n",
          out);
}

static void help_one(const struct command *c)
{
    printf("rondo %s [flags] %s\n\n%s\n", c->name, c->words, c->about);
    options_help(c->takes, stdout);
}

static const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < array_count(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int usage(const char *name, const char *sentence)
{
    if (name)
        (void)tell("%s; see: rondo help %s", sentence, name);
    else
        (void)tell("%s; see: rondo help", sentence);
    return EXIT_USAGE;
}

static int unknown(const char *name)
{
    char sentence[160];
    for (size_t i = 0; i < array_count(not_yet); i++)
        if (strcmp(not_yet[i], name) == 0)
            return tell("%s is not there yet", name);
    (void)snprintf(sentence, sizeof sentence, "'%s' is no command", name);
    return usage(NULL, sentence);
}

static bool asks_for_help(int count, char **arguments)
{
    for (int i = 0; i < count && strcmp(arguments[i], "--") != 0; i++)
        if (strcmp(arguments[i], "--help") == 0)
            return true;
    return false;
}

static int command_do(const struct command *c, int count, char **arguments)
{
    static struct options options;
    struct report report;
    if (asks_for_help(count, arguments)) {
        help_one(c);
        return EXIT_DONE;
    }
    if (options_parse(&options, c->takes, count, arguments, &report) != OK)
        return usage(c->name, report.text);
    if (options.words_count < c->words_least)
        return usage(c->name, "something is missing");
    if (options.words_count > c->words_most)
        return usage(c->name, "that is a word too many");
    return c->run(&options);
}

static int help_run(int count, char **arguments)
{
    const struct command *c = count > 0 ? command_find(arguments[0]) : NULL;
    if (count > 0 && !c)
        return unknown(arguments[0]);
    if (c)
        help_one(c);
    else
        help_all(stdout);
    return EXIT_DONE;
}

static int dispatch(int count, char **arguments)
{
    if (count < 2) {
        help_all(stderr);
        return EXIT_USAGE;
    }
    const char *name = arguments[1];
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help_run(count - 2, arguments + 2);
    if (strcmp(name, "version") == 0 || strcmp(name, "--version") == 0) {
        printf("rondo %s\n", RONDO_VERSION);
        return EXIT_DONE;
    }
    const struct command *c = command_find(name);
    return c ? command_do(c, count - 2, arguments + 2) : unknown(name);
}

int main(int count, char **arguments)
{
    static struct fail_scope scope;
    interrupt_watch();
    fail_enter(&scope);
    if (setjmp(scope.jump))
        return tell("%s", scope.report.text);
    int exit_code = dispatch(count, arguments);
    if (fflush(stdout) != 0 && exit_code == EXIT_DONE)
        exit_code = tell("standard output cannot be written");
    fail_leave(&scope);
    return exit_code;
}

/* command.h - the facade of command/: the program `rondo`, one file per noun.
 *
 *     main.c      the table of commands, help, dispatch
 *     options.c   the command line: one table of flags for all commands
 *     tell.c      lines for people, clocks, interrupts
 *
 *     query.c     one statement                 cluster.c   a cluster on this machine
 *     load.c      CSV into a table              layout.c      its folder
 *     unload.c    a table into CSV              process.c     its processes
 *     status.c    what the nodes say            bench.c     how fast is it?
 *     info.c      one node's plan                 lanes.c     requests over sockets, measured
 *                                                 floor.c     the same against a bare echo
 *                                                 bench_engine.c  a store by itself, by orders to
 *                                                   engine_side.c   programs beside this one
 *                                                 bench_compaction.c  another one
 *
 *     sstable.c   files of tables: dump
 *       sstable_file.c reading one  sstable_stats.c  sstable_verify.c  sstable_rewrite.c
 *
 *     sweep.c     settings of compaction compared (sweep.h)    stand.h  the documents it writes
 *
 *     upkeep.c    flush, snapshots, cache     operate.c   operations of a node
 *     import.c    files for a node            tablestats.c  what it has of its tables
 *     compact.c   compactions asked for, stopped, set       compaction.c  looked at; levels.c
 *     compaction_plan.c  another setting, and why a file is still here
 *
 *     csv.c table.c tree.c progress.c http.c session.c: what the commands are made with
 *
 * Data goes to standard output, everything else to standard error.  Whatever is wrong is one line:
 * what, where, and what to do.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

struct options;

/* Each answers the exit code. */
int query_run(const struct options *);
int load_run(const struct options *);
int unload_run(const struct options *);
int status_run(const struct options *);
int hints_run(const struct options *);
int statushandoff_run(const struct options *);
int pausehandoff_run(const struct options *);
int resumehandoff_run(const struct options *);
int sethintedhandoffthrottlekb_run(const struct options *);
int truncatehints_run(const struct options *);
int info_run(const struct options *);
int gossipinfo_run(const struct options *);
int health_run(const struct options *);
int cluster_run(const struct options *);
int bench_run(const struct options *);
int flush_run(const struct options *);
int snapshot_run(const struct options *);
int listsnapshots_run(const struct options *);
int clearsnapshot_run(const struct options *);
int cache_run(const struct options *);
int refresh_run(const struct options *);
int tablestats_run(const struct options *);
int tablehistograms_run(const struct options *);
int compact_run(const struct options *);
int stop_run(const struct options *);
int compaction_run(const struct options *);
int compactionstats_run(const struct options *);
int compactionhistory_run(const struct options *);
int autocompaction_run(const struct options *);
int enableautocompaction_run(const struct options *);
int disableautocompaction_run(const struct options *);
int statusautocompaction_run(const struct options *);
int setcompactionthroughput_run(const struct options *);
int getcompactionthroughput_run(const struct options *);
int setconcurrentcompactors_run(const struct options *);
int getconcurrentcompactors_run(const struct options *);
int repair_run(const struct options *);
int divergence_run(const struct options *);
int sstable_run(const struct options *);
int sweep_run(const struct options *);

/* system_make.h - the makers of system tables' rows.  Private to node/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/shard.h"
#include "node/system_rows.h"

void make_local(struct shard *, struct system_rows *);
void make_peers(struct shard *, struct system_rows *);
void make_peers_v2(struct shard *, struct system_rows *);

void make_keyspaces(struct shard *, struct system_rows *);
void make_tables(struct shard *, struct system_rows *);
void make_columns(struct shard *, struct system_rows *);
void make_dropped_columns(struct shard *, struct system_rows *);
void make_types(struct shard *, struct system_rows *);
void make_virtual_keyspaces(struct shard *, struct system_rows *);
void make_virtual_tables(struct shard *, struct system_rows *);
void make_virtual_columns(struct shard *, struct system_rows *);

void make_prepared(struct shard *, struct system_rows *);
void make_clients(struct shard *, struct system_rows *);
void make_settings(struct shard *, struct system_rows *);
void make_gossip_info(struct shard *, struct system_rows *);

void make_pending_hints(struct shard *, struct system_rows *);

void make_compaction_history(struct shard *, struct system_rows *);
void make_sstable_tasks(struct shard *, struct system_rows *);
void make_compactions_pending(struct shard *, struct system_rows *);

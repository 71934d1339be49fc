"""What the system tables say, on every node: columns, values, schema agreement.

Facts: cql-protocol.md 5, 8.
"""

import re

import pytest
import wire_client as w
from system_tables import TABLES, columns_of, full, started

# ---- what the tables hold ------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES)
def test_system_tables_have_their_columns(ring, table):
    with started(ring, (4, None)) as c:
        full(c, table)


def test_the_schema_describes_every_system_table(ring):
    """cqlsh prints a SELECT only if the driver's metadata has its table (facts 6.1)."""
    with started(ring, (5, "lz4")) as c:
        described = {}
        for table in ("system_schema.columns", "system_virtual_schema.columns"):
            for r in full(c, table):
                name = f"{r['keyspace_name']}.{r['table_name']}"
                described.setdefault(name, {})[r["column_name"]] = r
                assert r["kind"] in ("partition_key", "clustering", "regular", "static")
                assert r["clustering_order"] in (
                    ("asc", "desc") if r["kind"] == "clustering" else ("none",)
                )
                assert (r["position"] >= 0) == (r["kind"] in ("partition_key", "clustering"))
                assert r["column_name_bytes"] == r["column_name"].encode()
        for table in TABLES:
            told = {
                n: re.sub(r"frozen<(.*)>", r"\1", r["type"]) for n, r in described[table].items()
            }
            assert told == columns_of(table), table
        listed = {
            (r["keyspace_name"], r["table_name"])
            for t in ("system_schema.tables", "system_virtual_schema.tables")
            for r in full(c, t)
        }
        assert listed == {tuple(name.split(".")) for name in described}
        keyspaces = {r["keyspace_name"]: r for r in full(c, "system_schema.keyspaces")}
        virtual = {r["keyspace_name"] for r in full(c, "system_virtual_schema.keyspaces")}
        assert virtual == {"system_virtual_schema", "system_views"}
        assert {
            "system",
            "system_schema",
            "system_traces",
            "system_auth",
            "system_distributed",
        } <= set(keyspaces)
        assert not virtual & set(keyspaces)
        for name in ("system", "system_schema"):
            assert (
                keyspaces[name]["replication"]["class"]
                == "org.apache.cassandra.locator.LocalStrategy"
            )
        for r in keyspaces.values():
            assert r["durable_writes"] is not None
            assert r["replication"]["class"].startswith("org.apache.cassandra.locator.")


def test_the_schema_describes_a_users_table(ring, schema):
    with started(ring, (4, None)) as c:
        keyspace = full(c, "system_schema.keyspaces", " WHERE keyspace_name = 'ct'")
        assert keyspace == [
            {
                "keyspace_name": "ct",
                "durable_writes": True,
                "replication": {
                    "class": "org.apache.cassandra.locator.SimpleStrategy",
                    "replication_factor": "3",
                },
            }
        ]
        (table,) = full(
            c, "system_schema.tables", " WHERE keyspace_name = 'ct' AND table_name = 't'"
        )
        assert table["flags"] == {"compound"} and table["id"]
        assert table["caching"] == {"keys": "ALL", "rows_per_partition": "NONE"}
        assert table["compression"] == {
            "class": "org.apache.cassandra.io.compress.LZ4Compressor",
            "chunk_length_in_kb": "16",
        }
        assert table["compaction"]["class"].startswith("org.apache.cassandra.db.compaction.")
        for name in (
            "additional_write_policy",
            "bloom_filter_fp_chance",
            "comment",
            "crc_check_chance",
            "default_time_to_live",
            "gc_grace_seconds",
            "max_index_interval",
            "read_repair",
            "memtable_flush_period_in_ms",
            "min_index_interval",
            "speculative_retry",
        ):
            assert table[name] is not None, name
        assert (table["speculative_retry"], table["read_repair"], table["gc_grace_seconds"]) == (
            "99p",
            "BLOCKING",
            864000,
        )
        columns = {
            r["column_name"]: (r["kind"], r["position"], r["clustering_order"], r["type"])
            for r in full(
                c, "system_schema.columns", " WHERE keyspace_name = 'ct' AND table_name = 't'"
            )
        }
        assert columns == {
            "a": ("partition_key", 0, "none", "int"),
            "b": ("partition_key", 1, "none", "text"),
            "c": ("clustering", 0, "desc", "timestamp"),
            "v": ("regular", -1, "none", "blob"),
        }


def test_local_and_peers_agree_on_every_node(ring):
    """Fields each driver needs (facts 5.7): never null, and the same story from all three."""
    hosts, own = {}, {}
    for node, address in enumerate(ring.addresses, 1):
        with started(ring, (4, None), node) as c:
            (local,) = full(c, "system.local")
            peers, peers_v2 = full(c, "system.peers"), full(c, "system.peers_v2")
        missing = {k for k, v in local.items() if v is None} - {"truncated_at"}
        assert not missing
        assert (
            local["rpc_address"] == local["broadcast_address"] == local["listen_address"] == address
        )
        assert (local["rpc_port"], local["key"], local["cluster_name"]) == (9042, "local", "test")
        assert local["partitioner"] == "org.apache.cassandra.dht.Murmur3Partitioner"
        assert re.fullmatch(r"[45]\.\d+\.\d+", local["release_version"])
        assert local["native_protocol_version"] == "5" and local["cql_version"] == "3.4.7"
        own[address] = local
        assert (
            {p["peer"] for p in peers}
            == {p["peer"] for p in peers_v2}
            == set(ring.addresses) - {address}
        )
        for p in peers + peers_v2:
            missing = {k for k, v in p.items() if v is None} - {"preferred_ip", "preferred_port"}
            assert not missing
            assert p.get("native_port", 9042) == 9042 and p.get("peer_port", 7000) == 7000
            hosts.setdefault(p.get("rpc_address") or p["native_address"], []).append(p)
    tokens = [t for local in own.values() for t in local["tokens"]]
    assert len(tokens) == len(set(tokens)) == 3 * 16
    assert all(-(2**63) < int(t) < 2**63 for t in tokens)
    for address, told in hosts.items():
        for p in told:
            for name in (
                "host_id",
                "data_center",
                "rack",
                "tokens",
                "release_version",
                "schema_version",
            ):
                assert p[name] == own[address][name], name
    assert len({local["schema_version"] for local in own.values()}) == 1


# ---- schema agreement ----------------------------------------------------------------------


def versions(ring, node):
    with started(ring, (4, None), node) as c:
        own = c.query("SELECT schema_version FROM system.local WHERE key='local'").rows
        peers = c.query("SELECT schema_version FROM system.peers").rows
        peers_v2 = c.query("SELECT schema_version FROM system.peers_v2").rows
    assert (len(own), len(peers), len(peers_v2)) == (1, 2, 2)
    return {r["schema_version"] for r in own + peers + peers_v2}


def test_schema_versions_agree_and_change(ring):
    seen = []
    with started(ring, (4, None), 1) as c:
        for change in (
            lambda: c.create_keyspace("agree", 3),
            lambda: c.query("CREATE TABLE agree.t (k int PRIMARY KEY)"),
            lambda: c.query("DROP TABLE agree.t"),
            lambda: c.query("DROP KEYSPACE agree"),
        ):
            change()
            now = [versions(ring, node) for node in (1, 2, 3)]
            assert (
                now[0] == now[1] == now[2] and len(now[0]) == 1
            ), "a driver would wait 10 s or longer"
            seen.append(now[0].pop())
    assert len(set(seen)) == len(seen), "every change gives another version"


def test_a_change_is_seen_by_the_next_statement(ring):
    with started(ring, (4, None), 1) as c, started(ring, (4, None), 3) as far:
        c.create_keyspace("soon", 3)
        for i in range(10):
            c.query(f"CREATE TABLE soon.t{i} (k int PRIMARY KEY)")
            for asked in (c, far):
                assert full(
                    asked,
                    "system_schema.tables",
                    f" WHERE keyspace_name='soon' AND table_name='t{i}'",
                )
                asked.prepare(f"INSERT INTO soon.t{i} (k) VALUES (?)")
        c.query("DROP KEYSPACE soon")
        assert not full(far, "system_schema.tables", " WHERE keyspace_name='soon'")

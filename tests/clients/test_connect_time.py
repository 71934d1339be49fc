"""What drivers and cqlsh send when they connect, statement by statement, and what they need back.

Debian's Python and npm's Node driver are run for real (test_python.py, node_driver.js); here are
the others too, by hand.  Facts: cql-protocol.md 5.7 and 6, where each list comes from.
"""

import re
import socket
import struct
import uuid

import pytest
import wire_client as w
from ring import until
from system_tables import EVERY_WIRE, METADATA, TABLES, V4_WIRE, full, started
from wire_client import Client, Failure

# ---- driver by driver ----------------------------------------------------------------------


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_python_and_cqlsh(ring, schema, wire):
    with Client(ring.addresses[0], *wire) as c:
        c.options()
        c.startup("3.4.7", DRIVER_NAME="DataStax Python Driver", DRIVER_VERSION="3.25.0")
        c.register("TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE")
        assert len(full(c, "system.peers_v2")) == 2
        (local,) = full(c, "system.local", " WHERE key='local'")
        for table in METADATA:
            full(c, f"system_schema.{table}")
        for table in ("keyspaces", "tables", "columns"):
            assert c.query(f"SELECT * from system_virtual_schema.{table}").rows
        for text in (
            "SELECT host_id, peer, peer_port, data_center, rack, native_address, native_port,"
            " release_version, schema_version FROM system.peers_v2",
            "SELECT host_id, peer, peer_port, native_address, native_port, schema_version"
            " FROM system.peers_v2",
            "SELECT host_id, peer, data_center, rack, rpc_address, release_version,"
            " schema_version FROM system.peers",
            "SELECT peer, host_id, rpc_address, schema_version FROM system.peers",
        ):
            got = c.query(text)
            assert len(got.rows) == 2 and list(got.types) == re.findall(
                r"\w+", text[7 : text.index(" FROM")]
            )
        for text in (
            "SELECT host_id, cluster_name, data_center, rack, partitioner, release_version,"
            " schema_version FROM system.local WHERE key='local'",
            "SELECT rpc_address FROM system.local WHERE key='local'",
            "SELECT schema_version FROM system.local WHERE key='local'",
        ):
            assert None not in c.query(text).rows[0].values()
        for table in METADATA:  # after an event
            full(c, f"system_schema.{table}", " WHERE keyspace_name = 'ct'")
        for table in ("tables", "columns", "indexes", "triggers"):
            full(c, f"system_schema.{table}", " WHERE keyspace_name = 'ct' AND table_name = 't'")
        full(c, "system_schema.views", " WHERE keyspace_name = 'ct' AND view_name = 't'")
        full(c, "system_schema.types", " WHERE keyspace_name = 'ct' AND type_name = 't'")
        assert c.query('USE "ct"').keyspace == "ct"
        got = c.query(
            "select * from system.local where key = 'local'", page_size=100, serial=8, timestamp=1
        )
        assert got.rows[0]["cql_version"] == "3.4.7" and got.rows[0] == local


def test_requests_may_be_sent_together(ring, schema):
    with started(ring, (5, "lz4")) as c:
        texts = [f"SELECT * FROM system_schema.{t}" for t in METADATA] + [
            "SELECT * FROM system.peers_v2"
        ]
        c.raw(
            b"".join(
                c.encode(w.QUERY, w.pack_long_string(t) + w.params(5), stream=100 + i)
                for i, t in enumerate(texts)
            )
        )
        answers = {c.receive().stream for _ in texts}
        assert answers == {100 + i for i in range(len(texts))}


def test_many_requests_in_one_frame(ring):
    with started(ring, (5, None)) as c:
        together = b"".join(w.envelope(5, w.OPTIONS, stream=i) for i in range(1, 51))
        c.raw(w.segment(together))
        assert sorted(c.receive().stream for _ in range(50)) == list(range(1, 51))


@pytest.mark.parametrize("wire", V4_WIRE)
def test_node(ring, schema, wire):
    with Client(ring.addresses[0], *wire) as c:
        c.stream = -1  # its first request is on stream 0
        c.startup(DRIVER_NAME="DataStax Node.js driver for Apache Cassandra")
        c.options()
        (local,) = full(c, "system.local", " WHERE key='local'")
        assert local["data_center"] == "datacenter1"
        peers = full(c, "system.peers")
        assert [
            p for p in peers if p["rpc_address"] and p["data_center"] and p["rack"] and p["tokens"]
        ] == peers
        full(c, "system_schema.keyspaces")
        full(c, "system_virtual_schema.keyspaces")
        c.register("TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE")
        assert len(c.query("SELECT schema_version FROM system.local").rows) == 1
        assert len(c.query("SELECT schema_version FROM system.peers").rows) == 2
        for table in ("tables", "columns", "indexes", "views"):
            name = "view_name" if table == "views" else "table_name"
            full(c, f"system_schema.{table}", f" WHERE keyspace_name='ct' AND {name}='t'")
        assert not full(c, "system_schema.types", " WHERE keyspace_name='ct' AND type_name='x'")
        assert not full(
            c, "system_schema.functions", " WHERE keyspace_name = 'ct' AND function_name = 'f'"
        )
        assert not full(
            c, "system_schema.aggregates", " WHERE keyspace_name = 'ct' AND aggregate_name = 'f'"
        )
        for table in ("tables", "columns"):
            assert full(
                c,
                f"system_virtual_schema.{table}",
                " WHERE keyspace_name='system_views' AND table_name='clients'",
            )


@pytest.mark.parametrize("wire", V4_WIRE + [(5, None), (5, "lz4")])
def test_gocql(ring, schema, wire):
    with Client(ring.addresses[0], *wire) as c:  # its first request is on stream 1
        c.options()
        c.startup(DRIVER_NAME="gocql")
        (local,) = full(c, "system.local", " WHERE key='local'")
        assert local["rpc_address"] != "0.0.0.0" and local["broadcast_address"]
        c.register()
        for p in full(c, "system.peers_v2"):
            assert (
                p["native_address"]
                and p["host_id"]
                and p["data_center"]
                and p["rack"]
                and p["tokens"]
            )
        full(c, "system.peers")
        c.query('USE "ct"')
        assert len(c.query("SELECT schema_version FROM system.local WHERE key='local'").rows) == 1
        for text in (
            "SELECT durable_writes, replication FROM system_schema.keyspaces"
            " WHERE keyspace_name = ?",
            "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?",
            "SELECT view_name FROM system_schema.views WHERE keyspace_name = ?",
            "SELECT * FROM system_schema.views WHERE keyspace_name = ?",
            "SELECT table_name, column_name, clustering_order, type, kind, position"
            " FROM system_schema.columns WHERE keyspace_name = ?",
            "SELECT type_name, field_names, field_types FROM system_schema.types"
            " WHERE keyspace_name = ?",
            "SELECT function_name, argument_types, argument_names, body, called_on_null_input,"
            " language, return_type FROM system_schema.functions WHERE keyspace_name = ?",
            "SELECT aggregate_name, argument_types, state_func, state_type, final_func, initcond,"
            " return_type FROM system_schema.aggregates WHERE keyspace_name = ?",
        ):
            prepared = c.prepare(text)
            assert [(m.name, m.kind) for m in prepared.markers] == [("keyspace_name", "text")]
            assert prepared.key_indices == [0]
            got = c.execute(prepared, b"ct", skip=True, page_size=5000, timestamp=1)
            assert got.flags & 0x04  # rows are decoded by what PREPARE told
            assert len(got.rows) == {"keyspaces": 1, "tables": 1, "columns": 4}.get(
                re.search(r"system_schema\.(\w+)", text)[1], 0
            )


def ip(text):
    return socket.inet_aton(text)


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_java(ring, schema, wire):
    with Client(ring.addresses[0], *wire) as c:
        c.options()
        c.startup(DRIVER_NAME="DataStax Java driver for Apache Cassandra(R)")
        assert c.query("SELECT cluster_name FROM system.local").rows == [{"cluster_name": "test"}]
        assert c.query('USE "ct"').keyspace == "ct"
        c.register("SCHEMA_CHANGE", "STATUS_CHANGE", "TOPOLOGY_CHANGE")
        (local,) = full(c, "system.local")
        assert local["host_id"] and local["tokens"] and local["schema_version"]
        for p in full(c, "system.peers_v2"):
            assert p["native_address"] and p["native_port"] and p["schema_version"]
        assert c.query("SELECT schema_version FROM system.local WHERE key='local'").rows
        assert len(full(c, "system.peers")) == 2
        for table in METADATA:
            full(c, f"system_schema.{table}")
            full(c, f"system_schema.{table}", " WHERE keyspace_name IN ('ct','system')")
        assert {
            r["keyspace_name"]
            for r in full(c, "system_schema.tables", " WHERE keyspace_name IN ('ct','system')")
        } == {"ct", "system"}
        for table in ("keyspaces", "tables", "columns"):
            assert full(c, f"system_virtual_schema.{table}")
            assert not full(
                c, f"system_virtual_schema.{table}", " WHERE keyspace_name IN ('ct','other')"
            )
        other = ring.addresses[1]
        (row,) = full(
            c,
            "system.peers_v2",
            " WHERE peer = :address and peer_port = :port",
            values=[ip(other), struct.pack(">i", 7000)],
            names=["address", "port"],
        )
        assert row["peer"] == other
        (row,) = full(
            c,
            "system.peers_v2",
            " WHERE peer = :address and peer_port = :port",
            values=[struct.pack(">i", 7000), ip(other)],
            names=["port", "address"],
        )
        assert row["peer"] == other
        (row,) = full(
            c, "system.peers", " WHERE peer = :address", values=[ip(other)], names=["address"]
        )
        assert row["rpc_address"] == other
        known = c.prepare("SELECT * FROM ct.t WHERE a = ? AND b = ?")
        until(
            lambda: known.id
            in [
                r["prepared_id"]
                for r in c.query("SELECT prepared_id FROM system.prepared_statements").rows
            ],
            deadline=5,
        )


RUST = {
    "SELECT host_id, rpc_address, data_center, rack, tokens FROM system.peers": [
        "uuid",
        "inet",
        "text",
        "text",
        "set<text>",
    ],
    "SELECT host_id, rpc_address, data_center, rack, tokens, cluster_name FROM system.local"
    " WHERE key='local'": ["uuid", "inet", "text", "text", "set<text>", "text"],
    "SELECT keyspace_name, replication, durable_writes FROM system_schema.keyspaces": [
        "text",
        "map<text, text>",
        "boolean",
    ],
    "SELECT keyspace_name, type_name, field_names, field_types FROM system_schema.types": [
        "text",
        "text",
        "list<text>",
        "list<text>",
    ],
    "SELECT keyspace_name, table_name, column_name, kind, position, type"
    " FROM system_schema.columns": ["text", "text", "text", "text", "int", "text"],
    "SELECT keyspace_name, table_name FROM system_schema.tables": ["text", "text"],
    "SELECT keyspace_name, view_name, base_table_name FROM system_schema.views": [
        "text",
        "text",
        "text",
    ],
}


@pytest.mark.parametrize("wire", V4_WIRE)
def test_rust(ring, schema, wire):
    with Client(ring.addresses[0], *wire) as c:
        assert not [k for k in c.options() if k.startswith("SCYLLA")]
        c.startup("4.0.0", DRIVER_NAME="scylla-rust-driver")
        c.register()
        for text, kinds in RUST.items():
            prepared = c.prepare(text)
            assert [x.kind for x in prepared.columns] == kinds
            whole = c.query(text).rows
            for size in (1024, 7):
                paged = list(c.pages(lambda **p: c.execute(prepared, **p), size))
                assert paged == whole
                assert all(row[prepared.columns[0].name] for row in paged)
        for text in (
            "SELECT keyspace_name, table_name, partitioner FROM system_schema.scylla_tables",
            "SELECT keyspace_name, initial_tablets FROM system_schema.scylla_keyspaces",
        ):
            with pytest.raises(Failure) as caught:
                c.prepare(text)
            assert caught.value.code == w.INVALID
        for node in (1, 2, 3):
            with started(ring, wire, node, cql_version="4.0.0") as each:
                assert each.query("SELECT schema_version FROM system.local WHERE key='local'").rows


@pytest.mark.parametrize("wire", V4_WIRE)
def test_rust_restricted_to_some_keyspaces(ring, schema, wire):
    with started(ring, wire, cql_version="4.0.0") as c:
        prepared = c.prepare(
            "SELECT keyspace_name, table_name FROM system_schema.tables where keyspace_name in ?"
        )
        assert [m.kind for m in prepared.markers] == ["list<text>"]
        names = struct.pack(">i", 2) + w.pack_bytes(b"ct") + w.pack_bytes(b"nothing")
        assert c.execute(prepared, names).rows == [{"keyspace_name": "ct", "table_name": "t"}]


@pytest.mark.parametrize("wire", V4_WIRE)
def test_cpp(ring, schema, wire):
    with Client(ring.addresses[0], *wire) as c:
        c.stream = -1
        c.options()
        c.startup(DRIVER_NAME="DataStax C/C++ Driver for Apache Cassandra")
        c.register()
        assert c.query("USE ct").keyspace == "ct"
        (local,) = full(c, "system.local", " WHERE key='local'")
        assert local["release_version"] and local["partitioner"]
        assert all(p["rpc_address"] for p in full(c, "system.peers"))
        for table in METADATA:
            full(c, f"system_schema.{table}")
        for table in ("keyspaces", "tables", "columns"):
            full(c, f"system_virtual_schema.{table}")
        got = c.query("SELECT peer, rpc_address, host_id, schema_version FROM system.peers")
        assert list(got.types.values()) == ["inet", "inet", "uuid", "uuid"]
        with pytest.raises(Failure) as caught:
            c.query("USE nowhere")
        assert caught.value.code == w.INVALID
        assert re.match("Keyspace .*does not exist", caught.value.message)  # it reads this text


# ---- cqlsh beyond connecting ---------------------------------------------------------------


def answer_or_not_yet(c, text, columns=None):
    """What may be missing is refused with 0x2200 and these words; else it has these columns."""
    try:
        got = c.query(text, page_size=100, consistency=w.LOCAL_ONE)
    except Failure as failure:
        assert (
            failure.code == w.INVALID and "not there yet" in failure.message
        ), f"{text}: {failure}"
    else:
        assert columns is None or list(got.types)[: len(columns)] == columns


DESCRIBES = {
    "DESCRIBE KEYSPACES": 3,
    "DESCRIBE TABLES": 3,
    "DESC TYPES": 3,
    "DESCRIBE FUNCTIONS": 3,
    "DESCRIBE AGGREGATES": 3,
    "DESCRIBE SCHEMA": 4,
    "DESCRIBE FULL SCHEMA": 4,
    "DESCRIBE KEYSPACE ct": 4,
    "DESCRIBE ONLY KEYSPACE ct": 4,
    "DESCRIBE TABLE ct.t": 4,
    "DESCRIBE ct.t": 4,
    "DESCRIBE ct": 4,
    "DESCRIBE TABLE ct.t WITH INTERNALS": 4,
    "DESCRIBE CLUSTER": 0,
}


@pytest.mark.parametrize("text", DESCRIBES)
def test_describe_answers_or_is_not_there_yet(ring, schema, text):
    columns = ["keyspace_name", "type", "name", "create_statement"][: DESCRIBES[text]]
    with started(ring, (5, None)) as c:
        answer_or_not_yet(c, text, columns or ["cluster", "partitioner", "snitch"])


@pytest.mark.parametrize(
    "text",
    [
        "LIST ROLES",
        "LIST USERS",
        "CREATE INDEX i ON ct.t (v)",
        "TRUNCATE ct.t",
        "ALTER TABLE ct.t WITH comment = 'x'",
        "SELECT JSON * FROM ct.t",
        "CREATE TYPE ct.u (a int)",
        "CREATE ROLE r",
    ],
)
def test_what_is_not_there_yet_says_so(ring, schema, text):
    with started(ring, (5, None)) as c:
        answer_or_not_yet(c, text)


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_tracing_is_answered_without_an_id_or_with_one(ring, wire):
    with started(ring, wire) as c:
        got = c.ask(
            w.QUERY,
            w.pack_long_string("SELECT key FROM system.local") + w.params(wire[0]),
            flags=0x02,
        )
        body = got.body[16:] if got.flags & 0x02 else got.body
        assert w.Result(body, wire[0]).rows == [{"key": "local"}]
        none = uuid.UUID(int=1)
        assert not full(c, "system_traces.sessions", f" WHERE session_id = {none}")
        assert not full(c, "system_traces.events", f" WHERE session_id = {none}")


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_copy_from_and_copy_to(ring, wire):
    keyspace = f"copy_{wire[0]}_{wire[1]}".lower()
    with started(ring, wire) as c:
        c.create_keyspace(keyspace, 3)
        c.query(f"CREATE TABLE {keyspace}.t (a int, b int, v text, PRIMARY KEY (a, b))")
        insert = c.prepare(f"INSERT INTO {keyspace}.t (a, b, v) VALUES (?, ?, ?)USING TTL 60000")
        assert insert.key_indices == [0] and [m.name for m in insert.markers] == ["a", "b", "v"]
        rows = [(a, b) for a in range(50) for b in range(4)]
        for at in range(0, len(rows), 20):
            c.batch(
                [
                    (insert, [struct.pack(">i", a), struct.pack(">i", b), b"x"])
                    for a, b in rows[at : at + 20]
                ],
                consistency=w.QUORUM,
            )
        tokens = sorted(
            int(t)
            for node in (1, 2, 3)
            for t in started(ring, wire, node)
            .query("SELECT tokens FROM system.local")
            .rows[0]["tokens"]
        )
        ranges = (
            [f"token(a) <= {tokens[0]}"]
            + [f"token(a) > {x} AND token(a) <= {y}" for x, y in zip(tokens, tokens[1:])]
            + [f"token(a) > {tokens[-1]}"]
        )
        seen = []
        for bounds in ranges:
            text = f"SELECT a, b FROM {keyspace}.t WHERE {bounds}"
            seen += [
                (r["a"], r["b"])
                for r in c.pages(lambda **p: c.query(text, consistency=w.QUORUM, **p), 1000)
            ]
        assert sorted(seen) == rows

"""What drivers and cqlsh send when they connect, statement by statement, and what they need back.

Debian's Python and npm's Node driver are run for real (test_python.py, node_driver.js); here are
the others too, by hand.  Facts: cql-protocol.md 1.2, 2.3, 5, 6 and 8, where each list comes from.
"""
import re
import socket
import struct
import uuid

import pytest
import wire_client as w
from ring import until
from wire_client import Client, Failure

EVERY_WIRE = [(4, None), (4, "lz4"), (5, None), (5, "lz4")]
V4_WIRE = EVERY_WIRE[:2]

# What SELECT * gives: partition key, clustering, then the rest by name (facts 5.1 to 5.6).
OPTIONS = ("additional_write_policy text; allow_auto_snapshot boolean; bloom_filter_fp_chance double;"
           " caching map<text, text>; cdc boolean; comment text; compaction map<text, text>;"
           " compression map<text, text>; crc_check_chance double; dclocal_read_repair_chance double;"
           " default_time_to_live int; extensions map<text, blob>;{flags} gc_grace_seconds int; id uuid;"
           " incremental_backups boolean; max_index_interval int; memtable text;"
           " memtable_flush_period_in_ms int; min_index_interval int; read_repair text;"
           " read_repair_chance double; speculative_retry text")
TABLES = {
    "system.local": "key text; bootstrapped text; broadcast_address inet; broadcast_port int;"
    " cluster_name text; cql_version text; data_center text; gossip_generation int; host_id uuid;"
    " listen_address inet; listen_port int; native_protocol_version text; partitioner text; rack text;"
    " release_version text; rpc_address inet; rpc_port int; schema_version uuid; tokens set<text>;"
    " truncated_at map<uuid, blob>",
    "system.peers_v2": "peer inet; peer_port int; data_center text; host_id uuid; native_address inet;"
    " native_port int; preferred_ip inet; preferred_port int; rack text; release_version text;"
    " schema_version uuid; tokens set<text>",
    "system.peers": "peer inet; data_center text; host_id uuid; preferred_ip inet; rack text;"
    " release_version text; rpc_address inet; schema_version uuid; tokens set<text>",
    "system.size_estimates": "keyspace_name text; table_name text; range_start text; range_end text;"
    " mean_partition_size bigint; partitions_count bigint",
    "system.prepared_statements": "prepared_id blob; logged_keyspace text; query_string text",
    "system_schema.keyspaces": "keyspace_name text; durable_writes boolean; replication map<text, text>",
    "system_schema.tables": "keyspace_name text; table_name text; " + OPTIONS.format(flags=" flags set<text>;"),
    "system_schema.views": "keyspace_name text; view_name text; "
    + OPTIONS.format(flags="").replace(" bloom", " base_table_id uuid; base_table_name text; bloom", 1)
    .replace(" incremental", " include_all_columns boolean; incremental") + "; where_clause text",
    "system_schema.columns": "keyspace_name text; table_name text; column_name text;"
    " clustering_order text; column_name_bytes blob; kind text; position int; type text",
    "system_schema.dropped_columns": "keyspace_name text; table_name text; column_name text;"
    " dropped_time timestamp; kind text; type text",
    "system_schema.triggers": "keyspace_name text; table_name text; trigger_name text; options map<text, text>",
    "system_schema.indexes": "keyspace_name text; table_name text; index_name text; kind text; options map<text, text>",
    "system_schema.types": "keyspace_name text; type_name text; field_names list<text>; field_types list<text>",
    "system_schema.functions": "keyspace_name text; function_name text; argument_types list<text>;"
    " argument_names list<text>; body text; called_on_null_input boolean; language text; return_type text",
    "system_schema.aggregates": "keyspace_name text; aggregate_name text; argument_types list<text>;"
    " final_func text; initcond text; return_type text; state_func text; state_type text",
    "system_traces.sessions": "session_id uuid; client inet; command text; coordinator inet;"
    " coordinator_port int; duration int; parameters map<text, text>; request text; started_at timestamp",
    "system_traces.events": "session_id uuid; event_id timeuuid; activity text; source inet;"
    " source_elapsed int; source_port int; thread text",
    "system_auth.roles": "role text; can_login boolean; is_superuser boolean; member_of set<text>; salted_hash text",
    "system_virtual_schema.keyspaces": "keyspace_name text",
    "system_virtual_schema.tables": "keyspace_name text; table_name text; comment text",
    "system_virtual_schema.columns": "keyspace_name text; table_name text; column_name text;"
    " clustering_order text; column_name_bytes blob; kind text; position int; type text",
    "system_views.clients": "address inet; port int; client_options map<text, text>; connection_stage text;"
    " driver_name text; driver_version text; hostname text; keyspace_name text; protocol_version int;"
    " request_count bigint; ssl_cipher_suite text; ssl_enabled boolean; ssl_protocol text; username text",
    "system_views.settings": "name text; value text",
}


def columns_of(table):
    return dict(c.split(" ", 1) for c in TABLES[table].split("; "))


@pytest.fixture(scope="module")
def schema(ring):
    """A keyspace and a table for statements that name one."""
    with Client(ring.addresses[0]).startup() as c:
        c.query("CREATE KEYSPACE ct WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}")
        c.query("CREATE TABLE ct.t (a int, b text, c timestamp, v blob, PRIMARY KEY ((a, b), c)) "
                "WITH CLUSTERING ORDER BY (c DESC)")
    return "ct", "t"


def started(ring, wire, node=1, **more):
    version, compression = wire
    return Client(ring.addresses[node - 1], version, compression).startup(**more)


def full(c, table, rest="", **more):
    """SELECT * of a system table: exactly these columns, of these types, in this order."""
    got = c.query(f"SELECT * FROM {table}{rest}", **more)
    assert list(got.types.items()) == list(columns_of(table).items()), table
    assert {(x.keyspace, x.table) for x in got.columns} == {tuple(table.split("."))}
    return got.rows


# ---- the version that both speak -----------------------------------------------------------

def refused_version(address, sent):
    with socket.create_connection((address, 9042), timeout=20) as s:
        s.sendall(sent)
        data = b""
        while got := s.recv(4096):
            data += got
    return data


@pytest.mark.parametrize("tried", [0x42, 0x41, 0x06, 0x03, 0x07, 0x00, 0x16])
@pytest.mark.parametrize("opcode", [w.OPTIONS, w.STARTUP])
def test_a_version_that_is_not_spoken(ring, tried, opcode):
    body = w.pack_string_map({"CQL_VERSION": "3.0.0"}) if opcode == w.STARTUP else b""
    data = refused_version(ring.addresses[0], w.envelope(tried, opcode, body, stream=1))
    version, _, stream, code, size = struct.unpack(">BBhBi", data[:9])
    assert (version, stream, code, size) == (0x85, 0, w.ERROR, len(data) - 9)
    failure = Failure(data[9:], 5)
    assert failure.code == w.PROTOCOL_ERROR
    assert "Invalid or unsupported protocol version" in failure.message  # Java, Node, C++
    assert "unsupported protocol version" in failure.message  # Python
    assert f"({tried})" in failure.message


@pytest.mark.parametrize("tried", [1, 2])
def test_versions_1_and_2_are_answered_with_their_own_short_header(ring, tried):
    data = refused_version(ring.addresses[0], bytes([tried]))  # they may never send nine bytes
    version, _, stream, code, size = struct.unpack(">BBbBi", data[:8])
    assert (version, stream, code, size) == (0x80 | tried, 0, w.ERROR, len(data) - 8)
    assert "unsupported protocol version" in Failure(data[8:], tried).message


def test_a_version_is_refused_on_its_first_byte(ring):
    assert refused_version(ring.addresses[0], b"\x42")[:1] == b"\x85"


@pytest.mark.parametrize("ladder", [
    ("python", [0x42, 0x41, 5]), ("java", [0x42, 0x41, 5]), ("c++", [0x42, 0x41, 4]), ("node", [0x42, "answer"]),
    ("gocql 1", [4]), ("gocql 2", [5]), ("rust", [4])], ids=lambda l: l[0])
def test_every_driver_finds_a_version(ring, ladder):
    version = None
    for tried in ladder[1]:
        version = min(version, 4) if tried == "answer" else tried  # Node speaks 4 at most
        with Client(ring.addresses[0], version) as c:
            c.raw(c.encode(w.OPTIONS))
            got = c.receive()
            version = got.version & 0x7F
            if got.opcode == w.SUPPORTED:
                return
            assert got.failure().code == w.PROTOCOL_ERROR and c.is_closed()
    pytest.fail(f"{ladder[0]} found none")


def test_the_version_does_not_change_on_a_connection(ring):
    with Client(ring.addresses[0], 4).startup() as c:
        c.raw(w.envelope(5, w.OPTIONS, stream=3))
        failure = c.receive().failure()
        assert failure.code == w.PROTOCOL_ERROR and "Invalid message version" in failure.message
        assert c.is_closed()


# ---- STARTUP, OPTIONS, REGISTER ------------------------------------------------------------

@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_options_before_and_after_startup(ring, wire):
    with Client(ring.addresses[0], *wire) as c:
        before = c.options()
        assert before["CQL_VERSION"] == ["3.4.7"]
        assert set(before["COMPRESSION"]) <= {"lz4", "snappy"} and "lz4" in before["COMPRESSION"]
        assert {"4/v4", "5/v5"} <= set(before["PROTOCOL_VERSIONS"])
        assert not [k for k in before if k.startswith("SCYLLA_")]
        c.startup()
        for _ in range(3):  # heartbeats
            assert c.options() == before


STARTUPS = {
    "python": dict(cql_version="3.4.7", DRIVER_NAME="DataStax Python Driver", DRIVER_VERSION="3.25.0"),
    "cqlsh": dict(cql_version="3.4.7", DRIVER_NAME="DataStax Python Driver", DRIVER_VERSION="3.29.0",
                  APPLICATION_NAME="cqlsh", APPLICATION_VERSION="6.2.0"),
    "node": dict(DRIVER_NAME="DataStax Node.js driver for Apache Cassandra", DRIVER_VERSION="4.8.0",
                 CLIENT_ID=str(uuid.UUID(int=7))),
    "gocql": dict(DRIVER_NAME="gocql", DRIVER_VERSION="1.7.0"),
    "java": dict(DRIVER_NAME="DataStax Java driver for Apache Cassandra(R)", DRIVER_VERSION="4.18.1",
                 CLIENT_ID=str(uuid.UUID(int=8))),
    "rust": dict(cql_version="4.0.0", DRIVER_NAME="scylla-rust-driver", CLIENT_OPTIONS="{}"),
    "c++": dict(DRIVER_NAME="DataStax C/C++ Driver for Apache Cassandra", NO_COMPACT="false",
                THROW_ON_OVERLOAD="1"),
}


@pytest.mark.parametrize("driver", STARTUPS)
def test_startup_takes_what_each_driver_says(ring, driver):
    with started(ring, (4, None), **STARTUPS[driver]) as c:
        rows = c.query("SELECT driver_name, protocol_version FROM system_views.clients").rows
        assert STARTUPS[driver]["DRIVER_NAME"][:60] in [(r["driver_name"] or "")[:60] for r in rows]


def test_startup_keys_and_values_in_any_case(ring):
    with Client(ring.addresses[0], 4) as c:
        body = w.pack_string_map({"cql_version": "3.0.0", "Compression": "LZ4"})
        assert c.ask(w.STARTUP, body).opcode == w.READY
        c.compression = "lz4"
        assert len(c.query("SELECT * FROM system.local").rows) == 1


@pytest.mark.parametrize("pairs", [{}, {"DRIVER_NAME": "x"}, {"CQL_VERSION": "3.0.0", "COMPRESSION": "zip"},
                                   {"CQL_VERSION": "3.0.0", "COMPRESSION": "snappy"}])
@pytest.mark.parametrize("version", [4, 5])
def test_startup_that_cannot_be_is_a_protocol_error(ring, version, pairs):
    with Client(ring.addresses[0], version) as c:
        failure = c.ask(w.STARTUP, w.pack_string_map(pairs)).failure()
        assert failure.code == w.PROTOCOL_ERROR


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_register_and_events(ring, wire):
    name = f"events_{wire[0]}_{wire[1]}".lower()
    with started(ring, wire, 1) as c, started(ring, wire, 2) as other:
        c.register()
        with pytest.raises(Failure) as caught:
            c.register("NOTHING_LIKE_IT")
        assert caught.value.code == w.PROTOCOL_ERROR
        other.query(f"CREATE KEYSPACE {name} WITH replication = "
                    "{'class': 'SimpleStrategy', 'replication_factor': 1}")
        other.query(f"CREATE TABLE {name}.t (k int PRIMARY KEY)")
        other.query(f"DROP TABLE {name}.t")
        other.query(f"DROP KEYSPACE {name}")
        said = [c.next_event() for _ in range(4)]
        assert said == [("SCHEMA_CHANGE", "CREATED", ("KEYSPACE", name, None)),
                        ("SCHEMA_CHANGE", "CREATED", ("TABLE", name, "t")),
                        ("SCHEMA_CHANGE", "DROPPED", ("TABLE", name, "t")),
                        ("SCHEMA_CHANGE", "DROPPED", ("KEYSPACE", name, None))]


def test_a_change_is_answered_with_what_changed(ring):
    with started(ring, (5, None)) as c:
        keyspace = "CREATE KEYSPACE {} changes WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
        got = c.query(keyspace.format(""))
        assert (got.kind, got.change, got.target, got.keyspace) == ("change", "CREATED", "KEYSPACE", "changes")
        assert c.query(keyspace.format("IF NOT EXISTS")).kind == "void"
        with pytest.raises(Failure) as caught:
            c.query(keyspace.format(""))
        assert (caught.value.code, caught.value.keyspace, caught.value.table) == (w.ALREADY_EXISTS, "changes", "")
        got = c.query("CREATE TABLE changes.t (k int PRIMARY KEY)")
        assert (got.change, got.target, got.keyspace, got.name) == ("CREATED", "TABLE", "changes", "t")
        assert c.query("CREATE TABLE IF NOT EXISTS changes.t (k int PRIMARY KEY)").kind == "void"
        with pytest.raises(Failure) as caught:
            c.query("CREATE TABLE changes.t (k int PRIMARY KEY)")
        assert (caught.value.code, caught.value.keyspace, caught.value.table) == (w.ALREADY_EXISTS, "changes", "t")
        got = c.query("USE changes")
        assert (got.kind, got.keyspace) == ("keyspace", "changes")
        got = c.query("DROP TABLE t")
        assert (got.change, got.target, got.keyspace, got.name) == ("DROPPED", "TABLE", "changes", "t")
        assert c.query("DROP TABLE IF EXISTS t").kind == "void"
        assert c.query("DROP KEYSPACE changes").change == "DROPPED"


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
                assert r["clustering_order"] in (("asc", "desc") if r["kind"] == "clustering" else ("none",))
                assert (r["position"] >= 0) == (r["kind"] in ("partition_key", "clustering"))
                assert r["column_name_bytes"] == r["column_name"].encode()
        for table in TABLES:
            told = {n: re.sub(r"frozen<(.*)>", r"\1", r["type"]) for n, r in described[table].items()}
            assert told == columns_of(table), table
        listed = {(r["keyspace_name"], r["table_name"])
                  for t in ("system_schema.tables", "system_virtual_schema.tables") for r in full(c, t)}
        assert listed == {tuple(name.split(".")) for name in described}
        keyspaces = {r["keyspace_name"]: r for r in full(c, "system_schema.keyspaces")}
        virtual = {r["keyspace_name"] for r in full(c, "system_virtual_schema.keyspaces")}
        assert virtual == {"system_virtual_schema", "system_views"}
        assert {"system", "system_schema", "system_traces", "system_auth", "system_distributed"} <= set(keyspaces)
        assert not virtual & set(keyspaces)
        for name in ("system", "system_schema"):
            assert keyspaces[name]["replication"]["class"] == "org.apache.cassandra.locator.LocalStrategy"
        for r in keyspaces.values():
            assert r["durable_writes"] is not None
            assert r["replication"]["class"].startswith("org.apache.cassandra.locator.")


def test_the_schema_describes_a_users_table(ring, schema):
    with started(ring, (4, None)) as c:
        keyspace = full(c, "system_schema.keyspaces", " WHERE keyspace_name = 'ct'")
        assert keyspace == [{"keyspace_name": "ct", "durable_writes": True, "replication":
                             {"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "3"}}]
        table, = full(c, "system_schema.tables", " WHERE keyspace_name = 'ct' AND table_name = 't'")
        assert table["flags"] == {"compound"} and table["id"]
        assert table["caching"] == {"keys": "ALL", "rows_per_partition": "NONE"}
        assert table["compression"] == {"class": "org.apache.cassandra.io.compress.LZ4Compressor",
                                        "chunk_length_in_kb": "16"}
        assert table["compaction"]["class"].startswith("org.apache.cassandra.db.compaction.")
        for name in ("additional_write_policy", "bloom_filter_fp_chance", "comment", "crc_check_chance",
                     "default_time_to_live", "gc_grace_seconds", "max_index_interval", "read_repair",
                     "memtable_flush_period_in_ms", "min_index_interval", "speculative_retry"):
            assert table[name] is not None, name
        assert (table["speculative_retry"], table["read_repair"], table["gc_grace_seconds"]) == ("99p", "BLOCKING", 864000)
        columns = {r["column_name"]: (r["kind"], r["position"], r["clustering_order"], r["type"]) for r in
                   full(c, "system_schema.columns", " WHERE keyspace_name = 'ct' AND table_name = 't'")}
        assert columns == {"a": ("partition_key", 0, "none", "int"), "b": ("partition_key", 1, "none", "text"),
                           "c": ("clustering", 0, "desc", "timestamp"), "v": ("regular", -1, "none", "blob")}


def test_local_and_peers_agree_on_every_node(ring):
    """Fields each driver needs (facts 5.7): never null, and the same story from all three."""
    hosts, own = {}, {}
    for node, address in enumerate(ring.addresses, 1):
        with started(ring, (4, None), node) as c:
            local, = full(c, "system.local")
            peers, peers_v2 = full(c, "system.peers"), full(c, "system.peers_v2")
        missing = {k for k, v in local.items() if v is None} - {"truncated_at"}
        assert not missing
        assert local["rpc_address"] == local["broadcast_address"] == local["listen_address"] == address
        assert (local["rpc_port"], local["key"], local["cluster_name"]) == (9042, "local", "test")
        assert local["partitioner"] == "org.apache.cassandra.dht.Murmur3Partitioner"
        assert re.fullmatch(r"[45]\.\d+\.\d+", local["release_version"])
        assert local["native_protocol_version"] == "5" and local["cql_version"] == "3.4.7"
        own[address] = local
        assert {p["peer"] for p in peers} == {p["peer"] for p in peers_v2} == set(ring.addresses) - {address}
        for p in peers + peers_v2:
            missing = {k for k, v in p.items() if v is None} - {"preferred_ip", "preferred_port"}
            assert not missing
            assert p.get("native_port", 9042) == 9042 and p.get("peer_port", 7000) == 7000
            hosts.setdefault(p.get("rpc_address") or p["native_address"], []).append(p)
    tokens = [t for local in own.values() for t in local["tokens"]]
    assert len(tokens) == len(set(tokens)) == 3 * 16
    assert all(-2**63 < int(t) < 2**63 for t in tokens)
    for address, told in hosts.items():
        for p in told:
            for name in ("host_id", "data_center", "rack", "tokens", "release_version", "schema_version"):
                assert p[name] == own[address][name], name
    assert len({local["schema_version"] for local in own.values()}) == 1


# ---- driver by driver ----------------------------------------------------------------------

METADATA = ("keyspaces", "tables", "columns", "types", "functions", "aggregates", "triggers", "indexes", "views")


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_python_and_cqlsh(ring, schema, wire):
    with Client(ring.addresses[0], *wire) as c:
        c.options()
        c.startup("3.4.7", DRIVER_NAME="DataStax Python Driver", DRIVER_VERSION="3.25.0")
        c.register("TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE")
        assert len(full(c, "system.peers_v2")) == 2
        local, = full(c, "system.local", " WHERE key='local'")
        for table in METADATA:
            full(c, f"system_schema.{table}")
        for table in ("keyspaces", "tables", "columns"):
            assert c.query(f"SELECT * from system_virtual_schema.{table}").rows
        for text in (
                "SELECT host_id, peer, peer_port, data_center, rack, native_address, native_port, release_version,"
                " schema_version FROM system.peers_v2",
                "SELECT host_id, peer, peer_port, native_address, native_port, schema_version FROM system.peers_v2",
                "SELECT host_id, peer, data_center, rack, rpc_address, release_version, schema_version FROM system.peers",
                "SELECT peer, host_id, rpc_address, schema_version FROM system.peers"):
            got = c.query(text)
            assert len(got.rows) == 2 and list(got.types) == re.findall(r"\w+", text[7:text.index(" FROM")])
        for text in (
                "SELECT host_id, cluster_name, data_center, rack, partitioner, release_version, schema_version"
                " FROM system.local WHERE key='local'",
                "SELECT rpc_address FROM system.local WHERE key='local'",
                "SELECT schema_version FROM system.local WHERE key='local'"):
            assert None not in c.query(text).rows[0].values()
        for table in METADATA:  # after an event
            full(c, f"system_schema.{table}", " WHERE keyspace_name = 'ct'")
        for table in ("tables", "columns", "indexes", "triggers"):
            full(c, f"system_schema.{table}", " WHERE keyspace_name = 'ct' AND table_name = 't'")
        full(c, "system_schema.views", " WHERE keyspace_name = 'ct' AND view_name = 't'")
        full(c, "system_schema.types", " WHERE keyspace_name = 'ct' AND type_name = 't'")
        assert c.query('USE "ct"').keyspace == "ct"
        got = c.query("select * from system.local where key = 'local'", page_size=100, serial=8, timestamp=1)
        assert got.rows[0]["cql_version"] == "3.4.7" and got.rows[0] == local


def test_requests_may_be_sent_together(ring, schema):
    with started(ring, (5, "lz4")) as c:
        texts = [f"SELECT * FROM system_schema.{t}" for t in METADATA] + ["SELECT * FROM system.peers_v2"]
        c.raw(b"".join(c.encode(w.QUERY, w.pack_long_string(t) + w.params(5), stream=100 + i)
                       for i, t in enumerate(texts)))
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
        local, = full(c, "system.local", " WHERE key='local'")
        assert local["data_center"] == "datacenter1"
        peers = full(c, "system.peers")
        assert [p for p in peers if p["rpc_address"] and p["data_center"] and p["rack"] and p["tokens"]] == peers
        full(c, "system_schema.keyspaces")
        full(c, "system_virtual_schema.keyspaces")
        c.register("TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE")
        assert len(c.query("SELECT schema_version FROM system.local").rows) == 1
        assert len(c.query("SELECT schema_version FROM system.peers").rows) == 2
        for table in ("tables", "columns", "indexes", "views"):
            name = "view_name" if table == "views" else "table_name"
            full(c, f"system_schema.{table}", f" WHERE keyspace_name='ct' AND {name}='t'")
        assert not full(c, "system_schema.types", " WHERE keyspace_name='ct' AND type_name='x'")
        assert not full(c, "system_schema.functions", " WHERE keyspace_name = 'ct' AND function_name = 'f'")
        assert not full(c, "system_schema.aggregates", " WHERE keyspace_name = 'ct' AND aggregate_name = 'f'")
        for table in ("tables", "columns"):
            assert full(c, f"system_virtual_schema.{table}",
                        " WHERE keyspace_name='system_views' AND table_name='clients'")


@pytest.mark.parametrize("wire", V4_WIRE + [(5, None), (5, "lz4")])
def test_gocql(ring, schema, wire):
    with Client(ring.addresses[0], *wire) as c:  # its first request is on stream 1
        c.options()
        c.startup(DRIVER_NAME="gocql")
        local, = full(c, "system.local", " WHERE key='local'")
        assert local["rpc_address"] != "0.0.0.0" and local["broadcast_address"]
        c.register()
        for p in full(c, "system.peers_v2"):
            assert p["native_address"] and p["host_id"] and p["data_center"] and p["rack"] and p["tokens"]
        full(c, "system.peers")
        c.query('USE "ct"')
        assert len(c.query("SELECT schema_version FROM system.local WHERE key='local'").rows) == 1
        for text in (
                "SELECT durable_writes, replication FROM system_schema.keyspaces WHERE keyspace_name = ?",
                "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?",
                "SELECT view_name FROM system_schema.views WHERE keyspace_name = ?",
                "SELECT * FROM system_schema.views WHERE keyspace_name = ?",
                "SELECT table_name, column_name, clustering_order, type, kind, position"
                " FROM system_schema.columns WHERE keyspace_name = ?",
                "SELECT type_name, field_names, field_types FROM system_schema.types WHERE keyspace_name = ?",
                "SELECT function_name, argument_types, argument_names, body, called_on_null_input, language,"
                " return_type FROM system_schema.functions WHERE keyspace_name = ?",
                "SELECT aggregate_name, argument_types, state_func, state_type, final_func, initcond, return_type"
                " FROM system_schema.aggregates WHERE keyspace_name = ?"):
            prepared = c.prepare(text)
            assert [(m.name, m.kind) for m in prepared.markers] == [("keyspace_name", "text")]
            assert prepared.key_indices == [0]
            got = c.execute(prepared, b"ct", skip=True, page_size=5000, timestamp=1)
            assert got.flags & 0x04  # rows are decoded by what PREPARE told
            assert len(got.rows) == {"keyspaces": 1, "tables": 1, "columns": 4}.get(
                re.search(r"system_schema\.(\w+)", text)[1], 0)


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
        local, = full(c, "system.local")
        assert local["host_id"] and local["tokens"] and local["schema_version"]
        for p in full(c, "system.peers_v2"):
            assert p["native_address"] and p["native_port"] and p["schema_version"]
        assert c.query("SELECT schema_version FROM system.local WHERE key='local'").rows
        assert len(full(c, "system.peers")) == 2
        for table in METADATA:
            full(c, f"system_schema.{table}")
            full(c, f"system_schema.{table}", " WHERE keyspace_name IN ('ct','system')")
        assert {r["keyspace_name"] for r in full(c, "system_schema.tables", " WHERE keyspace_name IN ('ct','system')")} \
            == {"ct", "system"}
        for table in ("keyspaces", "tables", "columns"):
            assert full(c, f"system_virtual_schema.{table}")
            assert not full(c, f"system_virtual_schema.{table}", " WHERE keyspace_name IN ('ct','other')")
        other = ring.addresses[1]
        row, = full(c, "system.peers_v2", " WHERE peer = :address and peer_port = :port",
                    values=[ip(other), struct.pack(">i", 7000)], names=["address", "port"])
        assert row["peer"] == other
        row, = full(c, "system.peers_v2", " WHERE peer = :address and peer_port = :port",
                    values=[struct.pack(">i", 7000), ip(other)], names=["port", "address"])
        assert row["peer"] == other
        row, = full(c, "system.peers", " WHERE peer = :address", values=[ip(other)], names=["address"])
        assert row["rpc_address"] == other
        known = c.prepare("SELECT * FROM ct.t WHERE a = ? AND b = ?")
        until(lambda: known.id in [r["prepared_id"] for r in
                                   c.query("SELECT prepared_id FROM system.prepared_statements").rows], deadline=5)


RUST = {
    "SELECT host_id, rpc_address, data_center, rack, tokens FROM system.peers":
        ["uuid", "inet", "text", "text", "set<text>"],
    "SELECT host_id, rpc_address, data_center, rack, tokens, cluster_name FROM system.local WHERE key='local'":
        ["uuid", "inet", "text", "text", "set<text>", "text"],
    "SELECT keyspace_name, replication, durable_writes FROM system_schema.keyspaces":
        ["text", "map<text, text>", "boolean"],
    "SELECT keyspace_name, type_name, field_names, field_types FROM system_schema.types":
        ["text", "text", "list<text>", "list<text>"],
    "SELECT keyspace_name, table_name, column_name, kind, position, type FROM system_schema.columns":
        ["text", "text", "text", "text", "int", "text"],
    "SELECT keyspace_name, table_name FROM system_schema.tables": ["text", "text"],
    "SELECT keyspace_name, view_name, base_table_name FROM system_schema.views": ["text", "text", "text"],
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
        for text in ("SELECT keyspace_name, table_name, partitioner FROM system_schema.scylla_tables",
                     "SELECT keyspace_name, initial_tablets FROM system_schema.scylla_keyspaces"):
            with pytest.raises(Failure) as caught:
                c.prepare(text)
            assert caught.value.code == w.INVALID
        for node in (1, 2, 3):
            with started(ring, wire, node, cql_version="4.0.0") as each:
                assert each.query("SELECT schema_version FROM system.local WHERE key='local'").rows


@pytest.mark.parametrize("wire", V4_WIRE)
def test_rust_restricted_to_some_keyspaces(ring, schema, wire):
    with started(ring, wire, cql_version="4.0.0") as c:
        prepared = c.prepare("SELECT keyspace_name, table_name FROM system_schema.tables where keyspace_name in ?")
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
        local, = full(c, "system.local", " WHERE key='local'")
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
        for text in ("CREATE KEYSPACE agree WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}",
                     "CREATE TABLE agree.t (k int PRIMARY KEY)", "DROP TABLE agree.t", "DROP KEYSPACE agree"):
            c.query(text)
            now = [versions(ring, node) for node in (1, 2, 3)]
            assert now[0] == now[1] == now[2] and len(now[0]) == 1, "a driver would wait 10 s or longer"
            seen.append(now[0].pop())
    assert len(set(seen)) == len(seen), "every change gives another version"


def test_a_change_is_seen_by_the_next_statement(ring):
    with started(ring, (4, None), 1) as c, started(ring, (4, None), 3) as far:
        c.query("CREATE KEYSPACE soon WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}")
        for i in range(10):
            c.query(f"CREATE TABLE soon.t{i} (k int PRIMARY KEY)")
            for asked in (c, far):
                assert full(asked, "system_schema.tables", f" WHERE keyspace_name='soon' AND table_name='t{i}'")
                asked.prepare(f"INSERT INTO soon.t{i} (k) VALUES (?)")
        c.query("DROP KEYSPACE soon")
        assert not full(far, "system_schema.tables", " WHERE keyspace_name='soon'")


# ---- cqlsh beyond connecting ---------------------------------------------------------------

def answer_or_not_yet(c, text, columns=None):
    """What this version may refuse, it refuses with 0x2200 and these words; else it has these columns."""
    try:
        got = c.query(text, page_size=100, consistency=w.LOCAL_ONE)
    except Failure as failure:
        assert failure.code == w.INVALID and "not there yet" in failure.message, f"{text}: {failure}"
    else:
        assert columns is None or list(got.types)[:len(columns)] == columns


DESCRIBES = {
    "DESCRIBE KEYSPACES": 3, "DESCRIBE TABLES": 3, "DESC TYPES": 3, "DESCRIBE FUNCTIONS": 3,
    "DESCRIBE AGGREGATES": 3, "DESCRIBE SCHEMA": 4, "DESCRIBE FULL SCHEMA": 4, "DESCRIBE KEYSPACE ct": 4,
    "DESCRIBE ONLY KEYSPACE ct": 4, "DESCRIBE TABLE ct.t": 4, "DESCRIBE ct.t": 4, "DESCRIBE ct": 4,
    "DESCRIBE TABLE ct.t WITH INTERNALS": 4, "DESCRIBE CLUSTER": 0,
}


@pytest.mark.parametrize("text", DESCRIBES)
def test_describe_answers_or_is_not_there_yet(ring, schema, text):
    columns = ["keyspace_name", "type", "name", "create_statement"][:DESCRIBES[text]]
    with started(ring, (5, None)) as c:
        answer_or_not_yet(c, text, columns or ["cluster", "partitioner", "snitch"])


@pytest.mark.parametrize("text", ["LIST ROLES", "LIST USERS", "CREATE INDEX i ON ct.t (v)", "TRUNCATE ct.t",
                                  "ALTER TABLE ct.t WITH comment = 'x'", "SELECT JSON * FROM ct.t",
                                  "CREATE TYPE ct.u (a int)", "CREATE ROLE r"])
def test_what_is_not_there_yet_says_so(ring, schema, text):
    with started(ring, (5, None)) as c:
        answer_or_not_yet(c, text)


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_tracing_is_answered_without_an_id_or_with_one(ring, wire):
    with started(ring, wire) as c:
        got = c.ask(w.QUERY, w.pack_long_string("SELECT key FROM system.local") + w.params(wire[0]), flags=0x02)
        body = got.body[16:] if got.flags & 0x02 else got.body
        assert w.Result(body, wire[0]).rows == [{"key": "local"}]
        none = uuid.UUID(int=1)
        assert not full(c, "system_traces.sessions", f" WHERE session_id = {none}")
        assert not full(c, "system_traces.events", f" WHERE session_id = {none}")


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_copy_from_and_copy_to(ring, wire):
    keyspace = f"copy_{wire[0]}_{wire[1]}".lower()
    with started(ring, wire) as c:
        c.query(f"CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 3}}")
        c.query(f"CREATE TABLE {keyspace}.t (a int, b int, v text, PRIMARY KEY (a, b))")
        insert = c.prepare(f"INSERT INTO {keyspace}.t (a, b, v) VALUES (?, ?, ?)USING TTL 60000")
        assert insert.key_indices == [0] and [m.name for m in insert.markers] == ["a", "b", "v"]
        rows = [(a, b) for a in range(50) for b in range(4)]
        for at in range(0, len(rows), 20):
            c.batch([(insert, [struct.pack(">i", a), struct.pack(">i", b), b"x"]) for a, b in rows[at:at + 20]],
                    consistency=w.QUORUM)
        tokens = sorted(int(t) for node in (1, 2, 3) for t in
                        started(ring, wire, node).query("SELECT tokens FROM system.local").rows[0]["tokens"])
        ranges = [f"token(a) <= {tokens[0]}"] + [
            f"token(a) > {x} AND token(a) <= {y}" for x, y in zip(tokens, tokens[1:])] + [f"token(a) > {tokens[-1]}"]
        seen = []
        for bounds in ranges:
            text = f"SELECT a, b FROM {keyspace}.t WHERE {bounds}"
            seen += [(r["a"], r["b"]) for r in c.pages(
                lambda **p: c.query(text, consistency=w.QUORUM, **p), 1000)]
        assert sorted(seen) == rows

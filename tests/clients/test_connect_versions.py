"""How a connection begins: versions, STARTUP, OPTIONS, REGISTER, and what changes are answered.

Facts: cql-protocol.md 1.2, 2.3 to 2.5.
"""

import socket
import struct
import uuid

import pytest
import wire_client as w
from system_tables import EVERY_WIRE, started
from wire_client import Client, Failure

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


@pytest.mark.parametrize(
    "ladder",
    [
        ("python", [0x42, 0x41, 5]),
        ("java", [0x42, 0x41, 5]),
        ("c++", [0x42, 0x41, 4]),
        ("node", [0x42, "answer"]),
        ("gocql 1", [4]),
        ("gocql 2", [5]),
        ("rust", [4]),
    ],
    ids=lambda l: l[0],
)
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
    "python": dict(
        cql_version="3.4.7", DRIVER_NAME="DataStax Python Driver", DRIVER_VERSION="3.25.0"
    ),
    "cqlsh": dict(
        cql_version="3.4.7",
        DRIVER_NAME="DataStax Python Driver",
        DRIVER_VERSION="3.29.0",
        APPLICATION_NAME="cqlsh",
        APPLICATION_VERSION="6.2.0",
    ),
    "node": dict(
        DRIVER_NAME="DataStax Node.js driver for Apache Cassandra",
        DRIVER_VERSION="4.8.0",
        CLIENT_ID=str(uuid.UUID(int=7)),
    ),
    "gocql": dict(DRIVER_NAME="gocql", DRIVER_VERSION="1.7.0"),
    "java": dict(
        DRIVER_NAME="DataStax Java driver for Apache Cassandra(R)",
        DRIVER_VERSION="4.18.1",
        CLIENT_ID=str(uuid.UUID(int=8)),
    ),
    "rust": dict(cql_version="4.0.0", DRIVER_NAME="scylla-rust-driver", CLIENT_OPTIONS="{}"),
    "c++": dict(
        DRIVER_NAME="DataStax C/C++ Driver for Apache Cassandra",
        NO_COMPACT="false",
        THROW_ON_OVERLOAD="1",
    ),
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


@pytest.mark.parametrize(
    "pairs",
    [
        {},
        {"DRIVER_NAME": "x"},
        {"CQL_VERSION": "3.0.0", "COMPRESSION": "zip"},
        {"CQL_VERSION": "3.0.0", "COMPRESSION": "snappy"},
    ],
)
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
        other.create_keyspace(name, 1)
        other.query(f"CREATE TABLE {name}.t (k int PRIMARY KEY)")
        other.query(f"DROP TABLE {name}.t")
        other.query(f"DROP KEYSPACE {name}")
        said = [c.next_event() for _ in range(4)]
        assert said == [
            ("SCHEMA_CHANGE", "CREATED", ("KEYSPACE", name, None)),
            ("SCHEMA_CHANGE", "CREATED", ("TABLE", name, "t")),
            ("SCHEMA_CHANGE", "DROPPED", ("TABLE", name, "t")),
            ("SCHEMA_CHANGE", "DROPPED", ("KEYSPACE", name, None)),
        ]


def test_a_change_is_answered_with_what_changed(ring):
    with started(ring, (5, None)) as c:
        replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"

        def create(words):
            return c.query(f"CREATE KEYSPACE {words} changes WITH replication = {replication}")

        got = create("")
        assert (got.kind, got.change, got.target, got.keyspace) == (
            "change",
            "CREATED",
            "KEYSPACE",
            "changes",
        )
        assert create("IF NOT EXISTS").kind == "void"
        with pytest.raises(Failure) as caught:
            create("")
        assert (caught.value.code, caught.value.keyspace, caught.value.table) == (
            w.ALREADY_EXISTS,
            "changes",
            "",
        )
        got = c.query("CREATE TABLE changes.t (k int PRIMARY KEY)")
        assert (got.change, got.target, got.keyspace, got.name) == (
            "CREATED",
            "TABLE",
            "changes",
            "t",
        )
        assert c.query("CREATE TABLE IF NOT EXISTS changes.t (k int PRIMARY KEY)").kind == "void"
        with pytest.raises(Failure) as caught:
            c.query("CREATE TABLE changes.t (k int PRIMARY KEY)")
        assert (caught.value.code, caught.value.keyspace, caught.value.table) == (
            w.ALREADY_EXISTS,
            "changes",
            "t",
        )
        got = c.query("USE changes")
        assert (got.kind, got.keyspace) == ("keyspace", "changes")
        got = c.query("DROP TABLE t")
        assert (got.change, got.target, got.keyspace, got.name) == (
            "DROPPED",
            "TABLE",
            "changes",
            "t",
        )
        assert c.query("DROP TABLE IF EXISTS t").kind == "void"
        assert c.query("DROP KEYSPACE changes").change == "DROPPED"

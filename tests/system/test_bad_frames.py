"""Frames that no driver sends: the right ERROR or a closed connection, and the node serves on.

One node for all; after each test it must serve, and its memory must be where it was.  Facts:
cql-protocol.md 1.2, 1.3, 1.6, 2.1 and 2.2.
"""

import os
import random
import select
import socket
import struct
import time

import lz4.block
import pytest
import wire_client as w
from ring import Ring, until
from wire_client import Client, Closed, Failure

LIMIT = 1 << 20  # native_transport_max_frame_size here
FLAT_MIB = 24  # what memory may grow by in one test: arenas, pools and the sanitizers' own
EVERY_WIRE = [(4, None), (4, "lz4"), (5, None), (5, "lz4")]


@pytest.fixture(scope="module")
def node():
    with Ring(nodes=1, shards=2, native_transport_max_frame_size="1MiB") as ring:
        with Client(ring.addresses[0]).startup() as c:
            c.create_keyspace("k", 1)
            c.query("CREATE TABLE k.t (k int PRIMARY KEY, v blob)")
            c.query("INSERT INTO k.t (k, v) VALUES (1, 0x0102)")
        for _ in range(20):  # warm: pools filled, threads' caches made
            serves(ring)
        yield ring.node(1)


def serves(ring, wire=(5, "lz4")):
    with Client(ring.addresses[0], *wire).startup() as c:
        assert c.query("SELECT v FROM k.t WHERE k = 1").rows == [{"v": b"\x01\x02"}]
        assert c.query("INSERT INTO k.t (k, v) VALUES (2, 0x03)").kind == "void"


@pytest.fixture(autouse=True)
def unharmed(node):
    before = node.rss_mib()
    yield
    assert node.process.poll() is None, node.said()
    for wire in EVERY_WIRE:
        serves(node.ring, wire)
    grown = node.rss_mib() - before
    assert grown < FLAT_MIB, f"memory grew by {grown:.1f} MiB"


def started(node, wire):
    return Client(node.address, *wire).startup()


def protocol_error(c, stream=None):
    got = c.receive()
    failure = got.failure()
    assert failure.code == w.PROTOCOL_ERROR, str(failure)
    assert stream is None or got.stream == stream
    return failure.message


def is_alive(c):
    assert c.query("SELECT key FROM system.local").rows == [{"key": "local"}]


# ---- envelopes -----------------------------------------------------------------------------


@pytest.mark.parametrize("wire", EVERY_WIRE)
@pytest.mark.parametrize("opcode", [0x04, 0x11, 0x42, 0xFF, w.READY, w.RESULT, w.EVENT, w.ERROR])
def test_an_opcode_that_no_client_sends(node, wire, opcode):
    with started(node, wire) as c:
        c.raw(
            c.encode(opcode, b"abc", stream=7)
            if wire[1] is None or wire[0] == 5
            else w.envelope(4, opcode, b"abc", 7)
        )
        assert "opcode" in protocol_error(c, 7)
        is_alive(c)


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize(
    "opcode", [w.QUERY, w.PREPARE, w.EXECUTE, w.BATCH, w.REGISTER, w.AUTH_RESPONSE]
)
def test_requests_before_startup(node, version, opcode):
    with Client(node.address, version) as c:
        c.raw(w.envelope(version, opcode, b"", 5))
        assert "STARTUP" in protocol_error(c, 5)
        c.startup()
        is_alive(c)


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_a_second_startup(node, wire):
    with started(node, wire) as c:
        failure = c.ask(w.STARTUP, w.pack_string_map({"CQL_VERSION": "3.0.0"})).failure()
        assert failure.code == w.PROTOCOL_ERROR and "STARTUP" in failure.message
        is_alive(c)


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_auth_response_without_authentication(node, wire):
    with started(node, wire) as c:
        assert c.ask(w.AUTH_RESPONSE, w.pack_bytes(b"\0a\0b")).failure().code == w.PROTOCOL_ERROR
        is_alive(c)


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_a_request_over_the_limit_is_invalid_and_swallowed(node, wire):
    with started(node, wire) as c:
        text = "SELECT v FROM k.t WHERE k = 1 -- " + os.urandom(LIMIT).hex()
        failure = c.ask(w.QUERY, w.pack_long_string(text) + w.params(wire[0])).failure()
        assert (
            failure.code == w.INVALID
            and "too big" in failure.message
            and str(LIMIT) in failure.message
        )
        is_alive(c)


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_the_largest_request_that_is_taken(node, wire):
    with started(node, wire) as c:
        insert = c.prepare("INSERT INTO k.t (k, v) VALUES (?, ?)")
        value = os.urandom(LIMIT - 16384)  # LZ4 makes it a little longer
        c.execute(insert, struct.pack(">i", 3), value)
        assert c.query("SELECT v FROM k.t WHERE k = 3").rows[0]["v"] == value
        c.execute(insert, struct.pack(">i", 3), b"")


def test_an_announced_length_costs_nothing(node):
    """Hundreds say that nearly a megabyte will come, or 2 GiB, and send none of it."""
    before = node.rss_mib()
    clients = []
    for i in range(200):
        c = Client(node.address, 4).startup()
        c.raw(w.envelope(4, w.QUERY, b"SELECT", 1, length=LIMIT - 10 if i % 2 else 0x7FFFFFFF))
        clients.append(c)
    serves(node.ring)
    assert node.rss_mib() - before < FLAT_MIB
    for c in clients:
        c.close()


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("length", [-1, -(2**31)])
def test_a_negative_body_length_ends_the_connection(node, version, length):
    with started(node, (version, None)) as c:
        head = w.envelope(version, w.QUERY, b"", 9, length=length)
        c.raw(w.segment(head) if version == 5 else head)
        protocol_error(c)
        assert c.is_closed()


def test_an_answer_where_a_request_belongs(node):
    with started(node, (4, None)) as c:
        c.raw(w.envelope(0x84, w.READY))
        protocol_error(c)
        assert c.is_closed()


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00" * 64,
        b"\xff" * 64,
        b"SSH-2.0-OpenSSH_9.2\r\n",
    ],
)
def test_other_protocols(node, data):
    with Client(node.address) as c:
        c.raw(data)
        assert protocol_error(c)
        assert c.is_closed()


def test_garbage(node):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(200):
        with Client(node.address, timeout=10) as c:
            if chance.random() < 0.5:
                c.startup()
            try:
                c.raw(chance.randbytes(chance.randrange(1, 3000)))
                c.socket.shutdown(socket.SHUT_WR)
            except (Closed, OSError):
                continue
            assert c.is_closed()


# ---- bodies that lie -----------------------------------------------------------------------


def bodies(version):
    """name, opcode, body: each has a count or a length that is not true."""
    flags = struct.pack(">I" if version == 5 else ">B", 0x01)
    ok = w.params(version)
    select = w.pack_long_string("SELECT v FROM k.t WHERE k = ?")
    batch_end = struct.pack(">H", 1) + b"\0" * (4 if version == 5 else 1)
    yield "query text longer than the body", w.QUERY, struct.pack(">i", 1000) + b"SELECT" + ok
    yield "query text of 2 GiB", w.QUERY, struct.pack(">i", 0x7FFFFFFF) + b"SELECT" + ok
    yield "query text of negative length", w.QUERY, struct.pack(">i", -5) + b"SELECT" + ok
    yield "query without parameters", w.QUERY, w.pack_long_string("SELECT key FROM system.local")
    yield "query without a body", w.QUERY, b""
    yield "65535 values announced", w.QUERY, select + struct.pack(
        ">H", 1
    ) + flags + b"\xff\xff" + w.pack_bytes(b"\0\0\0\1")
    yield "a value longer than the body", w.QUERY, select + struct.pack(
        ">H", 1
    ) + flags + struct.pack(">Hi", 1, 1 << 30)
    yield "a value of length -3", w.QUERY, select + struct.pack(">H", 1) + flags + struct.pack(
        ">Hi", 1, -3
    )
    yield "consistency 4711", w.QUERY, select[:-1] + b"1" + struct.pack(">H", 4711) + flags.replace(
        b"\1", b"\0"
    )
    yield "page size 0", w.QUERY, w.pack_long_string("SELECT key FROM system.local") + w.params(
        version, page_size=0
    )
    yield "a timestamp that means none", w.QUERY, w.pack_long_string(
        "INSERT INTO k.t (k, v) VALUES (7, 0x00)"
    ) + w.params(version, timestamp=-(2**63))
    yield "prepare text longer than the body", w.PREPARE, struct.pack(">i", 99) + b"SELECT"
    yield "an id longer than the body", w.EXECUTE, struct.pack(">H", 500) + b"x"
    yield "batch of 65535 statements", w.BATCH, b"\0\xff\xff" + b"\0" + w.pack_long_string(
        "x"
    ) + b"\0\0" + batch_end
    yield "batch statement of kind 9", w.BATCH, b"\1\0\1\x09" + w.pack_long_string(
        "x"
    ) + b"\0\0" + batch_end
    yield "batch of type 9", w.BATCH, b"\x09\0\1\0" + w.pack_long_string("x") + b"\0\0" + batch_end
    yield "batch entry of 65535 values", w.BATCH, b"\1\0\1\0" + w.pack_long_string(
        "INSERT INTO k.t (k) VALUES (?)"
    ) + b"\xff\xff" + batch_end
    yield "batch that ends early", w.BATCH, b"\1\0\2\0" + w.pack_long_string(
        "INSERT INTO k.t (k) VALUES (1)"
    ) + b"\0\0"
    yield "batch without a body", w.BATCH, b""
    yield "register of 65535 names", w.REGISTER, b"\xff\xff" + w.pack_string("SCHEMA_CHANGE")
    yield "register of an unknown name", w.REGISTER, w.pack_strings(["NOTHING"])
    yield "register without a body", w.REGISTER, b""


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_bodies_that_lie(node, wire):
    with started(node, wire) as c:
        for name, opcode, body in bodies(wire[0]):
            got = c.ask(opcode, body)
            assert got.opcode == w.ERROR, f"{name}: opcode 0x{got.opcode:02x}"
            assert got.failure().code == w.PROTOCOL_ERROR, f"{name}: {got.failure()}"
            is_alive(c)


@pytest.mark.parametrize("version", [4, 5])
def test_startup_maps_that_lie(node, version):
    for body in (
        b"",
        b"\xff\xff",
        b"\0\1",
        b"\0\1\0\x05CQL_V",
        b"\0\1\xff\xffCQL_VERSION",
        b"\0\1\0\2\xc3\x28\0\1a",
    ):
        with Client(node.address, version) as c:
            assert c.ask(w.STARTUP, body).failure().code == w.PROTOCOL_ERROR
            c.startup()
            is_alive(c)


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_text_that_is_not_utf8(node, wire):
    with started(node, wire) as c:
        for text in (
            b"SELECT \xff\xfe FROM k.t",
            b"SELECT v FROM k.t WHERE k = 1 -- \xc3\x28",
            b"\xed\xa0\x80",
        ):
            failure = c.ask(w.QUERY, w.pack_long_string(text) + w.params(wire[0])).failure()
            assert failure.code == w.PROTOCOL_ERROR, str(failure)
        is_alive(c)


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_values_that_do_not_fit_their_type(node, wire):
    with started(node, wire) as c:
        insert = c.prepare("INSERT INTO k.t (k, v) VALUES (?, ?)")
        for values in (
            [b"\0\0\1", b""],
            [b"", b""],
            [None, b""],
            [w.UNSET, b""],
            [b"\0\0\0\1"],
            [b"\0\0\0\1", b"", b""],
        ):
            with pytest.raises(Failure) as caught:
                c.execute(insert, *values)
            assert caught.value.code == w.INVALID, f"{values}: {caught.value}"
        with pytest.raises(Failure) as caught:
            c.query("SELECT v FROM k.t WHERE k = ?", b"\0\0\0\1\0")
        assert caught.value.code == w.INVALID
        is_alive(c)


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_paging_states_that_were_not_given_out(node, wire):
    with started(node, wire) as c:
        for state in (b"x", b"\xff" * 16, bytes(64), os.urandom(500)):
            with pytest.raises(Failure) as caught:
                c.query("SELECT * FROM k.t", page_size=1, paging_state=state)
            assert caught.value.code in (w.PROTOCOL_ERROR, w.INVALID), str(caught.value)
        is_alive(c)


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_an_id_that_was_not_prepared(node, wire):
    with started(node, wire) as c:
        ghost = c.prepare("SELECT v FROM k.t WHERE k = ?")
        ghost.id = bytes(16)
        with pytest.raises(Failure) as caught:
            c.execute(ghost, b"\0\0\0\1")
        assert (caught.value.code, caught.value.id) == (w.UNPREPARED, bytes(16))
        with pytest.raises(Failure) as caught:
            c.batch([(ghost, [])])
        assert (caught.value.code, caught.value.id) == (w.UNPREPARED, bytes(16))
        is_alive(c)


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_cql_that_is_hard_on_a_parser(node, wire):
    wrong = [
        "(" * 50000,
        "SELECT " + "(" * 10000 + "k" + ")" * 10000 + " FROM k.t",
        "SELECT v FROM k.t WHERE k IN (" + "1," * 5000 + "1)",
        "SELECT '" + "x" * 100000,
        "SELECT v FROM k.t WHERE k = " + "9" * 50000,
        "CREATE TABLE k.u (k " + "frozen<list<" * 5000,
        "/*" * 50000,
        '"' * 99999,
        "$$" + "x" * 99999,
        "INSERT INTO k.t (k, v) VALUES (1, " + "[" * 20000 + ")",
        "SELECT " + "-" * 50001 + "1 FROM k.t",
        "\0" * 1000,
        "",
    ]
    with started(node, wire) as c:
        for text in wrong:
            with pytest.raises(Failure) as caught:
                c.query(text)
            assert caught.value.code in (w.SYNTAX, w.INVALID), f"{text[:40]}: {caught.value}"
            assert len(caught.value.message) < 1000
            assert c.ask(
                w.PREPARE, w.pack_long_string(text) + bytes(4 * (wire[0] == 5))
            ).opcode in (w.ERROR, w.RESULT)
        assert len(c.query("SELECT " + "v," * 5000 + "v FROM k.t WHERE k = 1").columns) == 5001
        is_alive(c)


def test_prepared_statements_stay_within_their_budget(node):
    with started(node, (4, None)) as c:

        def prepare(count, mark):
            for i in range(count):
                c.prepare(f"SELECT v FROM k.t WHERE k = {i} -- {mark} {'x' * 10000}")

        prepare(500, "fill")
        before = node.rss_mib()
        prepare(1000, "flood")
        assert node.rss_mib() - before < 8
        is_alive(c)


def test_syntax_errors_name_line_column_and_token(node):
    with started(node, (4, None)) as c:
        for text, where, token in (
            ("SELEC v FROM k.t", "1:0", "SELEC"),
            ("SELECT v\nFROM k.t\nWHERE k == 1", "3:9", "="),
            ("SELECT v FROM k.t WHERE k = 1 LIMIT LIMIT", "1:36", "LIMIT"),
        ):
            with pytest.raises(Failure) as caught:
                c.query(text)
            assert caught.value.code == w.SYNTAX
            assert (
                where in caught.value.message and token in caught.value.message
            ), caught.value.message


# ---- v5 frames -----------------------------------------------------------------------------


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


@pytest.mark.parametrize("compression", [None, "lz4"])
@pytest.mark.parametrize("part", ["length", "head crc", "payload", "payload crc"])
def test_a_checksum_that_does_not_hold(node, compression, part):
    with started(node, (5, compression)) as c:
        head = 5 if compression else 3
        data = c.encode(
            w.QUERY, w.pack_long_string("SELECT key FROM system.local") + w.params(5), 3
        )
        at = {"length": 0, "head crc": head, "payload": head + 3 + 4, "payload crc": len(data) - 1}[
            part
        ]
        c.raw(flipped(data, at))
        assert "checksum" in protocol_error(c)
        assert c.is_closed()


def frames_that_lie(lz4_on):
    options = w.envelope(5, w.OPTIONS, stream=1)
    yield "an envelope cut off by a self-contained frame", w.segment(options[:5], lz4_on)
    yield "a body cut off by a self-contained frame", w.segment(
        w.envelope(5, w.QUERY, b"abc", length=4000), lz4_on
    )
    first = w.segment(w.envelope(5, w.QUERY, b"x" * 50, length=60), lz4_on, contained=False)
    yield "more in the frames than in the envelope", first + w.segment(
        b"y" * 5000, lz4_on, contained=False
    )
    yield "a whole frame between the pieces of an envelope", first + w.segment(options, lz4_on)
    if lz4_on:
        block = lz4.block.compress(bytes(64), store_size=False)
        yield "a block that unpacks to more than it says", w.segment(
            b"", True, raw_length=10, packed=block
        )
        yield "a block that unpacks to less than it says", w.segment(
            b"", True, raw_length=1000, packed=block
        )
        yield "a block that is none", w.segment(b"", True, raw_length=100, packed=b"\xff" * 40)
        yield "an empty block of 128 KiB", w.segment(b"", True, raw_length=131071, packed=b"")


@pytest.mark.parametrize("compression", [None, "lz4"])
def test_frames_that_lie(node, compression):
    for name, data in frames_that_lie(compression == "lz4"):
        with started(node, (5, compression)) as c:
            c.raw(data)
            failure = c.receive().failure()
            assert failure.code == w.PROTOCOL_ERROR, f"{name}: {failure}"
            assert c.is_closed(), name


@pytest.mark.parametrize("compression", [None, "lz4"])
def test_an_empty_frame_is_nothing(node, compression):
    with started(node, (5, compression)) as c:
        for _ in range(100):
            c.raw(w.segment(b"", compression == "lz4"))
        is_alive(c)


def test_a_bad_envelope_in_a_good_frame_is_answered_and_passed_over(node):
    with started(node, (5, None)) as c:
        bad, good = w.envelope(5, 0x42, b"abc", 3), w.envelope(5, w.OPTIONS, b"", 4)
        c.raw(w.segment(bad + good))
        protocol_error(c, 3)
        got = c.receive()
        assert (got.opcode, got.stream) == (w.SUPPORTED, 4)
        c.raw(w.segment(bad + bad + bad + good))  # more than consecutive_message_errors_threshold
        protocol_error(c, 3)
        protocol_error(c, 3)
        assert c.is_closed()


# ---- bombs ---------------------------------------------------------------------------------


def test_decompression_bombs_of_v4(node):
    zeros = lz4.block.compress(bytes(64 << 20), store_size=False)  # 257 KiB that would be 64 MiB
    small = lz4.block.compress(bytes(1000), store_size=False)
    for _ in range(20):
        with started(node, (4, "lz4")) as c:
            for says, block in (
                (64 << 20, zeros),
                (0x7FFFFFFF, small),
                (-1, small),
                (LIMIT - 9, small),
                (LIMIT - 9, b""),
                (100, zeros),
                (2000, small),
            ):
                c.raw(w.envelope(4, w.QUERY, struct.pack(">i", says) + block, 2, flags=0x01))
                failure = c.receive().failure()
                assert failure.code in (w.PROTOCOL_ERROR, w.INVALID), f"{says}: {failure}"
                is_alive(c)
    with started(node, (4, None)) as c:  # no compression was agreed on
        c.raw(w.envelope(4, w.QUERY, struct.pack(">i", 1000) + small, 2, flags=0x01))
        assert "compress" in protocol_error(c, 2)
        is_alive(c)


def test_decompression_bombs_of_v5(node):
    """Frames of 520 bytes that unpack to 128 KiB each, pieces of an envelope beyond the limit."""
    piece = w.segment(bytes(w.SEGMENT_MAX), True, contained=False)
    assert len(piece) < 600
    first = w.segment(
        w.envelope(5, w.QUERY, bytes(1000), 6, length=64 << 20), True, contained=False
    )
    before = node.rss_mib()
    for _ in range(5):
        with started(node, (5, "lz4")) as c:
            c.raw(first)
            failure = c.receive().failure()
            assert failure.code == w.INVALID and "too big" in failure.message
            left = (64 << 20) - 1000
            while left > 0:
                n = min(left, w.SEGMENT_MAX)
                c.raw(piece if n == w.SEGMENT_MAX else w.segment(bytes(n), True, contained=False))
                left -= n
            is_alive(c)
    assert node.rss_mib() - before < FLAT_MIB


# ---- slow, half, many ----------------------------------------------------------------------


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_one_byte_at_a_time(node, wire):
    with Client(node.address, *wire) as c:
        pairs = {"CQL_VERSION": "3.0.0", **({"COMPRESSION": "lz4"} if wire[1] else {})}
        data = w.envelope(wire[0], w.STARTUP, w.pack_string_map(pairs), 1)
        for byte in data:
            c.raw(bytes([byte]))
        assert c.receive().opcode == w.READY
        c.framed = wire[0] == 5
        for byte in c.encode(
            w.QUERY, w.pack_long_string("SELECT key FROM system.local") + w.params(wire[0]), 9
        ):
            c.raw(bytes([byte]))
        got = c.receive()
        assert got.stream == 9 and w.Result(got.body, wire[0]).rows == [{"key": "local"}]


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_half_a_request_then_silence(node, wire):
    """Cut at every byte; the others are served meanwhile, and hanging up is noticed."""
    clients = []
    with started(node, wire) as c:
        data = c.encode(
            w.QUERY, w.pack_long_string("SELECT key FROM system.local") + w.params(wire[0]), 9
        )
    for cut in range(1, len(data)):
        c = started(node, wire)
        c.raw(data[:cut])
        clients.append(c)
    serves(node.ring)
    for i, c in enumerate(clients):
        if i % 2:
            c.raw(data[i + 1 :])
            assert c.receive().stream == 9
        c.close()


def connections(node):
    lines = node.get("/metrics").splitlines()
    return sum(
        float(l.split()[-1])
        for l in lines
        if l.startswith("rondo_connections ") or l.startswith("rondo_connections{")
    )


def test_thousands_of_connections_opened_and_closed(node):
    def storm(count):
        for i in range(count):
            s = socket.create_connection((node.address, 9042), timeout=20)
            if i % 4 == 1:
                s.sendall(b"\x04")
            elif i % 4 == 2:
                s.sendall(w.envelope(4, w.OPTIONS))
            elif i % 4 == 3:
                s.sendall(w.envelope(5, w.STARTUP, w.pack_string_map({"CQL_VERSION": "3.0.0"})))
            if i % 3 == 0:  # a reset instead of an orderly end
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()

    storm(1000)
    until(lambda: connections(node) == 0)
    before = node.rss_mib()
    storm(3000)
    until(lambda: connections(node) == 0)
    assert node.rss_mib() - before < 8
    assert len(os.listdir(f"/proc/{node.process.pid}/fd")) < 100


def test_many_connections_at_once(node):
    clients = [Client(node.address, 4 + i % 2).startup() for i in range(400)]
    for c in clients:
        is_alive(c)
    for c in clients:
        c.close()
    until(lambda: connections(node) == 0)


def test_a_client_that_does_not_read_its_answers(node):
    """The server stops taking requests, and takes no memory for answers without end."""
    before = node.rss_mib()
    with started(node, (4, None)) as c:
        ask = c.encode(
            w.QUERY, w.pack_long_string("SELECT * FROM system_schema.columns") + w.params(4), 1
        )
        c.socket.setblocking(False)
        sent, end = 0, time.monotonic() + 5
        while time.monotonic() < end:
            try:
                sent += c.socket.send(ask * 100)
            except BlockingIOError:
                if not select.select([], [c.socket], [], 0.5)[1]:
                    break
        else:
            pytest.fail("it was never told to wait")
        assert node.rss_mib() - before < 2 * FLAT_MIB
        serves(node.ring)


# ---- chance --------------------------------------------------------------------------------


def valid_requests(c, chance):
    version = c.version
    insert = c.prepare("INSERT INTO k.t (k, v) VALUES (?, ?)")
    metadata = w.pack_string(insert.metadata_id) if version == 5 else b""
    values = [struct.pack(">i", 50), b"fuzz"]
    batch = (
        b"\1\0\1\1"
        + w.pack_string(insert.id)
        + b"\0\2"
        + b"".join(map(w.pack_bytes, values))
        + b"\0\1"
        + b"\0" * (4 if version == 5 else 1)
    )
    every = [
        (w.OPTIONS, b""),
        (w.REGISTER, w.pack_strings(["STATUS_CHANGE"])),
        (
            w.QUERY,
            w.pack_long_string("SELECT k, v FROM k.t WHERE k = ? LIMIT 3")
            + w.params(version, values=[b"\0\0\0\1"], page_size=100, timestamp=5),
        ),
        (
            w.QUERY,
            w.pack_long_string("SELECT * FROM system.local WHERE key = :k")
            + w.params(version, values=[b"local"], names=["k"]),
        ),
        (
            w.PREPARE,
            w.pack_long_string("SELECT v FROM k.t WHERE k = ?")
            + (b"\0\0\0\0" if version == 5 else b""),
        ),
        (
            w.EXECUTE,
            w.pack_string(insert.id) + metadata + w.params(version, values=values, skip=True),
        ),
        (w.BATCH, batch),
    ]
    while True:
        yield chance.choice(every)


def fuzz(node, wire, count, chance):
    """Bytes flipped inside the envelope, before framing, so that they get past the checksums."""
    c, requests = None, None
    for _ in range(count):
        if c is None:
            c = Client(node.address, *wire, timeout=20).startup()
            requests = valid_requests(c, chance)
        opcode, body = next(requests)
        data = bytearray(w.envelope(wire[0], opcode, body, stream=1))
        for _ in range(chance.choice([1, 1, 2, 5])):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        is_whole = struct.unpack(">i", data[5:9])[0] == len(data) - 9
        try:
            c.raw(w.segments(bytes(data), wire[1] == "lz4") if wire[0] == 5 else bytes(data))
            if is_whole:  # an answer must come, of whatever kind, or the end
                c.receive()
            if chance.random() < 0.02 or not is_whole:
                raise Closed
        except Closed:
            c.close()
            c = None
    if c:
        c.close()


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_flipped_bits(node, wire):
    seed = int(os.environ.get("RONDO_SEED", random.randrange(1 << 32)))
    print("RONDO_SEED =", seed)  # shown when it fails
    fuzz(node, wire, 600, random.Random(seed))

"""wire_client.py - the native protocol by hand, versions 4 and 5, for tests of what drivers send.

    with Client(address, version=5, compression="lz4") as c:      TCP only; nothing is sent yet
        c.startup()
        rows = c.query("SELECT * FROM system.local").rows         list of dicts, by column name

It also builds what no driver would send: every part of a frame can be made by itself (envelope,
segment, pack_*), and `raw` sends any bytes.  Facts: cql-protocol.md 1 to 3.
"""

import datetime
import decimal
import ipaddress
import socket
import struct
import uuid
import zlib

import lz4.block

ERROR, STARTUP, READY, AUTHENTICATE = 0x00, 0x01, 0x02, 0x03
OPTIONS, SUPPORTED, QUERY, RESULT, PREPARE, EXECUTE = 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A
REGISTER, EVENT, BATCH, AUTH_RESPONSE = 0x0B, 0x0C, 0x0D, 0x0F

ANY, ONE, TWO, THREE, QUORUM, ALL, LOCAL_QUORUM, LOCAL_ONE = 0, 1, 2, 3, 4, 5, 6, 10

SERVER_ERROR, PROTOCOL_ERROR, UNAVAILABLE, OVERLOADED = 0x0000, 0x000A, 0x1000, 0x1001
SYNTAX, UNAUTHORIZED, INVALID, CONFIG = 0x2000, 0x2100, 0x2200, 0x2300
ALREADY_EXISTS, UNPREPARED = 0x2400, 0x2500

SEGMENT_MAX = 131071
UNSET = object()


# ---- primitive notations -------------------------------------------------------------------


def pack_string(text):
    data = text.encode() if isinstance(text, str) else text
    return struct.pack(">H", len(data)) + data


def pack_long_string(text):
    data = text.encode() if isinstance(text, str) else text
    return struct.pack(">i", len(data)) + data


def pack_bytes(data):
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def pack_value(data):
    return struct.pack(">i", -2) if data is UNSET else pack_bytes(data)


def pack_strings(texts):
    return struct.pack(">H", len(texts)) + b"".join(pack_string(t) for t in texts)


def pack_string_map(pairs):
    return struct.pack(">H", len(pairs)) + b"".join(
        pack_string(k) + pack_string(v) for k, v in pairs.items()
    )


class Reader:
    """Takes a body apart; reading past its end is an error of the server's."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        assert n >= 0 and self.at + n <= len(self.data), "a body ends before what it announces"
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def byte(self):
        return self.number(">B")

    def short(self):
        return self.number(">H")

    def int(self):
        return self.number(">i")

    def long(self):
        return self.number(">q")

    def string(self):
        return self.take(self.short()).decode()

    def strings(self):
        return [self.string() for _ in range(self.short())]

    def short_bytes(self):
        return self.take(self.short())

    def bytes(self):
        n = self.int()
        return None if n < 0 else self.take(n)

    def inet(self):
        ip = ipaddress.ip_address(self.take(self.byte()))
        return str(ip), self.int()

    def left(self):
        return len(self.data) - self.at


# ---- frames --------------------------------------------------------------------------------


def crc24(data):
    crc = 0x875060
    for byte in data:
        crc ^= byte << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= 0x1974F0B
    return crc.to_bytes(3, "little")


def crc32(payload):
    return zlib.crc32(payload, zlib.crc32(b"\xfa\x2d\x55\xca")).to_bytes(4, "little")


def envelope(version, opcode, body=b"", stream=0, flags=0, length=None):
    return (
        struct.pack(
            ">BBhBi", version, flags, stream, opcode, len(body) if length is None else length
        )
        + body
    )


def segment(payload, lz4_on=False, contained=True, raw_length=None, packed=None):
    """One outer frame of v5.  raw_length and packed: what an honest sender would compute."""
    if not lz4_on:
        head = (len(payload) | contained << 17).to_bytes(3, "little")
        return head + crc24(head) + payload + crc32(payload)
    if packed is None:
        packed = lz4.block.compress(payload, store_size=False)
        if raw_length is None:
            raw_length = len(payload)
        if len(packed) >= len(payload):
            packed, raw_length = payload, 0
    head = (len(packed) | raw_length << 17 | contained << 34).to_bytes(5, "little")
    return head + crc24(head) + packed + crc32(packed)


def segments(data, lz4_on=False):
    """An envelope in as many frames as it needs."""
    if len(data) <= SEGMENT_MAX:
        return segment(data, lz4_on)
    return b"".join(
        segment(data[at : at + SEGMENT_MAX], lz4_on, contained=False)
        for at in range(0, len(data), SEGMENT_MAX)
    )


# ---- bodies --------------------------------------------------------------------------------


def params(
    version,
    consistency=ONE,
    values=None,
    names=None,
    skip=False,
    page_size=None,
    paging_state=None,
    serial=None,
    timestamp=None,
    keyspace=None,
    now=None,
):
    flags, body = 0, b""
    if values is not None:
        flags |= 0x41 if names else 0x01
        body += struct.pack(">H", len(values))
        for i, value in enumerate(values):
            body += (pack_string(names[i]) if names else b"") + pack_value(value)
    if skip:
        flags |= 0x02
    if page_size is not None:
        flags, body = flags | 0x04, body + struct.pack(">i", page_size)
    if paging_state is not None:
        flags, body = flags | 0x08, body + pack_bytes(paging_state)
    if serial is not None:
        flags, body = flags | 0x10, body + struct.pack(">H", serial)
    if timestamp is not None:
        flags, body = flags | 0x20, body + struct.pack(">q", timestamp)
    if keyspace is not None:
        flags, body = flags | 0x80, body + pack_string(keyspace)
    if now is not None:
        flags, body = flags | 0x100, body + struct.pack(">i", now)
    return (
        struct.pack(">H", consistency) + struct.pack(">I" if version >= 5 else ">B", flags) + body
    )


# ---- types ---------------------------------------------------------------------------------

NAMES = {
    0x01: "ascii",
    0x02: "bigint",
    0x03: "blob",
    0x04: "boolean",
    0x05: "counter",
    0x06: "decimal",
    0x07: "double",
    0x08: "float",
    0x09: "int",
    0x0A: "text",
    0x0B: "timestamp",
    0x0C: "uuid",
    0x0D: "text",
    0x0E: "varint",
    0x0F: "timeuuid",
    0x10: "inet",
    0x11: "date",
    0x12: "time",
    0x13: "smallint",
    0x14: "tinyint",
    0x15: "duration",
}


def read_type(r):
    """The type's CQL text, frozen left out, since options do not tell it."""
    code = r.short()
    if code == 0x00:
        return f"'{r.string()}'"
    if code in (0x20, 0x22):
        return f"{'list' if code == 0x20 else 'set'}<{read_type(r)}>"
    if code == 0x21:
        key = read_type(r)
        return f"map<{key}, {read_type(r)}>"
    if code == 0x31:
        return f"tuple<{', '.join(read_type(r) for _ in range(r.short()))}>"
    return NAMES[code]


def split_types(text):
    """The two of a map."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "<") - (c == ">")
        if c == "," and depth == 0:
            return text[:i], text[i + 1 :].strip()
    raise ValueError(text)


def read_decimal(data):
    scale = struct.unpack(">i", data[:4])[0]
    return decimal.Decimal(int.from_bytes(data[4:], "big", signed=True)).scaleb(-scale)


FIXED = {
    "bigint": ">q",
    "counter": ">q",
    "int": ">i",
    "smallint": ">h",
    "tinyint": ">b",
    "double": ">d",
    "float": ">f",
    "time": ">q",
}


def read_cell(kind, data):
    if data is None:
        return None
    if kind in FIXED:
        return struct.unpack(FIXED[kind], data)[0]
    if kind in ("ascii", "text"):
        return data.decode("ascii" if kind == "ascii" else "utf-8")
    if kind in ("uuid", "timeuuid"):
        return uuid.UUID(bytes=data)
    if kind == "boolean":
        return data != b"\x00"
    if kind == "inet":
        return str(ipaddress.ip_address(data))
    if kind == "varint":
        return int.from_bytes(data, "big", signed=True)
    if kind == "decimal":
        return read_decimal(data)
    if kind == "date":
        return datetime.date(1970, 1, 1) + datetime.timedelta(struct.unpack(">I", data)[0] - 2**31)
    if kind == "timestamp":
        return struct.unpack(">q", data)[0]
    if kind.startswith(("list<", "set<")):
        r, inner = Reader(data), kind[kind.index("<") + 1 : -1]
        items = [read_cell(inner, r.bytes()) for _ in range(r.int())]
        return items if kind.startswith("list<") else set(items)
    if kind.startswith("map<"):
        r, (key, value) = Reader(data), split_types(kind[4:-1])
        return {read_cell(key, r.bytes()): read_cell(value, r.bytes()) for _ in range(r.int())}
    return data


class Column:
    def __init__(self, keyspace, table, name, kind):
        self.keyspace, self.table, self.name, self.kind = keyspace, table, name, kind

    def __repr__(self):
        return f"{self.keyspace}.{self.table}.{self.name} {self.kind}"


def read_columns(r, flags, count):
    where = (r.string(), r.string()) if flags & 0x01 and not flags & 0x04 else None
    if flags & 0x04:
        return []
    columns = []
    for _ in range(count):
        keyspace, table = where or (r.string(), r.string())
        columns.append(Column(keyspace, table, r.string(), read_type(r)))
    return columns


# ---- answers -------------------------------------------------------------------------------


class Failure(Exception):
    """An ERROR: code, message and what follows it."""

    def __init__(self, body, version):
        r = Reader(body)
        self.code, self.message = r.int(), r.string()
        super().__init__(f"0x{self.code:04x} {self.message}")
        if self.code == UNAVAILABLE:
            self.consistency, self.required, self.alive = r.short(), r.int(), r.int()
        elif self.code in (0x1100, 0x1200):
            self.consistency, self.received, self.required = r.short(), r.int(), r.int()
            self.last = r.string() if self.code == 0x1100 else r.byte()
        elif self.code in (0x1300, 0x1500):
            self.consistency, self.received, self.required = r.short(), r.int(), r.int()
            for _ in range(r.int() if version >= 5 else 0):
                r.take(r.byte())
                r.short()
            if version < 5:
                self.failures = r.int()
            self.last = r.string() if self.code == 0x1500 else r.byte()
        elif self.code == ALREADY_EXISTS:
            self.keyspace, self.table = r.string(), r.string()
        elif self.code == UNPREPARED:
            self.id = r.short_bytes()
        assert r.left() == 0, f"{r.left()} bytes too many in error 0x{self.code:04x}"


class Result:
    """A RESULT, whole: nothing may be left of its body."""

    def __init__(self, body, version, columns=None):
        r = Reader(body)
        self.kind = {1: "void", 2: "rows", 3: "keyspace", 4: "prepared", 5: "change"}[r.int()]
        getattr(self, "_" + self.kind)(r, version, columns)
        assert r.left() == 0, f"{r.left()} bytes too many in a RESULT {self.kind}"

    def _void(self, r, version, columns):
        pass

    def _rows(self, r, version, columns):
        self.flags = r.int()
        count = r.int()
        self.paging_state = r.bytes() if self.flags & 0x02 else None
        self.new_id = r.short_bytes() if self.flags & 0x08 else None
        self.columns = read_columns(r, self.flags, count)
        known = columns if self.flags & 0x04 and columns else self.columns
        assert len(known) == count or not known
        cells = [[r.bytes() for _ in range(count)] for _ in range(r.int())]
        self.rows = [{c.name: read_cell(c.kind, v) for c, v in zip(known, row)} for row in cells]
        self.types = {c.name: c.kind for c in known}

    def _keyspace(self, r, version, columns):
        self.keyspace = r.string()

    def _prepared(self, r, version, columns):
        self.id = r.short_bytes()
        self.metadata_id = r.short_bytes() if version >= 5 else None
        flags, count = r.int(), r.int()
        self.key_indices = [r.short() for _ in range(r.int())]
        self.markers = read_columns(r, flags, count)
        self.result_flags = r.int()
        self.columns = read_columns(r, self.result_flags, r.int())

    def _change(self, r, version, columns):
        self.change, self.target, self.keyspace = r.string(), r.string(), r.string()
        self.name = r.string() if self.target != "KEYSPACE" else None


def read_event(body):
    r = Reader(body)
    kind = r.string()
    if kind in ("TOPOLOGY_CHANGE", "STATUS_CHANGE"):
        return kind, r.string(), r.inet()
    change, target, keyspace = r.string(), r.string(), r.string()
    return kind, change, (target, keyspace, r.string() if target != "KEYSPACE" else None)


class Envelope:
    def __init__(self, version, flags, stream, opcode, body):
        self.version, self.flags, self.stream = version, flags, stream
        self.opcode, self.body = opcode, body

    def failure(self):
        assert self.opcode == ERROR, f"opcode 0x{self.opcode:02x} where an ERROR belongs"
        return Failure(self.body, self.version & 0x7F)


# ---- a connection --------------------------------------------------------------------------


class Closed(Exception):
    """The server has hung up."""


class Client:
    def __init__(self, address, version=4, compression=None, port=9042, timeout=30, at=None):
        self.version, self.compression = version, compression
        self.framed, self.input, self.payload, self.events = False, b"", b"", []
        self.stream = 0
        self.socket = socket.create_connection(
            (address, port), timeout=timeout, source_address=(at, 0) if at else None
        )
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    # ---- bytes

    def raw(self, data):
        try:
            self.socket.sendall(data)
        except (ConnectionResetError, BrokenPipeError) as e:
            raise Closed() from e

    def fill(self, n):
        """At least n bytes of what the server sent."""
        while len(self.input) < n:
            try:
                got = self.socket.recv(1 << 16)
            except ConnectionResetError as e:
                raise Closed() from e
            if not got:
                raise Closed()
            self.input += got

    def take(self, n):
        self.fill(n)
        taken, self.input = self.input[:n], self.input[n:]
        return taken

    def is_closed(self):
        """Waits until the server hangs up; what it says before is thrown away."""
        try:
            while True:
                self.fill(len(self.input) + 1)
        except Closed:
            return True
        except socket.timeout:
            return False

    # ---- frames

    def take_segment(self):
        is_lz4 = self.compression == "lz4"
        size = 5 if is_lz4 else 3
        head = self.take(size)
        assert self.take(3) == crc24(head), "the CRC24 of an answer's frame"
        bits = int.from_bytes(head, "little")
        payload = self.take(bits & 0x1FFFF)
        assert self.take(4) == crc32(payload), "the CRC32 of an answer's frame"
        raw = (bits >> 17 & 0x1FFFF) if is_lz4 else 0
        assert not bits >> (35 if is_lz4 else 18), "bits that must be zero"
        self.contained = bool(bits >> (34 if is_lz4 else 17) & 1)
        return lz4.block.decompress(payload, uncompressed_size=raw) if raw else payload

    def take_plain(self, n):
        if not self.framed:
            return self.take(n)
        while len(self.payload) < n:
            self.payload += self.take_segment()
        taken, self.payload = self.payload[:n], self.payload[n:]
        return taken

    def receive(self):
        """The next answer; events are put aside."""
        while True:
            version, flags, stream, opcode, size = struct.unpack(">BBhBi", self.take_plain(9))
            body = self.take_plain(size)
            if flags & 0x01 and version & 0x7F < 5:
                body = lz4.block.decompress(
                    body[4:], uncompressed_size=struct.unpack(">i", body[:4])[0]
                )
            got = Envelope(version, flags, stream, opcode, body)
            if opcode != EVENT:
                return got
            assert stream == -1
            self.events.append(read_event(body))

    def next_event(self):
        while not self.events:
            version, flags, stream, opcode, size = struct.unpack(">BBhBi", self.take_plain(9))
            body = self.take_plain(size)
            if flags & 0x01 and version & 0x7F < 5:
                body = lz4.block.decompress(
                    body[4:], uncompressed_size=struct.unpack(">i", body[:4])[0]
                )
            assert (opcode, stream) == (EVENT, -1), "an answer that nobody waits for"
            self.events.append(read_event(body))
        return self.events.pop(0)

    def encode(self, opcode, body=b"", stream=0, flags=0):
        """The bytes of a request as this connection sends it."""
        if not self.framed:
            if self.compression == "lz4" and opcode not in (STARTUP, OPTIONS) and self.version < 5:
                flags |= 0x01
                body = struct.pack(">i", len(body)) + lz4.block.compress(body, store_size=False)
            return envelope(self.version, opcode, body, stream, flags)
        return segments(
            envelope(self.version, opcode, body, stream, flags), self.compression == "lz4"
        )

    def ask(self, opcode, body=b"", flags=0, stream=None):
        """Sends, and returns the answer, which must be on the same stream and in our version."""
        if stream is None:
            self.stream = stream = (self.stream + 1) % 32768
        self.raw(self.encode(opcode, body, stream, flags))
        got = self.receive()
        assert got.stream == stream, f"stream {got.stream} answers {stream}"
        assert got.version == 0x80 | self.version, f"version byte 0x{got.version:02x}"
        return got

    # ---- requests

    def options(self):
        got = self.ask(OPTIONS)
        assert got.opcode == SUPPORTED
        r = Reader(got.body)
        return {r.string(): r.strings() for _ in range(r.short())}

    def startup(self, cql_version="3.0.0", **more):
        pairs = {"CQL_VERSION": cql_version, **more}
        if self.compression:
            pairs["COMPRESSION"] = self.compression
        got = self.ask(STARTUP, pack_string_map(pairs))
        if got.opcode == ERROR:
            raise got.failure()
        assert got.opcode == READY, f"opcode 0x{got.opcode:02x} where READY belongs"
        self.framed = self.version >= 5
        return self

    def register(self, *kinds):
        got = self.ask(
            REGISTER, pack_strings(kinds or ("TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"))
        )
        if got.opcode == ERROR:
            raise got.failure()
        assert got.opcode == READY and not got.body

    def result(self, opcode, body, columns=None, flags=0):
        got = self.ask(opcode, body, flags)
        if got.opcode == ERROR:
            raise got.failure()
        assert got.opcode == RESULT
        return Result(got.body, self.version, columns)

    def query(self, text, *values, **more):
        if values:
            more["values"] = values
        return self.result(QUERY, pack_long_string(text) + params(self.version, **more))

    def create_keyspace(self, name, factor):
        replication = f"{{'class': 'SimpleStrategy', 'replication_factor': {factor}}}"
        return self.query(f"CREATE KEYSPACE {name} WITH replication = {replication}")

    def prepare(self, text, keyspace=None):
        body = pack_long_string(text)
        if self.version >= 5:
            body += (
                struct.pack(">I", 1) + pack_string(keyspace) if keyspace else struct.pack(">I", 0)
            )
        return self.result(PREPARE, body)

    def execute(self, prepared, *values, **more):
        body = pack_string(prepared.id)
        if self.version >= 5:
            body += pack_string(prepared.metadata_id)
        if values:
            more["values"] = values
        return self.result(EXECUTE, body + params(self.version, **more), prepared.columns)

    def batch(self, entries, kind=1, consistency=ONE):
        """entries: (text or Result of prepare, [values])"""
        body = struct.pack(">BH", kind, len(entries))
        for what, values in entries:
            body += (
                b"\x01" + pack_string(what.id)
                if isinstance(what, Result)
                else b"\x00" + pack_long_string(what)
            )
            body += struct.pack(">H", len(values)) + b"".join(pack_value(v) for v in values)
        body += struct.pack(">H", consistency) + (b"\x00" * (4 if self.version >= 5 else 1))
        return self.result(BATCH, body)

    def pages(self, ask, size):
        """All rows of a SELECT, page by page; ask takes page_size and paging_state."""
        state = None
        while True:
            got = ask(page_size=size, paging_state=state)
            assert len(got.rows) <= size
            yield from got.rows
            state = got.paging_state
            if state is None:
                return

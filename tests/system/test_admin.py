"""HTTP on the admin port and on the socket in the data folder."""

import http.client
import json
import os
import re
import socket
import stat
import uuid

import pytest
from ring import ADMIN_PORT, Ring
from wire_client import Client


@pytest.fixture(scope="module")
def ring():
    with Ring(nodes=3, shards=2) as ring:
        yield ring


@pytest.fixture
def node(ring):
    return ring.node(1)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=10)
        self.unix_path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        self.sock.connect(self.unix_path)


def over_unix(node):
    return UnixConnection(node.folder / "data" / "rondo.sock")


def over_tcp(node):
    return http.client.HTTPConnection(node.address, ADMIN_PORT, timeout=10)


def ask(connection, method, path, headers=None, body=None):
    connection.request(method, path, body=body, headers=headers or {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, answer.headers


def raw(node, data):
    with socket.create_connection((node.address, ADMIN_PORT), timeout=20) as s:
        s.sendall(data)
        got = b""
        try:
            while more := s.recv(65536):
                got += more
        except ConnectionResetError:
            pass
        return got


DOORS = pytest.mark.parametrize("door", [over_tcp, over_unix], ids=["tcp", "unix"])


@DOORS
def test_health(node, door):
    assert ask(door(node), "GET", "/health/live")[:2] == (200, "alive\n")
    assert ask(door(node), "GET", "/health/ready")[:2] == (200, "serving\n")


@DOORS
def test_metrics_are_prometheus_text(node, door):
    status, text, headers = ask(door(node), "GET", "/metrics")
    assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
    kinds, samples = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in kinds and kind in ("counter", "gauge", "histogram", "summary")
            kinds[name] = kind
        elif not line.startswith("# HELP "):
            found = re.fullmatch(
                r'([a-z_:][a-z0-9_:]*)(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? (\S+)', line
            )
            assert found, line
            float(found[4])
            samples.setdefault(found[1], []).append(found[4])
    for name in samples:
        base = re.sub(r"_(bucket|sum|count|total)$", "", name)
        assert name.startswith("rondo_") and (name in kinds or base in kinds), name
    assert len(samples) > 30 and "rondo_requests" in {re.sub("_total$", "", n) for n in samples}


def test_counters_only_grow(ring, node):
    def numbers():
        return {
            m[1]: float(m[2])
            for m in re.finditer(r"^(rondo_\w+) (\S+)$", node.get("/metrics"), re.M)
        }

    before = numbers()
    with Client(node.address).startup() as c:
        for _ in range(10):
            c.query("SELECT * FROM system.local")
    after = numbers()
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", node.get("/metrics"), re.M))
    for name, kind in kinds.items():
        if kind == "counter" and name in before:
            assert after[name] >= before[name], name
    grown = {n for n in after if "requests" in n and after[n] >= before[n] + 11}
    assert grown, "STARTUP and ten queries are requests"


@DOORS
def test_status(ring, node, door):
    status, text, headers = ask(door(node), "GET", "/api/v1/status")
    assert status == 200 and headers["Content-Type"].startswith("application/json")
    said = json.loads(text)
    assert said["cluster"] == "test" and uuid.UUID(said["cluster_id"]).int
    assert uuid.UUID(said["schema_version"]) and said["epoch"] >= 1 and said["node"] in (1, 2, 3)
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", said["version"]) and said["release"].startswith("5.0.")
    assert len(said["nodes"]) == 3
    assert {n["address"] for n in said["nodes"]} == {f"{a}:7000" for a in ring.addresses}
    assert {n["native"] for n in said["nodes"]} == {f"{a}:9042" for a in ring.addresses}
    assert len({n["host_id"] for n in said["nodes"]}) == 3
    assert all(
        n["up"] and n["tokens"] == 16 and n["data_center"] == "datacenter1" and n["rack"] == "rack1"
        for n in said["nodes"]
    )
    assert abs(sum(n["ownership"] for n in said["nodes"]) - 1) < 1e-5
    store = said["store"]
    assert store["refusal"] is None and store["commitlog_sync"] == "group"
    assert 0 <= store["memtable_bytes"] < store["memtable_bytes_max"]
    assert said["counts"]["connections"] >= 0


@DOORS
def test_info_has_the_sockets_path_and_a_memory_plan_that_adds_up(node, door):
    said = json.loads(ask(door(node), "GET", "/api/v1/info")[1])
    assert said["socket"] == str(node.folder / "data" / "rondo.sock")
    assert said["shards"] == 2 and said["cluster"] == "test" and said["uptime_seconds"] >= 0
    memory = said["memory"]
    assert memory["limit"] == 512 << 20
    assert abs(sum(v for k, v in memory.items() if k != "limit") - memory["limit"]) < 1 << 10


def test_the_socket_is_this_users_alone(node):
    found = os.stat(node.folder / "data" / "rondo.sock")
    assert stat.S_ISSOCK(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o600


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize(
    "path", ["/api/v1/ops/flush", "/api/v1/status", "/health/live", "/nothing"]
)
def test_over_tcp_only_reading_is_open(node, method, path):
    status, text, _ = ask(over_tcp(node), method, path, body="{}")
    assert status == 403 and "reading" in text


@pytest.mark.parametrize("method, path, body, code, says", [
    ("POST", "/api/v1/ops/nope", "", 404, "flush"),
    ("POST", "/api/v1/ops/flush", "colour=blue", 400, "takes no 'colour'"),
    ("POST", "/api/v1/ops/flush", "keyspace=a&keyspace=b", 400, "twice"),
    ("POST", "/api/v1/ops/flush", "keyspace=%zz", 400, "%"),
    ("POST", "/api/v1/status", "", 405, "ops"),
    ("PUT", "/api/v1/ops/flush", "", 405, "POST"),
    ("GET", "/api/v1/ops/12345678", "", 404, "no such operation"),
    ("GET", "/api/v1/ops/x", "", 404, "no such operation"),
    ("GET", "/api/v1/tables/nope", "", 404, "no such table"),
    ("POST", "/api/v1/ops/flush", "", 202, '"verb":"flush"'),
])
def test_what_is_asked_over_the_socket_is_answered(node, method, path, body, code, says):
    status, text, _ = ask(over_unix(node), method, path, body=body)
    assert status == code and says in text


@pytest.mark.parametrize(
    "host",
    [
        "example.com",
        "rondo.example:9180",
        "localhost.example",
        "127.0.0.1.example",
        "evil",
        "[::1].example",
    ],
)
def test_a_host_that_is_not_ours_is_refused(node, host):
    for path in ("/api/v1/status", "/metrics", "/health/live"):
        status, text, _ = ask(over_tcp(node), "GET", path, {"Host": host})
        assert status == 403 and "cluster_id" not in text


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:9180", "127.0.0.1:9180", "[::1]:9180", "10.1.2.3"]
)
def test_addresses_and_localhost_are_taken(node, host):
    assert ask(over_tcp(node), "GET", "/api/v1/status", {"Host": host})[0] == 200


def test_a_page_elsewhere_cannot_make_a_browser_act(node):
    status, *_ = ask(
        over_tcp(node), "POST", "/api/v1/ops/flush", {"Origin": "http://example.com"}, body="{}"
    )
    assert status == 403
    answer = ask(over_tcp(node), "GET", "/api/v1/status", {"Origin": "http://example.com"})
    assert "Access-Control-Allow-Origin" not in answer[2]


def test_what_is_not_there(node):
    status, text, _ = ask(over_tcp(node), "GET", "/api/v1/nothing")
    assert status == 404 and "/api/v1/status" in text
    assert ask(over_tcp(node), "GET", "/api/v1/status?x=1")[0] == 200


def test_http_that_is_none(node):
    for data in (
        b"\x16\x03\x01\x02\x00",
        b"nonsense\r\n\r\n",
        b"GET\r\n\r\n",
        b"\0" * 100,
        b"\x04\0\0\0\x05\0\0\0\0",
    ):
        assert raw(node, data).startswith((b"HTTP/1.1 400", b"")), data
        assert not raw(node, data) or raw(node, data).startswith(b"HTTP/1.1 400"), data
    for data in (
        b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: " + b"y" * 100000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20000 + b"\r\n",
    ):
        try:
            got = raw(node, data)
        except (BrokenPipeError, ConnectionResetError):
            got = b""
        assert not got.startswith(b"HTTP/1.1 200"), data[:20]
    for cut in range(1, 40):
        with socket.create_connection((node.address, ADMIN_PORT), timeout=20) as s:
            s.sendall(b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n"[:cut])
    assert ask(over_tcp(node), "GET", "/health/live")[0] == 200


def test_a_request_byte_by_byte(node):
    with socket.create_connection((node.address, ADMIN_PORT), timeout=20) as s:
        for byte in b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n":
            s.sendall(bytes([byte]))
        got = b""
        while more := s.recv(4096):
            got += more
    assert got.startswith(b"HTTP/1.1 200") and got.endswith(b"alive\n")

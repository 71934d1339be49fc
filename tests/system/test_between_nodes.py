"""What comes over the port between nodes and is not what a node says; and nodes that fall silent.

A bad frame drops its connection, is counted, and logged once; nothing wrong is ever stored.
"""

import os
import random
import re
import signal
import socket
import struct
import threading

import pytest
import wire_client as w
from journal_file import crc32c
from ring import STORAGE_PORT, Ring, free_prefix, until
from wire_client import Client, Failure


def metric(node, name):
    return float(re.search(rf"^rondo_{name}(?:_total)? (\S+)$", node.get("/metrics"), re.M)[1])


def log_lines(node, event):
    return [
        line
        for line in (node.folder / "rondod.log").read_text().splitlines()
        if f" {event} " in line
    ]


def is_closed(s):
    try:
        while s.recv(4096):
            pass
        return True
    except ConnectionResetError:
        return True


@pytest.fixture(scope="module")
def ring():
    with Ring(nodes=3, shards=2) as ring:
        with Client(ring.addresses[0]).startup() as c:
            c.create_keyspace("k", 3)
            c.query("CREATE TABLE k.t (k int PRIMARY KEY, v text)")
        yield ring


def frame(body, length=None, crc=None):
    prefix = struct.pack(
        ">II", len(body) if length is None else length, crc32c(body) if crc is None else crc
    )
    return prefix + struct.pack(">I", crc32c(prefix)) + body


GARBAGE = {
    "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "CQL": w.envelope(4, w.OPTIONS) * 20,
    "zeros": bytes(4096),
    "ones": b"\xff" * 4096,
    "a length of 2 GiB": frame(b"x" * 100, length=0x7FFFFFFF),
    "a prefix that does not hold": b"\0\0\0\x20" + b"x" * 100,
    "a wrong checksum": frame(b"\x96\x00\x01\x00\x00\xc0\x00", crc=1),
    "msgpack that is none": frame(b"\xc1" * 64),
    "a head that is cut off": frame(b"\x96\x00\x01"),
    "no hello": frame(b"\x96\x05\x01\x00\xcd\x03\xe8\xc0\x00" + b"body"),
    "a hello of nothing": frame(b"\x96\x00\x01\x00\xcd\x03\xe8\xc0\x00"),
    "an answer to nothing": frame(b"\x94\xc0\x01\x00\x00" + b"body"),
    "arrays without end": frame(b"\xdd\xff\xff\xff\xff" * 20),
    "deep nesting": frame(b"\x91" * 10000),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_dropped_and_counted(ring, name):
    node = ring.node(1)
    bad, rss = metric(node, "peer_bad_frames"), node.rss_mib()
    for _ in range(20):
        with socket.create_connection((node.address, STORAGE_PORT), timeout=30) as s:
            s.sendall(GARBAGE[name])
            s.shutdown(socket.SHUT_WR)
            assert is_closed(s)
    until(lambda: metric(node, "peer_bad_frames") >= bad + 20)
    assert len(log_lines(node, "peer_bad_hello") + log_lines(node, "peer_bad_frame")) <= 2
    assert node.rss_mib() - rss < 16
    ring.wait_up(1, 2, 3)


def test_connections_that_say_nothing(ring):
    node, rss = ring.node(2), ring.node(2).rss_mib()
    held = [socket.create_connection((node.address, STORAGE_PORT), timeout=30) for _ in range(300)]
    for i, s in enumerate(held):
        s.sendall(frame(b"\x96\x00\x01\x00\x00\xc0\x00")[: i % 15])
    with Client(node.address).startup() as c:
        assert c.query("INSERT INTO k.t (k, v) VALUES (0, 'x')", consistency=w.ALL).kind == "void"
    for s in held:
        s.close()
    assert node.rss_mib() - rss < 48
    ring.wait_up(1, 2, 3)


class Proxy:
    """Stands between nodes and one of them; flips a bit of what passes when it is told to."""

    def __init__(self, at, to, seed):
        self.to, self.chance, self.rate, self.flips = to, random.Random(seed), 0.0, 0
        self.listener = socket.create_server((at, STORAGE_PORT))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            try:
                other = socket.create_connection((self.to, STORAGE_PORT))
            except OSError:
                one.close()
                continue
            for a, b in ((one, other), (other, one)):
                threading.Thread(target=self.pump, args=(a, b), daemon=True).start()

    def pump(self, a, b):
        try:
            while data := a.recv(1 << 16):
                if self.chance.random() < self.rate:
                    data = bytearray(data)
                    data[self.chance.randrange(len(data))] ^= 1 << self.chance.randrange(8)
                    self.flips += 1
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def test_flipped_bits_between_nodes_are_never_believed():
    seed = int(os.environ.get("RONDO_SEED", random.randrange(1 << 32)))
    print("RONDO_SEED =", seed)
    ring = Ring(nodes=3, shards=2)
    outside = free_prefix(1) + ".1"
    proxy = Proxy(outside, ring.addresses[2], seed)
    try:
        for node in ring.nodes:
            node.configure(
                seeds=[*ring.addresses[:2], outside],
                **({"broadcast_address": outside} if node.number == 3 else {}),
            )
            node.start()
        for node in ring.nodes:
            until(node.is_serving)
        real, ring.addresses = ring.addresses, [*ring.addresses[:2], outside]
        ring.wait_up(1, 2, 3)
        acknowledged = {}
        with Client(real[0]).startup() as c:
            c.create_keyspace("k", 3)
            c.query("CREATE TABLE k.t (k int PRIMARY KEY, v text)")
            insert = c.prepare("INSERT INTO k.t (k, v) VALUES (?, ?)")
            proxy.rate, k = 0.05, 0
            while proxy.flips < 40:
                value = f"{k} " * 50
                try:
                    c.execute(insert, struct.pack(">i", k), value.encode(), consistency=w.QUORUM)
                    acknowledged[k] = value
                except Failure as failure:
                    assert failure.code in (w.UNAVAILABLE, 0x1100, 0x1500), str(failure)
                k += 1
            proxy.rate = 0
            ring.wait_up(1, 2, 3)
            for k, value in acknowledged.items():
                (row,) = c.query(
                    "SELECT v FROM k.t WHERE k = ?", struct.pack(">i", k), consistency=w.ALL
                ).rows
                assert row["v"] == value
        assert sum(metric(node, "peer_bad_frames") for node in ring.nodes) >= 10
        for node in ring.nodes:
            assert len(log_lines(node, "peer_bad_frame")) <= 2
    finally:
        proxy.listener.close()
        ring.__exit__()


def test_a_node_that_falls_silent_first_costs_a_timeout_then_counts_as_down():
    with Ring(
        nodes=3,
        write_request_timeout="300ms",
        read_request_timeout="300ms",
        range_request_timeout="300ms",
    ) as ring:
        with Client(ring.addresses[0]).startup() as c:
            c.create_keyspace("k", 3)
            c.query("CREATE TABLE k.t (k int PRIMARY KEY, v text)")
            c.query("INSERT INTO k.t (k, v) VALUES (1, 'a')", consistency=w.ALL)
            ring.node(3).process.send_signal(signal.SIGSTOP)
            try:
                with pytest.raises(Failure) as caught:
                    c.query("INSERT INTO k.t (k, v) VALUES (1, 'b')", consistency=w.ALL)
                refused = caught.value
                assert (
                    refused.code,
                    refused.consistency,
                    refused.received,
                    refused.required,
                    refused.last,
                ) == (0x1100, w.ALL, 2, 3, "SIMPLE"), str(refused)
                with pytest.raises(Failure) as caught:
                    c.query("SELECT v FROM k.t WHERE k = 1", consistency=w.ALL)
                refused = caught.value
                assert (refused.code, refused.consistency, refused.received, refused.required) == (
                    0x1200,
                    w.ALL,
                    2,
                    3,
                ), str(refused)
                ring.wait_up(1, 2)
                assert c.query("SELECT v FROM k.t WHERE k = 1", consistency=w.QUORUM).rows == [
                    {"v": "b"}
                ]
                with pytest.raises(Failure) as caught:
                    c.query("SELECT v FROM k.t WHERE k = 1", consistency=w.ALL)
                assert caught.value.code == w.UNAVAILABLE
            finally:
                ring.node(3).process.send_signal(signal.SIGCONT)
            ring.wait_up(1, 2, 3)
            c.query("INSERT INTO k.t (k, v) VALUES (1, 'c')", consistency=w.ALL)
            assert c.query("SELECT v FROM k.t WHERE k = 1", consistency=w.ALL).rows == [{"v": "c"}]

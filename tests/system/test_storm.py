"""A storm over three real nodes: killed, stopped, paused, started again with other shards, all at
once with writes, deletes, reads and schema changes by many clients.

What a QUORUM read may see is known for every row: the last acknowledged value, or one of the writes
after it whose outcome nobody knows.  The simulator does this by the thousand; here are the real
sockets, disks and threads.  RONDO_SEED repeats the draws (not the timing); RONDO_LONG=1 is longer.
"""

import os
import random
import signal
import struct
import threading
import time

import wire_client as w
from ring import Ring, until
from wire_client import Client, Closed, Failure

SECONDS = 120 if os.environ.get("RONDO_LONG") == "1" else 15
UNSURE = (w.UNAVAILABLE, 0x1100, 0x1200, 0x1300, 0x1500, w.OVERLOADED)


class User(threading.Thread):
    """One client with rows of its own."""

    def __init__(self, ring, number, seed):
        super().__init__(daemon=True)
        self.ring, self.number, self.chance = ring, number, random.Random(seed + number)
        self.over, self.known, self.acknowledged, self.wrong = threading.Event(), {}, 0, None

    def run(self):
        while not (self.over.is_set() or self.wrong):
            address = self.chance.choice(self.ring.addresses)
            wire = self.chance.choice([(4, None), (4, "lz4"), (5, None), (5, "lz4")])
            try:
                with Client(address, *wire, timeout=30).startup() as c:
                    self.visit(c)
            except (OSError, Closed):
                self.over.wait(0.02)
            except Failure as failure:
                self.wrong = failure.code not in UNSURE and str(failure)

    def visit(self, c):
        insert = c.prepare("INSERT INTO k.t (k, c, v) VALUES (?, ?, ?)")
        delete = c.prepare("DELETE FROM k.t WHERE k = ? AND c = ?")
        select = c.prepare("SELECT v FROM k.t WHERE k = ? AND c = ?")
        for _ in range(self.chance.randrange(20, 200)):
            if self.over.is_set() or self.wrong:
                return
            row = self.number * 1000 + self.chance.randrange(30), self.chance.randrange(20)
            key = [struct.pack(">i", n) for n in row]
            kind = self.chance.choice(["insert"] * 5 + ["delete"] + ["select"] * 4)
            if kind == "select":
                self.look(row, c.execute(select, *key, consistency=w.QUORUM).rows)
                continue
            value = None
            if kind == "insert":
                word = f"{self.number}-{self.acknowledged} "
                value = word * self.chance.choice([1, 1, 1, 100, 3000])
            self.known.setdefault(row, [None]).append(value)  # from here on it may be there
            if value is None:
                c.execute(delete, *key, consistency=w.QUORUM)
            else:
                c.execute(insert, *key, value.encode(), consistency=w.QUORUM)
            self.known[row] = [value]
            self.acknowledged += 1

    def look(self, row, found):
        seen = found[0]["v"] if found else None
        if seen not in self.known.get(row, [None]):
            self.wrong = f"row {row} is {str(seen)[:40]}"


def change_schema(ring, chance):
    name = f"k.x{chance.randrange(6)}"
    text = chance.choice([f"CREATE TABLE IF NOT EXISTS {name} (k int PRIMARY KEY, v text)",
                          f"DROP TABLE IF EXISTS {name}"])
    try:
        with Client(chance.choice(ring.addresses), timeout=30).startup() as c:
            c.query(text)
    except Failure as failure:
        assert failure.code in UNSURE, str(failure)
    except (OSError, Closed):
        pass


def kill_all(ring, chance):
    for node in ring.nodes:
        node.kill()
    for node in ring.nodes:
        node.configure(shards=chance.choice([1, 2, 3]))
        node.start()
    for node in ring.nodes:
        until(node.is_serving)


def trouble(ring, chance):
    """One thing that happens to a ring; at any moment, so pauses are of any length."""
    number = chance.randrange(1, 4)
    node = ring.node(number)
    kind = chance.choice(["kill", "kill", "stop", "pause", "kill all", "schema", "schema"])
    time.sleep(chance.random() * 0.5)
    if kind == "schema":
        change_schema(ring, chance)
    elif kind == "kill all":
        kill_all(ring, chance)
    elif kind == "pause":
        node.process.send_signal(signal.SIGSTOP)
        time.sleep(chance.random() * 3)
        node.process.send_signal(signal.SIGCONT)
    else:
        if kind == "kill":
            node.kill()
        else:
            assert node.stop(deadline=30) == 0
        time.sleep(chance.random())
        node.configure(shards=chance.choice([1, 2, 3]))
        ring.restart(number)
    if chance.random() < 0.7:
        ring.wait_up(1, 2, 3)


def test_a_storm():
    seed = int(os.environ.get("RONDO_SEED", random.randrange(1 << 32)))
    print("RONDO_SEED =", seed)
    chance = random.Random(seed)
    with Ring(nodes=3, shards=2, commitlog_segment_size="1MiB", memory_limit="2GiB") as ring:
        with Client(ring.addresses[0]).startup() as c:
            c.create_keyspace("k", 3)
            c.query("CREATE TABLE k.t (k int, c int, v text, PRIMARY KEY (k, c)) "
                    "WITH CLUSTERING ORDER BY (c DESC)")
        users = [User(ring, n, seed) for n in range(5)]
        for user in users:
            user.start()
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not any(user.wrong for user in users):
            trouble(ring, chance)
        ring.wait_up(1, 2, 3)
        for user in users:
            user.over.set()
        for user in users:
            user.join()
        assert not [user.wrong for user in users if user.wrong]
        assert all(user.acknowledged > 100 for user in users)
        for address in ring.addresses:
            with Client(address).startup() as c:
                rows = list(c.pages(lambda **p: c.query(
                    "SELECT k, c, v FROM k.t", consistency=w.QUORUM, **p), 50))
            found = {(r["k"], r["c"]): r["v"] for r in rows}
            assert len(found) == len(rows), "a row came twice"
            for user in users:
                for row, known in user.known.items():
                    assert found.get(row) in known, f"row {row}"
        assert len({node.status()["schema_version"] for node in ring.nodes}) == 1

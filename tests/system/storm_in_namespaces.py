"""Three nodes in network namespaces, clients by the Python driver, faults drawn from a seed.

    unshare --net --mount --propagation private \\
        /usr/bin/python3 tests/system/storm_in_namespaces.py --seconds 60 [--seed N]

Partitions (of one or both ways), SIGKILL, SIGSTOP and slow disks overlap while writers, deleters and
readers work at QUORUM; then all is healed, and the history is checked (tests/lib/history.py), the
hints have to drain, and the three copies have to become equal.  Prints what happened; exit code 1
when something was wrong.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from cassandra import ConsistencyLevel, CoordinationFailure, OperationTimedOut, Timeout, Unavailable  # noqa: E402
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable  # noqa: E402
from cassandra.connection import ConnectionBusy, ConnectionException  # noqa: E402
from cassandra.policies import (ConstantReconnectionPolicy, FallthroughRetryPolicy, RoundRobinPolicy,  # noqa: E402
                                WhiteListRoundRobinPolicy)
from cassandra.pool import NoConnectionsAvailable  # noqa: E402
from cassandra.protocol import IsBootstrappingErrorMessage, OverloadedErrorMessage  # noqa: E402
from history import History  # noqa: E402
from namespaces import Network  # noqa: E402
from ring import BUILD, until  # noqa: E402

# What a client may be told in a storm without knowing whether it was done; anything else is a fault.
UNKNOWN = (Timeout, CoordinationFailure, OperationTimedOut, NoHostAvailable, ConnectionException, ConnectionBusy,
           NoConnectionsAvailable, OverloadedErrorMessage, IsBootstrappingErrorMessage)
KEYS, CLUSTERINGS, WRITERS, READERS = 6, 8, 4, 4


def connected(hosts, level, policy):
    profile = ExecutionProfile(policy, FallthroughRetryPolicy(), level, request_timeout=8)
    cluster = Cluster(hosts, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, protocol_version=4,
                      reconnection_policy=ConstantReconnectionPolicy(0.5, None), connect_timeout=4)
    return cluster, cluster.connect()


class Client(threading.Thread):
    """Asks one thing after another until it is told to end."""

    def __init__(self, storm, number, session):
        super().__init__(daemon=True)
        self.storm, self.session = storm, session
        self.random = random.Random(storm.seed * 1000 + number)
        self.number = number

    def run(self):
        try:
            while not self.storm.is_over.is_set():
                self.ask(self.random.randrange(KEYS), self.random.randrange(CLUSTERINGS))
        except Exception:
            self.storm.broken.append(traceback.format_exc())

    def ends(self, what):
        """Runs it; how it ended, and what it gave."""
        try:
            return "acknowledged", what()
        except Unavailable:
            return "refused", None
        except UNKNOWN:
            return "unknown", None


class Writer(Client):
    def ask(self, key, clustering):
        is_delete = self.random.random() < 0.2
        value = None if is_delete else f"{self.number}:{time.monotonic_ns()}"
        event = self.storm.history.begins("delete" if is_delete else "write", (key, clustering), value)
        if is_delete:
            words = f"DELETE FROM k.t USING TIMESTAMP {event.stamp} WHERE k = %s AND c = %s"
            given = (key, clustering)
        else:
            words = f"INSERT INTO k.t (k, c, v) VALUES (%s, %s, %s) USING TIMESTAMP {event.stamp}"
            given = (key, clustering, value)
        outcome, _ = self.ends(lambda: self.session.execute(words, given))
        self.storm.history.ends(event, outcome)


class Reader(Client):
    def ask(self, key, clustering):
        history = self.storm.history
        if self.random.random() < 0.7:
            event = history.begins("read", (key, clustering))
            words = "SELECT v FROM k.t WHERE k = %s AND c = %s"
            outcome, rows = self.ends(lambda: list(self.session.execute(words, (key, clustering))))
            history.ends(event, *answer(outcome, rows[0].v if rows else None))
            return
        events = {c: history.begins("read", (key, c)) for c in range(CLUSTERINGS)}
        outcome, rows = self.ends(lambda: list(self.session.execute(
            "SELECT c, v FROM k.t WHERE k = %s", (key,))))
        found = {row.c: row.v for row in rows or []}
        for c, event in events.items():
            history.ends(event, *answer(outcome, found.get(c)))


def answer(outcome, value):
    return ("answered", value) if outcome == "acknowledged" else ("unknown", None)


class Storm:
    def __init__(self, network, seed, seconds):
        self.network, self.seed, self.seconds = network, seed, seconds
        self.random, self.history, self.is_over = random.Random(seed), History(), threading.Event()
        self.broken = []  # what ended a client

    def note(self, words):
        print(f"{time.monotonic() - self.began:7.1f} s  {words}", flush=True)

    def fault(self):
        """One more; at most one node is cut off or stopped at a time, disks may be slow as well."""
        network, n = self.network, self.random.randint(1, 3)
        others = [m for m in (1, 2, 3) if m != n]
        kind = self.random.choice(["kill", "stop", "part", "deafen", "mute", "slow"])
        if kind == "kill":
            network.ring.kill(n)
        elif kind == "stop":
            network.stop(n)
        elif kind == "part":
            network.part(n)
        elif kind == "deafen":
            network.deafen(n, self.random.choice(others))
        elif kind == "mute":
            network.deafen(self.random.choice(others), n)
        else:
            network.slow_disk(n, self.random.choice([5, 50, 500]))
        self.note(f"{kind} node {n}")

    def blow(self):
        self.began = time.monotonic()
        while time.monotonic() < self.began + self.seconds:
            for _ in range(self.random.randint(1, 2)):
                self.fault()
            self.is_over.wait(self.random.uniform(1, 6))
            started = self.network.heal()
            self.note("healed" + "".join(f", node {n} started" for n in started))
            self.is_over.wait(self.random.uniform(0.5, 3))

    def run(self):
        cluster, session = connected(self.network.ring.addresses, ConsistencyLevel.QUORUM,
                                     RoundRobinPolicy())
        session.execute("CREATE KEYSPACE k WITH replication = "
                        "{'class': 'SimpleStrategy', 'replication_factor': 3}")
        session.execute("CREATE TABLE k.t (k int, c int, v text, PRIMARY KEY (k, c))")
        clients = [Writer(self, n, session) for n in range(WRITERS)]
        clients += [Reader(self, WRITERS + n, session) for n in range(READERS)]
        for client in clients:
            client.start()
        self.blow()
        self.is_over.set()
        for client in clients:
            client.join(60)
        assert not any(client.is_alive() for client in clients), "a client was not answered"
        assert not self.broken, self.broken[0]
        cluster.shutdown()


# ---- after the storm ----

def pending_hints(host):
    done = subprocess.run([BUILD / "rondo", "hints", "--host", host, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return sum(t["pending"] for t in json.loads(done.stdout)["targets"])


def rows_of(hosts, level):
    cluster, session = connected(hosts, level, WhiteListRoundRobinPolicy(hosts))
    rows = {(r.k, r.c): (r.v, r.w) for r in
            session.execute("SELECT k, c, v, writetime(v) AS w FROM k.t")}
    cluster.shutdown()
    return rows


def converge(storm):
    """Hints drain, then a read at ALL repairs what a coordinator that died has left; then each copy,
    as its own node tells it while the others are dead, is the same."""
    ring = storm.network.ring
    for node in ring.nodes:
        until(node.is_serving)
    ring.wait_up(1, 2, 3)
    until(lambda: all(pending_hints(address) == 0 for address in ring.addresses), deadline=120)
    whole = rows_of(ring.addresses, ConsistencyLevel.ALL)
    for number in ring.each_alone():
        address = ring.addresses[number - 1]
        own = rows_of([address], ConsistencyLevel.ONE)
        assert own == whole, f"{address} differs: {sorted(own.items() ^ whole.items())[:6]}"
    return len(whole)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=None)
    asked = p.parse_args()
    seed = asked.seed if asked.seed is not None else random.randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    with Network(shards=2, write_request_timeout="2s", read_request_timeout="3s") as network:
        storm = Storm(network, seed, asked.seconds)
        storm.run()
        faults, counts = storm.history.faults(), storm.history.counts()
        print(json.dumps(counts), flush=True)
        for fault in faults[:10]:
            print(fault, flush=True)
        print(f"{converge(storm)} rows, the same on all nodes", flush=True)
    assert counts.get("write acknowledged", 0) > 100 and counts.get("read answered", 0) > 100, counts
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""Hinted handoff of real nodes: what one misses is kept, told, held back on demand, and delivered."""
import json
import subprocess

import pytest
from cassandra import ConsistencyLevel
from cassandra.cluster import Cluster
from cassandra.policies import WhiteListRoundRobinPolicy
from cassandra.query import SimpleStatement
from ring import BUILD, ENVIRONMENT, Ring, until

RONDO = BUILD / "rondo"
ROWS = 100


def rondo(node, *words, code=0):
    done = subprocess.run([RONDO, *map(str, words), "--host", node.address], capture_output=True, text=True,
                          env=ENVIRONMENT, timeout=120)
    assert done.returncode == code, f"{words}: exit {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout if code == 0 else done.stderr.strip()


def books(node, *flags):
    done = subprocess.run([RONDO, "hints", "--json", *flags, "--host", node.address], capture_output=True,
                          text=True, env=ENVIRONMENT, timeout=120)
    said = json.loads(done.stdout)
    assert done.returncode == bool(said["silent"]), done.stderr
    told = said["targets"]
    for b in told:
        assert b["written"] == b["delivered"] + b["pending"] + b["expired"] + sum(b["dropped"].values()), b
    return told


def total(node, what):
    return sum(b[what] for b in books(node))


def write(node, first, count, level):
    """Through this node, whatever others there are."""
    alone = WhiteListRoundRobinPolicy([node.address])
    with Cluster([node.address], load_balancing_policy=alone) as cluster:
        session = cluster.connect()
        for i in range(first, first + count):
            session.execute(SimpleStatement(f"INSERT INTO k.t (k, v) VALUES ({i}, 'x{i}')", consistency_level=level))


@pytest.fixture(scope="module")
def ring():
    with Ring(nodes=3, shards=2) as started:
        with Cluster([started.addresses[0]]) as cluster:
            session = cluster.connect()
            session.execute("CREATE KEYSPACE k WITH replication = "
                            "{'class': 'SimpleStrategy', 'replication_factor': 3}")
            session.execute("CREATE TABLE k.t (k int PRIMARY KEY, v text)")
        yield started


def rows_of(node):
    """What this node has by itself: it is asked at ONE, and reads its own copy."""
    said = rondo(node, "query", "--json", "--consistency", "ONE", "SELECT k, v FROM k.t")
    return sorted(said.splitlines())


def test_what_a_node_missed_is_kept_told_and_delivered(ring):
    one = ring.node(1)
    ring.kill(3)
    until(lambda: ring.sees(1, 1, 2) and ring.sees(2, 1, 2))
    write(one, 0, ROWS, ConsistencyLevel.ONE)
    write(ring.node(2), ROWS, ROWS, ConsistencyLevel.QUORUM)
    until(lambda: total(one, "written") == 2 * ROWS)
    assert total(one, "pending") == 2 * ROWS
    assert {b["target"].split(":")[0] for b in books(one)} == {ring.addresses[2]}
    assert {b["table"] for b in books(one)} == {"k.t"}
    said = rondo(one, "hints", code=1)
    assert said == f"rondo: node 3 ({ring.addresses[2]}:9042) does not answer: what it keeps for others is not in this"
    assert "rondo" not in rondo(one, "hints", "--local")
    assert all(b["node"].startswith(one.address) for b in books(one, "--local"))
    pending = rondo(one, "query", "--json", "SELECT address, status FROM system_views.pending_hints")
    assert json.loads(pending.splitlines()[0]) == {"address": ring.addresses[2], "status": "DOWN"}
    # A coordinator that is started again still has them.
    one.stop()
    one.start()
    until(one.is_serving)
    until(lambda: ring.sees(1, 1, 2) and ring.sees(2, 1, 2))
    assert total(one, "pending") == 2 * ROWS
    rondo(one, "pausehandoff")
    assert rondo(one, "statushandoff") == "Hinted handoff is paused\n"
    ring.restart(3)
    ring.wait_up(1, 2, 3)
    until(lambda: sum(b["pending"] for b in books(ring.node(2), "--local")) == 0)
    assert sum(b["delivered"] for b in books(one, "--local")) == 0
    rondo(one, "resumehandoff")
    until(lambda: total(one, "pending") == 0)
    assert total(one, "delivered") == 2 * ROWS
    # Each copy by itself; the others cannot help it.
    ring.kill(1)
    ring.kill(2)
    until(lambda: ring.sees(3, 3))
    assert len(rows_of(ring.node(3))) == 2 * ROWS
    ring.restart(1)
    ring.restart(2)
    ring.wait_up(1, 2, 3)
    metrics = one.get("/metrics")
    metrics = metrics if isinstance(metrics, str) else metrics.decode()
    assert "rondo_hints_pending 0\n" in metrics


def test_hints_are_given_up_by_hand_and_by_truncate(ring):
    one = ring.node(1)
    before = total(one, "written")
    ring.kill(3)
    until(lambda: ring.sees(1, 1, 2))
    write(one, 1000, 10, ConsistencyLevel.ONE)
    until(lambda: total(one, "written") == before + 10)
    rondo(one, "truncatehints", ring.addresses[2])
    assert [b["dropped"] for b in books(one, "--local")] == [{"by hand": 10}]
    told = json.loads(one.get("/api/v1/divergence"))
    assert told["unknown"] and told["age_ms"] > 0, "nobody knows any more what node 3 misses"
    write(one, 2000, 10, ConsistencyLevel.ONE)
    until(lambda: total(one, "pending") == 10)
    rondo(one, "pausehandoff")
    ring.restart(3)
    ring.wait_up(1, 2, 3)
    rondo(one, "query", "TRUNCATE k.t")
    assert [b["dropped"] for b in books(one, "--local")] == [{"by hand": 10, "truncated": 10}]
    rondo(one, "resumehandoff")
    assert rows_of(ring.node(3)) == []


def test_what_is_asked_wrongly_is_said(ring):
    one = ring.node(1)
    assert "no member of the ring" in rondo(one, "truncatehints", "1.2.3.4", code=1)
    assert "kibibytes is a whole number" in rondo(one, "sethintedhandoffthrottlekb", "fast", code=1)
    rondo(one, "sethintedhandoffthrottlekb", 2048)
    told = json.loads(one.get("/api/v1/hints"))
    assert told["bytes_per_second"] == 2048 * 1024 // 2

"""Where writes are, as real nodes tell it: acknowledged, hinted, refused; what is unknown after that."""
import json
import subprocess

from ring import BUILD, ENVIRONMENT, Ring, until

ROWS = 30


def query(node, text, level="ONE"):
    subprocess.run([BUILD / "rondo", "query", text, "--consistency", level, "--host", node.address], check=True,
                   capture_output=True, env=ENVIRONMENT, timeout=120)


def writes(node):
    """The page's object; the sum holds in each target."""
    told = json.loads(node.get("/api/v1/writes"))
    for t in told["targets"]:
        assert t["sent"] == t["in_flight"] + t["acknowledged"] + t["hinted"] + sum(t["refused"].values()), t
    return told


def target(node, address):
    return next(t for t in writes(node)["targets"] if t["address"].startswith(address + ":"))


def begin(ring):
    query(ring.node(1), "CREATE KEYSPACE k WITH replication = "
                        "{'class': 'SimpleStrategy', 'replication_factor': 3}")
    query(ring.node(1), "CREATE TABLE k.t (k int PRIMARY KEY)")
    ring.kill(3)
    until(lambda: ring.sees(1, 1, 2))
    for k in range(ROWS):
        query(ring.node(1), f"INSERT INTO k.t (k) VALUES ({k})")


def test_a_write_that_a_dead_node_missed_is_hinted_and_nothing_is_unknown():
    with Ring(nodes=3, shards=2) as ring:
        one = ring.node(1)
        dead = ring.addresses[2]
        begin(ring)
        until(lambda: target(one, dead)["hinted"] == ROWS)
        assert target(one, dead)["sent"] == ROWS
        for address in ring.addresses[:2]:
            until(lambda a=address: target(one, a)["acknowledged"] == ROWS)
        until(lambda: writes(one)["owed"]["ranges"] == 0)
        assert writes(one)["unknown"] == []
        assert "rondo_mutations_hinted 30" in one.get("/metrics")


def test_a_refused_hint_makes_its_range_unknown_also_after_a_restart():
    with Ring(nodes=3, shards=2, hinted_handoff_enabled=False) as ring:
        one = ring.node(1)
        dead = ring.addresses[2]
        begin(ring)
        until(lambda: sum(target(one, dead)["refused"].values()) == ROWS)
        assert target(one, dead)["refused"] == {"handoff off": ROWS}
        unknown = {(u["after"], u["upto"]) for u in writes(one)["unknown"]}
        assert unknown
        ring.kill(1)
        one.start()
        until(one.is_serving)
        assert {(u["after"], u["upto"]) for u in writes(one)["unknown"]} >= unknown

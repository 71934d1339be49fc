"""Three real nodes: born together, killed, stopped, moved, told the same by all of them.

Waiting is for events; a clock only bounds how long.
"""

import random
import struct
import threading

import pytest
import wire_client as w
from ring import Node, Ring, free_prefix, until
from wire_client import Client, Closed, Failure

TABLE = "CREATE TABLE k.t (k int PRIMARY KEY, v text)"


def client(ring, node=1, **more):
    return Client(ring.node(node).address, **more).startup()


def ask(ring, node, text, *values, **more):
    with client(ring, node) as c:
        return c.query(text, *values, **more)


def prepared(ring):
    with client(ring) as c:
        c.create_keyspace("k", 3)
        c.query(TABLE)


def number(k):
    return struct.pack(">i", k)


def rows(ring, node, consistency=w.QUORUM):
    with client(ring, node) as c:
        return {
            r["k"]: r["v"]
            for r in c.pages(
                lambda **p: c.query("SELECT k, v FROM k.t", consistency=consistency, **p), 500
            )
        }


# ---- birth ---------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_started_at_the_same_moment_they_form_one_ring(turn):
    with Ring(nodes=3, shards=turn) as ring:
        said = [node.status() for node in ring.nodes]
        assert len({s["cluster_id"] for s in said}) == 1
        assert {s["node"] for s in said} == {1, 2, 3}
        tokens = []
        for node in ring.nodes:
            (local,) = ask(ring, node.number, "SELECT host_id, tokens FROM system.local").rows
            tokens += local["tokens"]
            for other in ring.nodes:
                if other is not node:
                    (peer,) = ask(
                        ring,
                        other.number,
                        "SELECT host_id, tokens FROM system.peers WHERE peer = ?",
                        bytes(map(int, node.address.split("."))),
                    ).rows
                    assert peer == local
        assert len(set(tokens)) == 3 * 16
        for s in said:
            owned = [n["ownership"] for n in s["nodes"]]
            assert all(0.32 < share < 0.345 for share in owned), owned
            assert [(n["host_id"], n["address"], n["ownership"]) for n in s["nodes"]] == [
                (n["host_id"], n["address"], n["ownership"]) for n in said[0]["nodes"]
            ]


def test_the_order_of_starting_does_not_matter():
    ring = Ring(nodes=3)
    try:
        for node in ring.nodes:
            node.configure()
        ring.node(3).start()
        until(lambda: (ring.node(3).folder / "data" / "metadata").exists())
        until(lambda: "1 of 3 seeds have answered, waiting for" in ring.node(3).said())
        assert ring.node(3).process.poll() is None and not ring.node(3).is_serving()
        ring.node(1).start()
        until(lambda: (ring.node(1).folder / "data" / "metadata").exists())
        assert not ring.node(1).is_serving()
        ring.node(2).start()
        for node in ring.nodes:
            until(node.is_serving)
        ring.wait_up(1, 2, 3)
        assert len({node.status()["cluster_id"] for node in ring.nodes}) == 1
    finally:
        ring.__exit__()


def test_killed_while_being_born_they_still_form_one_ring():
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    ring = Ring(nodes=3)
    try:
        for node in ring.nodes:
            node.configure()
            node.start()
        for _ in range(6):
            node = chance.choice(ring.nodes)
            with pytest.raises(Exception):
                node.process.wait(timeout=chance.random() * 0.15)  # any moment is meant
            node.kill()
            node.start()
        for node in ring.nodes:
            until(node.is_serving)
        ring.wait_up(1, 2, 3)
        assert len({node.status()["cluster_id"] for node in ring.nodes}) == 1
    finally:
        ring.__exit__()


# ---- death ---------------------------------------------------------------------------------


class Writer(threading.Thread):
    """Writes at QUORUM through one node, and knows what was acknowledged."""

    def __init__(self, ring, node, first):
        super().__init__()
        self.ring, self.node, self.next = ring, node, first
        self.acknowledged, self.refused, self.over = {}, 0, threading.Event()

    def run(self):
        while not self.over.is_set():
            try:
                with client(self.ring, self.node, timeout=20) as c:
                    insert = c.prepare("INSERT INTO k.t (k, v) VALUES (?, ?)")
                    while not self.over.is_set():
                        k, self.next = self.next, self.next + 1
                        try:
                            c.execute(insert, number(k), b"v%d" % k, consistency=w.QUORUM)
                            self.acknowledged[k] = f"v{k}"
                        except Failure:
                            self.refused += 1
            except (OSError, Closed, Failure):
                self.over.wait(0.05)

    def finish(self):
        self.over.set()
        self.join()


def test_no_acknowledged_write_is_lost_when_a_node_is_killed():
    with Ring(nodes=3, shards=2) as ring:
        prepared(ring)
        writers = [Writer(ring, 1 + i % 3, i * 10_000_000) for i in range(6)]
        for each in writers:
            each.start()

        def more_from(survivors):
            before = {x: len(x.acknowledged) for x in survivors}
            until(lambda: all(len(x.acknowledged) > before[x] + 30 for x in survivors))

        for victim in (3, 1, 2):
            more_from(writers)
            ring.kill(victim)
            more_from([x for x in writers if x.node != victim])
            ring.restart(victim)
            ring.wait_up(1, 2, 3)
        more_from(writers)
        for each in writers:
            each.finish()
        acknowledged = {k: v for x in writers for k, v in x.acknowledged.items()}
        for node in ring.nodes:  # all at once, as a power cut does
            node.kill()
        for node in ring.nodes:
            node.start()
        for node in ring.nodes:
            until(node.is_serving)
        ring.wait_up(1, 2, 3)
        for node in (1, 2, 3):
            found = rows(ring, node)
            lost = {k for k, v in acknowledged.items() if found.get(k) != v}
            assert (
                not lost
            ), f"{len(lost)} of {len(acknowledged)} are not there: {sorted(lost)[:10]}"


def test_a_dead_node_is_noticed_named_and_forgiven():
    with Ring(nodes=3) as ring:
        prepared(ring)
        with client(ring, 1) as events:
            events.register("STATUS_CHANGE")
            ring.kill(3)
            ring.wait_up(1, 2)
            assert events.next_event() == ("STATUS_CHANGE", "DOWN", (ring.addresses[2], 9042))
            insert = "INSERT INTO k.t (k, v) VALUES (1, 'a')"
            assert ask(ring, 1, insert, consistency=w.QUORUM).kind == "void"
            assert ask(ring, 1, "SELECT v FROM k.t WHERE k = 1", consistency=w.QUORUM).rows == [
                {"v": "a"}
            ]
            for text in (insert, "SELECT v FROM k.t WHERE k = 1", "SELECT v FROM k.t"):
                for level in (w.ALL, w.THREE):
                    with pytest.raises(Failure) as caught:
                        ask(ring, 1, text, consistency=level)
                    refused = caught.value
                    assert (refused.code, refused.consistency, refused.required, refused.alive) == (
                        w.UNAVAILABLE,
                        level,
                        3,
                        2,
                    ), str(refused)
            assert ring.addresses[2] in refused.message, "it says which node"
            ring.restart(3)
            ring.wait_up(1, 2, 3)
            assert events.next_event() == ("STATUS_CHANGE", "UP", (ring.addresses[2], 9042))
        assert ask(ring, 3, insert, consistency=w.ALL).kind == "void"
        assert ask(ring, 3, "SELECT v FROM k.t WHERE k = 1", consistency=w.ALL).rows == [{"v": "a"}]


def test_a_schema_change_needs_every_node():
    with Ring(nodes=3) as ring:
        prepared(ring)
        before = ring.node(1).status()["schema_version"]
        ring.kill(2)
        ring.wait_up(1, 3)
        for text in (
            "CREATE TABLE k.u (k int PRIMARY KEY)",
            "DROP TABLE k.t",
            "DROP KEYSPACE k",
            "CREATE KEYSPACE other WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}",
        ):
            for node in (1, 3):
                with pytest.raises(Failure) as caught:
                    ask(ring, node, text)
                assert (caught.value.code, caught.value.required, caught.value.alive) == (
                    w.UNAVAILABLE,
                    3,
                    2,
                )
                assert ring.addresses[1] in caught.value.message
        assert (
            ring.node(1).status()["schema_version"]
            == ring.node(3).status()["schema_version"]
            == before
        )
        ring.restart(2)
        ring.wait_up(1, 2, 3)
        assert ring.node(2).status()["schema_version"] == before
        assert ask(ring, 2, "CREATE TABLE k.u (k int PRIMARY KEY)").change == "CREATED"
        assert len({node.status()["schema_version"] for node in ring.nodes}) == 1


# ---- stopping and starting -----------------------------------------------------------------


def test_everything_is_there_after_a_restart_also_with_other_shards():
    with Ring(nodes=3, shards=2) as ring:
        prepared(ring)
        with client(ring, 1) as c:
            insert = c.prepare("INSERT INTO k.t (k, v) VALUES (?, ?)")
            for k in range(1000):
                c.execute(insert, number(k), b"v%d" % k, consistency=w.QUORUM)
            c.query("DELETE FROM k.t WHERE k = 7", consistency=w.ALL)
            c.query("UPDATE k.t SET v = 'new' WHERE k = 8", consistency=w.ALL)
        expected = {k: f"v{k}" for k in range(1000) if k != 7} | {8: "new"}
        ids = {n["host_id"]: n["address"] for n in ring.node(1).status()["nodes"]}
        cluster = ring.node(1).status()["cluster_id"]
        tokens = [ask(ring, n, "SELECT tokens FROM system.local").rows for n in (1, 2, 3)]
        for shards in ([2, 2, 2], [1, 3, 2], [3, 1, 1], [2, 2, 2]):
            assert [node.stop() for node in ring.nodes] == [0, 0, 0]
            for node, count in zip(ring.nodes, shards):
                node.configure(shards=count)
                node.start()
            for node in ring.nodes:
                until(node.is_serving)
            ring.wait_up(1, 2, 3)
            for node in (1, 2, 3):
                assert rows(ring, node) == expected
            said = ring.node(2).status()
            assert (said["cluster_id"], {n["host_id"]: n["address"] for n in said["nodes"]}) == (
                cluster,
                ids,
            )
            assert [
                ask(ring, n, "SELECT tokens FROM system.local").rows for n in (1, 2, 3)
            ] == tokens
            assert ask(ring, 1, "SELECT v FROM k.t WHERE k = 8", consistency=w.ALL).rows == [
                {"v": "new"}
            ]


def test_a_stop_takes_seconds_also_with_clients_and_requests():
    with Ring(nodes=3, shards=2) as ring:
        prepared(ring)
        idle = [client(ring, 1) for _ in range(50)]
        writers = [Writer(ring, 1, i * 1000000) for i in range(4)]
        for each in writers:
            each.start()
        until(lambda: all(len(x.acknowledged) > 20 for x in writers))
        assert ring.node(1).stop(deadline=15) == 0
        for each in writers:
            each.finish()
        for c in idle:
            assert c.is_closed()
        ring.restart(1)
        ring.wait_up(1, 2, 3)
        found = rows(ring, 1)
        assert all(found.get(k) == v for x in writers for k, v in x.acknowledged.items())


def test_a_node_comes_back_with_another_address():
    with Ring(nodes=3) as ring:
        prepared(ring)
        ask(ring, 1, "INSERT INTO k.t (k, v) VALUES (1, 'a')", consistency=w.ALL)
        host_id = ask(ring, 3, "SELECT host_id FROM system.local").rows[0]["host_id"]
        assert ring.node(3).stop() == 0
        moved = ring.node(3)
        moved.address = free_prefix(1) + ".1"
        old, ring.addresses[2] = ring.addresses[2], moved.address
        moved.configure(seeds=ring.addresses)
        ring.restart(3)
        ring.wait_up(1, 2, 3)
        for node in (1, 2):
            peers = {
                r["peer"]: r
                for r in ask(ring, node, "SELECT peer, host_id, rpc_address FROM system.peers").rows
            }
            assert old not in peers and peers[moved.address]["host_id"] == host_id
            assert peers[moved.address]["rpc_address"] == moved.address
        assert ask(ring, 3, "SELECT v FROM k.t WHERE k = 1", consistency=w.ALL).rows == [{"v": "a"}]
        assert ask(ring, 1, "CREATE TABLE k.u (k int PRIMARY KEY)").change == "CREATED"
        for node in (1, 2):  # they know it also after their own restart, from their own folder
            assert ring.node(node).stop() == 0
            ring.restart(node)
        ring.wait_up(1, 2, 3)


def test_all_nodes_come_back_with_other_addresses():
    with Ring(nodes=3) as ring:
        prepared(ring)
        ask(ring, 1, "INSERT INTO k.t (k, v) VALUES (1, 'a')", consistency=w.ALL)
        assert [node.stop() for node in ring.nodes] == [0, 0, 0]
        prefix = free_prefix(3)
        ring.addresses = [f"{prefix}.{n}" for n in (1, 2, 3)]
        for node, address in zip(ring.nodes, ring.addresses):
            node.address = address
            node.configure()
            node.start()
        for node in ring.nodes:
            until(node.is_serving)
        ring.wait_up(1, 2, 3)
        for node in (1, 2, 3):
            assert ask(ring, node, "SELECT v FROM k.t WHERE k = 1", consistency=w.ALL).rows == [
                {"v": "a"}
            ]
            assert {
                r["peer"] for r in ask(ring, node, "SELECT peer FROM system.peers").rows
            } == set(ring.addresses) - {ring.addresses[node - 1]}


# ---- everyone at once ----------------------------------------------------------------------


def at_once(*runs):
    """Runs them in threads that start together; what each returned or raised."""
    gate, said = threading.Barrier(len(runs)), [None] * len(runs)

    def run(i):
        gate.wait()
        try:
            said[i] = runs[i]()
        except Exception as e:
            said[i] = e

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(runs))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return said


def test_the_same_table_from_all_nodes_at_once_is_one_table():
    with Ring(nodes=3, shards=2) as ring:
        clients = [client(ring, node, timeout=60) for node in (1, 2, 3)]
        for turn in range(5):
            name = f"s{turn}"
            said = at_once(
                *[
                    lambda c=c: c.query(
                        f"CREATE KEYSPACE IF NOT EXISTS {name} WITH replication = "
                        "{'class': 'SimpleStrategy', 'replication_factor': 3}"
                    ).kind
                    for c in clients
                ]
            )
            assert sorted(said) == ["change", "void", "void"], said
            said = at_once(
                *[
                    lambda c=c: c.query(
                        f"CREATE TABLE IF NOT EXISTS {name}.t (k int PRIMARY KEY, v text)"
                    ).kind
                    for c in clients
                ]
            )
            assert sorted(said) == ["change", "void", "void"], said
            ids = {
                c.query(f"SELECT id FROM system_schema.tables WHERE keyspace_name = '{name}'").rows[
                    0
                ]["id"]
                for c in clients
            }
            assert len(ids) == 1
            said = at_once(*[lambda c=c: c.query(f"DROP TABLE {name}.t").kind for c in clients])
            assert sorted(str(x) if isinstance(x, str) else hex(x.code) for x in said) == [
                "0x2200",
                "0x2200",
                "change",
            ]
        versions = {
            c.query("SELECT schema_version FROM system.local").rows[0]["schema_version"]
            for c in clients
        }
        assert len(versions) == 1


def test_many_changes_from_all_nodes_at_once():
    with Ring(nodes=3, shards=2) as ring:
        prepared(ring)

        def create(node):
            with client(ring, node, timeout=60) as c:
                return [
                    c.query(f"CREATE TABLE k.n{node}_{i} (k int PRIMARY KEY)").change
                    for i in range(10)
                ]

        assert at_once(*[lambda n=n: create(n) for n in (1, 2, 3)]) == [["CREATED"] * 10] * 3
        seen = [
            {
                r["table_name"]
                for r in ask(
                    ring,
                    node,
                    "SELECT table_name FROM system_schema.tables " "WHERE keyspace_name = 'k'",
                ).rows
            }
            for node in (1, 2, 3)
        ]
        assert seen[0] == seen[1] == seen[2] and len(seen[0]) == 31


# ---- budgets -------------------------------------------------------------------------------


def test_where_nothing_can_be_flushed_writes_are_overloaded_and_reads_go_on():
    with Ring(nodes=1, memtable_heap_space="2MiB") as ring:
        with client(ring) as c:
            c.create_keyspace("k", 1)
            c.query(TABLE)
        in_the_way = ring.node(1).folder / "data" / "k"
        in_the_way.write_text("a file, where the folder of the keyspace is to be made: nothing can be flushed")
        value, written = b"x" * 4000, 0
        with client(ring, 1) as c:
            insert = c.prepare("INSERT INTO k.t (k, v) VALUES (?, ?)")
            with pytest.raises(Failure) as caught:
                while written < 2000:
                    c.execute(insert, number(written), value)
                    written += 1
            assert caught.value.code == w.OVERLOADED
            assert "memtable" in caught.value.message, caught.value.message
            assert 100 < written < 600
            for k in range(written):
                (row,) = c.query("SELECT v FROM k.t WHERE k = ?", number(k)).rows
                assert row["v"] == value.decode()
            assert c.query("SELECT count(*) FROM k.t").rows[0]["count"] == written
            assert ring.node(1).status()["store"]["refusal"]
            assert "writes are refused" in ring.node(1).get("/health/ready")
        assert ring.node(1).stop() == 0
        ring.restart(1)
        assert ask(ring, 1, "SELECT count(*) FROM k.t").rows[0]["count"] == written

"""Three real nodes: who is up for whom, what each has heard, and one that is stopped for a while."""
import json
import os
import signal
import subprocess
import time

import pytest
from ring import BUILD, ENVIRONMENT, Ring, until
from wire_client import Client


@pytest.fixture(scope="module")
def ring():
    with Ring(nodes=3, shards=2) as ring:
        until(lambda: all(up(ring, by) == [True, True, True] for by in (1, 2, 3)))
        yield ring


def up(ring, by):
    return [n["up"] for n in ring.node(by).status()["nodes"]]


def logged(ring, node, word):
    return (ring.node(node).folder / "rondod.log").read_text().count(f" {word} ")


def test_a_node_shows_what_it_has_heard_of_each(ring):
    def heard(*flags):
        return subprocess.run([BUILD / "rondo", "gossipinfo", "--host", ring.addresses[1], *flags],
                              capture_output=True, text=True, env=ENVIRONMENT, check=True, timeout=60).stdout

    def is_whole(n):
        return (n["up"] and n["ready"] and n["heartbeat"] > 0 and n["phi"] < 8 and
                ("clock_offset_us" in n or n["node"] == 2) and abs(n.get("clock_offset_us", 0)) < 400000)
    until(lambda: all(map(is_whole, json.loads(heard("--json")))))
    assert [n["node"] for n in json.loads(heard("--json"))] == [1, 2, 3]
    assert heard().count("/127.") == 3 and "  generation:" in heard() and "  phi:" in heard()

    def is_told():
        said = ring.node(1).status()
        return (abs(said["clock_skew_us"]) < 400000 and not said["clock_is_off"] and
                said["counts"]["peer_gossips"] > 0 and said["counts"]["clock_skew_us"] < 400000)
    until(is_told)
    with Client(ring.addresses[0]).startup() as c:
        assert len(c.query("SELECT * FROM system_views.gossip_info").rows) == 3


def test_a_node_that_was_stopped_reads_the_metadata_before_it_answers(ring):
    pid = ring.node(3).process.pid
    with Client(ring.addresses[2]).startup() as c:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(4)  # what is tested is that it takes so long
        os.kill(pid, signal.SIGCONT)
        assert len(c.query("SELECT key FROM system.local").rows) == 1
    until(lambda: logged(ring, 3, "stood_still") and logged(ring, 3, "metadata_read"))
    until(lambda: all(up(ring, by) == [True, True, True] for by in (1, 2, 3)))
    assert logged(ring, 1, "peer_down") == logged(ring, 3, "peer_down") == 0


def test_a_node_that_is_killed_or_stops_is_down_everywhere_and_returns(ring):
    """How soon is sim_liveness's, by virtual time: this machine may be busy."""
    ring.kill(3)
    until(lambda: all(up(ring, by) == [True, True, False] for by in (1, 2)))
    ring.restart(3)
    until(lambda: all(up(ring, by) == [True, True, True] for by in (1, 2, 3)))
    ring.node(2).stop()
    until(lambda: all(up(ring, by) == [True, False, True] for by in (1, 3)))
    ring.restart(2)
    until(lambda: all(up(ring, by) == [True, True, True] for by in (1, 2, 3)))

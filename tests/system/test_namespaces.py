"""Real nodes and real faults: tests/system/storm_in_namespaces.py; and the checker of its history."""
import os
import pathlib
import subprocess

import pytest
from history import History
from namespaces import why_not
from ring import ENVIRONMENT

HERE = pathlib.Path(__file__).resolve().parent


def test_a_minute_of_faults():
    """RONDO_LONG=1: ten minutes."""
    why = why_not()
    if why:
        pytest.skip(f"network namespaces cannot be made here: {why}")
    seconds = 600 if os.environ.get("RONDO_LONG") == "1" else 60
    done = subprocess.run(
        ["unshare", "--net", "--mount", "--propagation", "private", "/usr/bin/python3",
         HERE / "storm_in_namespaces.py", "--seconds", str(seconds)],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=seconds + 400)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


# ---- the checker ----

class Told:
    """A history whose moments are counted."""

    def __init__(self):
        self.now = 0
        self.history = History(clock=self.tick, first_stamp=100)

    def tick(self):
        self.now += 1
        return self.now

    def write(self, value, outcome="acknowledged"):
        event = self.history.begins("write" if value else "delete", "r", value)
        self.history.ends(event, outcome)

    def read(self, value):
        self.history.ends(self.history.begins("read", "r"), "answered", value)


def test_an_honest_history_has_no_faults():
    told = Told()
    told.read(None)
    told.write("a")
    told.read("a")
    told.write("b", "unknown")
    told.read("a")
    told.read("b")  # it may turn up late
    told.write(None, "unknown")
    told.read("b")
    told.read(None)
    told.write("c", "refused")
    told.read(None)
    assert told.history.faults() == []


@pytest.mark.parametrize("then", [["b", "a"], ["b", None], ["a"], ["x"], [None], ["refused"]])
def test_what_a_ring_may_not_tell_is_found(then):
    """Going back to an older version, forgetting one, inventing one, sending what was refused."""
    told = Told()
    told.write("a")
    told.write("refused", "refused")
    told.write("b")
    for value in then:
        told.read(value)
    assert len(told.history.faults()) == 1, told.history.faults()


def test_a_delete_that_came_undone_is_found():
    told = Told()
    told.write("a")
    told.write(None)
    told.read("a")
    assert "older" in told.history.faults()[0]


def test_what_one_read_has_seen_the_next_must_not_lose():
    told = Told()
    told.write("a")
    told.write("b", "unknown")
    told.read("b")
    told.read("a")
    assert len(told.history.faults()) == 1


def test_what_a_read_found_deleted_stays_so():
    told = Told()
    told.write("a")
    told.write(None, "unknown")
    told.read("a")  # not everywhere yet
    told.read(None)
    told.read("a")
    assert len(told.history.faults()) == 1


def test_reads_that_overlap_a_write_may_see_either():
    told = Told()
    told.write("a")
    write = told.history.begins("write", "r", "b")
    told.read("b")
    first = told.history.begins("read", "r")
    told.history.ends(write, "acknowledged")
    told.history.ends(first, "answered", "b")
    assert told.history.faults() == []

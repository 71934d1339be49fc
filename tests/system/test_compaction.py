"""Compactions as a person sees and asks them: what runs, what is due and why, compact, stop, plan, why."""
import contextlib
import json
import os
import re
import subprocess
import time

import pytest
from cassandra.cluster import Cluster
from ring import BUILD, ENVIRONMENT, Ring, until

RONDO = BUILD / "rondo"
UCS = "compaction = {'class': 'UnifiedCompactionStrategy', 'scaling_parameters': '%s'}"
STCS = "compaction = {'class': 'SizeTieredCompactionStrategy'}"
PARTITIONS = 60


def rondo(node, *words, code=0):
    done = subprocess.run([RONDO, *map(str, words), "--host", node.address], capture_output=True, text=True,
                          env=ENVIRONMENT, timeout=120)
    assert done.returncode == code, f"{words}: exit {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout if code == 0 else done.stderr.strip()


def told(node, *words):
    return json.loads(rondo(node, *words, "--json"))


def query(node, text):
    return [json.loads(line) for line in rondo(node, "query", "--json", text).splitlines()]


@pytest.fixture(scope="module", params=[1, 2], ids=["1 shard", "2 shards"])
def ring(request):
    with Ring(nodes=1, shards=request.param) as ring:
        yield ring


@pytest.fixture
def node(ring):
    return ring.node(1)


@contextlib.contextmanager
def session_of(ring):
    with Cluster([ring.node(1).address]) as cluster:
        session = cluster.connect()
        session.execute("CREATE KEYSPACE IF NOT EXISTS k WITH replication = "
                        "{'class': 'SimpleStrategy', 'replication_factor': 1}")
        yield session


@pytest.fixture(scope="module")
def session(ring):
    with session_of(ring) as session:
        yield session


def make(session, table, options):
    session.execute(f"CREATE TABLE k.{table} (a int, b int, c blob, PRIMARY KEY (a, b)) WITH {options}")


def write(node, session, table, rounds=1, value=b"x" * 100):
    """As many files on each shard as rounds, each with every partition."""
    insert = session.prepare(f"INSERT INTO k.{table} (a, b, c) VALUES (?, ?, ?)")
    for r in range(rounds):
        for waits in [session.execute_async(insert, (a, r, value)) for a in range(PARTITIONS)]:
            waits.result()
        rondo(node, "flush", "k", table)


def rows(session, table):
    return sorted((r.a, r.b, r.c) for r in session.execute(f"SELECT * FROM k.{table}"))


def files(node, table):
    return sorted(p.name for p in (node.folder / "data" / "k").glob(f"{table}-*/*-Data.db"))


def compaction(node, table):
    """What compactionstats has of a table."""
    return [t["compaction"] for t in told(node, "compactionstats")["tables"]
            if (t["keyspace"], t["table"]) == ("k", table)][0]


def history(node, table):
    return [c for c in told(node, "compactionhistory")["compactions"] if c["table"] == table]


def switch_off(node, table):
    rondo(node, "autocompaction", "off", "k", table)


def test_compact_merges_the_files_of_a_table_and_is_remembered(ring, node, session):
    make(session, "merged", UCS % "T4")
    write(node, session, "merged", 3)
    before = rows(session, "merged")
    assert len(files(node, "merged")) == 3 * ring.shards
    said = told(node, "compact", "k", "merged")
    result = said["result"]
    assert said["state"] == "done" and said["progress"]["done"] == said["progress"]["total"] > 0
    assert (result["files_before"], result["files_after"]) == (3 * ring.shards, ring.shards)
    assert result["bytes_before"] > result["bytes_after"] > 0
    until(lambda: len(files(node, "merged")) == ring.shards)
    assert rows(session, "merged") == before

    past = history(node, "merged")
    assert len(past) == ring.shards
    assert sum(p["bytes_in"] for p in past) == result["bytes_before"]
    assert sum(p["bytes_out"] for p in past) == result["bytes_after"]
    assert sum(sum(p["rows_merged"].values()) for p in past) == PARTITIONS
    assert {n for p in past for n in p["rows_merged"]} == {"3"}
    assert all(p["strategy"] == "UnifiedCompactionStrategy" and p["reason"] for p in past)
    listed = [r for r in query(node, "SELECT * FROM system.compaction_history") if r["columnfamily_name"] == "merged"]
    assert sorted(r["id"] for r in listed) == sorted(p["id"] for p in past)
    assert {r["keyspace_name"] for r in listed} == {"k"}
    assert sum(r["bytes_out"] for r in listed) == result["bytes_after"]
    shown = rondo(node, "compactionhistory")
    assert past[0]["id"] in shown and "{3:" in shown and "k.merged" in shown
    assert "became" in rondo(node, "compact", "k.merged")


def test_several_tables_are_compacted_in_turn(ring, node, session):
    for table in ("one", "two"):
        make(session, table, UCS % "T8")
        write(node, session, table, 2)
    shown = rondo(node, "compact", "k", "one", "two").splitlines()
    assert [line.split(":")[0] for line in shown] == ["k.one", "k.two"]
    for table in ("one", "two"):
        until(lambda: len(files(node, table)) == ring.shards)


def test_what_is_due_is_shown_by_level_with_its_reason_and_done_when_switched_on(ring, node, session):
    make(session, "due", UCS % "T4")
    switch_off(node, "due")
    write(node, session, "due", 5)
    due = compaction(node, "due")
    assert not due["is_enabled"] and due["is_enabled_by_table"] and due["pending"] == ring.shards
    level = due["levels"][0]
    assert (level["level"], level["setting"], level["files"]) == (0, "T4", 5 * ring.shards)
    assert level["overlap"] == 5 and level["repair_state"] == "unrepaired"
    assert level["pending_bytes"] == level["bytes"] == due["pending_bytes"] > 0 == level["from_bytes"]
    assert level["to_bytes"] > level["bytes"]
    assert {n["kind"] for n in due["next"]} == {"none"} and all("off" in n["reason"] or "disabled" in n["reason"]
                                                                for n in due["next"])
    pending = [r for r in query(node, "SELECT * FROM system_views.compactions_pending") if r["table_name"] == "due"]
    assert [(r["level"], r["files"], r["overlap"], r["setting"]) for r in pending] == [(0, 5 * ring.shards, 5, "T4")]
    assert pending[0]["pending_bytes"] == level["pending_bytes"]
    for shown in (rondo(node, "compactionstats"), rondo(node, "tablestats", "k.due")):
        assert re.search(rf"0 +\| unrepaired \| T4 .*\| +{5 * ring.shards} \|", shown), shown
        assert "nothing next" in shown

    rondo(node, "autocompaction", "on", "k", "due")
    until(lambda: len(files(node, "due")) == ring.shards)
    until(lambda: compaction(node, "due")["pending"] == 0)
    past = history(node, "due")
    assert len(past) == ring.shards and all(p["level"] == 0 and "T4" in p["reason"] for p in past)
    stats = json.loads(node.get("/api/v1/tables/k/due"))["tables"][0]["compaction"]
    assert stats["written_bytes"] == sum(p["bytes_out"] for p in past) and stats["is_enabled"]
    assert "Written by compactions" in rondo(node, "tablestats", "k.due")


def test_autocompaction_has_a_state_for_each_table_and_nodetools_names(node, session):
    make(session, "switched", UCS % "T4")
    make(session, "by_table", "compaction = {'class': 'LeveledCompactionStrategy', 'enabled': 'false'}")

    def state(table):
        shown = rondo(node, "autocompaction", "status", "k", table).splitlines()
        return [cell.strip() for cell in shown[2].split("|")]
    assert state("switched") == ["k", "switched", "running", ""]
    assert state("by_table")[2] == "not running" and "'enabled': false" in state("by_table")[3]
    rondo(node, "disableautocompaction", "k", "switched")
    assert state("switched")[2] == "not running" and "next start" in state("switched")[3]
    assert "not running" in rondo(node, "statusautocompaction", "k.switched")
    rondo(node, "enableautocompaction", "k", "switched")
    assert state("switched")[2] == "running"
    rondo(node, "autocompaction", "off")
    assert state("switched")[2] == "not running"
    make(session, "made_later", UCS % "T4")
    assert state("made_later")[2] == "not running"
    rondo(node, "autocompaction", "on")
    assert state("switched")[2] == state("made_later")[2] == "running"
    assert "no such table" in rondo(node, "autocompaction", "status", "k", "nix", code=1)
    assert "there is no table 'k.nix'" in rondo(node, "autocompaction", "off", "k", "nix", code=1)


@pytest.fixture(params=[1, 2], ids=["1 shard", "2 shards"])
def slow_ring(request):
    with Ring(nodes=1, shards=request.param, compaction_throughput="64KiB/s") as ring:
        yield ring


def start_slowly(node, session):
    """A compaction that would take half a minute, and has begun."""
    make(session, "slow", UCS % "T8")
    write(node, session, "slow", 3, os.urandom(12 * 1024))
    asked = subprocess.Popen([RONDO, "compact", "k", "slow", "--host", node.address], text=True, env=ENVIRONMENT,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: [r for r in told(node, "compactionstats")["running"] if r["eta_seconds"] is not None])
    return asked


def test_a_compaction_is_seen_as_it_runs_and_really_stops(slow_ring):
    node, shards = slow_ring.node(1), slow_ring.shards
    with session_of(slow_ring) as session:
        asked = start_slowly(node, session)
        before, all_rows = files(node, "slow"), rows(session, "slow")
        stats = until(lambda: [s for s in [told(node, "compactionstats")] if all(
            r["eta_seconds"] is not None and r["done_bytes"] for r in s["running"])])[0]
        running = stats["running"]
        assert len(running) == shards and {(r["table"], r["kind"]) for r in running} == {("slow", "compaction")}
        assert stats["limit_bytes_per_second"] == 64 << 10 and stats["bytes_per_second"] > 0
        for r in running:
            assert r["is_asked"] and r["files"] == 3 and 0 < r["done_bytes"] < r["total_bytes"]
            assert r["input_bytes"] > 0 and r["bytes_per_second"] > 0 and r["eta_seconds"] > 0 and r["reason"]
            assert r["id"] % shards == r["shard"] and r["id"] >= shards
        shown = rondo(node, "compactionstats")
        assert "k.slow" in shown and "KiB/s" in shown and re.search(r"\[=*> *\] +\d+%", shown), shown
        tasks = query(node, "SELECT * FROM system_views.sstable_tasks WHERE keyspace_name = 'k'")
        assert {t["task_id"] for t in tasks} == {r["task"] for r in running}
        assert all(t["sstables"] == 3 and t["unit"] == "bytes" and 0 < t["completion_ratio"] < 1 for t in tasks)
        # An operation asks its shards every now and then, so it tells of a first byte later than they do.
        operation = until(lambda: [o for o in json.loads(node.get("/api/v1/ops"))["operations"]
                                   if o["verb"] == "compact" and (o["progress"]["done"] or o["state"] != "running")])[0]
        assert operation["state"] == "running" and operation["progress"]["total"] > operation["progress"]["done"] > 0

        assert "no compaction 999999 runs" in rondo(node, "stop", "COMPACTION", "--id", 999999, code=1)
        begun = time.monotonic()
        assert told(node, "stop", "COMPACTION", "--id", running[0]["id"])["result"]["stopped"] == 1
        if shards > 1:
            assert rondo(node, "stop", "compaction") == "1 compaction stopped\n"
        assert time.monotonic() - begun < 5 and told(node, "compactionstats")["running"] == []
        _, errors = asked.communicate(timeout=30)
        assert asked.returncode == 1 and "stopped" in errors, errors
        assert files(node, "slow") == before and rows(session, "slow") == all_rows
        assert told(node, "compactionstats")["stopped"] == shards and history(node, "slow") == []
        assert rondo(node, "stop", "COMPACTION") == "0 compactions stopped\n"


def test_a_node_that_stops_does_not_wait_for_a_compaction(slow_ring):
    node = slow_ring.node(1)
    with session_of(slow_ring) as session:
        asked = start_slowly(node, session)
        all_rows = rows(session, "slow")
    begun = time.monotonic()
    assert node.stop() == 0 and time.monotonic() - begun < 10
    asked.communicate(timeout=30)
    assert asked.returncode == 1
    slow_ring.restart(1)
    with session_of(slow_ring) as session:
        assert rows(session, "slow") == all_rows


def test_named_files_are_merged_and_no_others(ring, node, session):
    make(session, "named", UCS % "T8")
    write(node, session, "named", 3)
    before = files(node, "named")
    of_a_shard = [f for f in before if (int(f.split("-")[1]) - int(before[0].split("-")[1])) % ring.shards == 0]
    at = next((node.folder / "data" / "k").glob(f"named-*/{of_a_shard[0]}"))
    assert "became" in rondo(node, "compact", "--user-defined", at, of_a_shard[1])
    until(lambda: len(files(node, "named")) == 3 * ring.shards - 1)
    after = files(node, "named")
    assert set(before) - set(after) == set(of_a_shard[:2])
    assert "has gone" in rondo(node, "compact", "--user-defined", of_a_shard[0], code=1)
    rondo(node, "snapshot", "-t", "kept", "k", "named")
    copy = at.parent / "snapshots" / "kept" / after[0]
    assert "is a copy" in rondo(node, "compact", "--user-defined", copy, code=1)
    assert "no name such as" in rondo(node, "compact", "--user-defined", "Data.db", code=1)


def test_a_range_of_tokens_and_a_partition_name_the_files_that_they_touch(ring, node, session):
    make(session, "ranged", UCS % "T8")
    write(node, session, "ranged", 2)
    token = session.execute("SELECT token(a) AS t FROM k.ranged WHERE a = 7").one().t
    least = min(r.t for r in session.execute("SELECT token(a) AS t FROM k.ranged"))
    rondo(node, "compact", "-et", least - 1, "k", "ranged")
    assert len(files(node, "ranged")) == 2 * ring.shards
    rondo(node, "compact", "--partition", 7, "k", "ranged")
    until(lambda: len(files(node, "ranged")) < 2 * ring.shards)
    rondo(node, "compact", "-st", token, "-et", token, "k", "ranged")
    assert "is no value of a" in rondo(node, "compact", "--partition", "seven", "k", "ranged", code=1)
    assert "64 bits" in rondo(node, "compact", "-st", "12x", "k", "ranged", code=1)
    assert "above end_token" in rondo(node, "compact", "-st", "5", "-et", "-5", "k", "ranged", code=1)
    session.execute("CREATE TABLE k.wide (a int, b text, c int, PRIMARY KEY ((a, b), c))")
    assert "2 columns" in rondo(node, "compact", "--partition", "7", "k.wide", code=1)
    rondo(node, "compact", "--partition", "7:seven", "k.wide")


@pytest.mark.parametrize("words", [
    ["compact", "--split-output", "--user-defined", "nb-1-big-Data.db"],
    ["compact", "-s", "-st", "1", "k", "t"],
    ["compact", "-s", "--partition", "1", "k", "t"],
    ["compact", "--user-defined", "-et", "1", "nb-1-big-Data.db"],
    ["compact", "--partition", "1", "-st", "1", "k", "t"],
    ["compact", "--partition", "1", "k"],
    ["compact", "--user-defined"],
    ["compaction", "plan", "k", "t"],
    ["compaction", "why"],
    ["compaction", "sing", "x"],
    ["autocompaction", "maybe"],
    ["setcompactionthroughput", "fast"],
    ["setconcurrentcompactors"],
    ["stop"],
])
def test_what_contradicts_itself_is_one_line_and_2(node, words):
    said = rondo(node, *words, code=2)
    assert said.startswith("rondo: ") and "\n" not in said


def ask(node, verb, form):
    done = subprocess.run(["curl", "-sS", "--unix-socket", node.folder / "data" / "rondo.sock", "-d", form,
                           f"http://localhost/api/v1/ops/{verb}"], check=True, capture_output=True, text=True)
    asked = json.loads(done.stdout)
    return until(lambda: [o for o in [json.loads(node.get(f"/api/v1/ops/{asked['id']}"))]
                          if o["state"] != "running"])[0]


@pytest.mark.parametrize("verb, form, says", [
    ("compact", "splits=true&keyspace=k&start_token=1", "splits goes with whole tables"),
    ("compact", "files=nb-1-big-Data.db&keyspace=k", "by themselves"),
    ("compact", "files=+", "no file is named"),
    ("compact", "keyspace=nix", "no keyspace 'nix'"),
    ("stop", "type=CLEANUP", "COMPACTION can be stopped, not 'CLEANUP'"),
    ("autocompaction", "is_on=maybe", "true or false"),
    ("setcompactionthroughput", "mebibytes=-1", "from 0 to"),
    ("setconcurrentcompactors", "count=0", "from 1 to 1024, not '0'"),
    ("compactionplan", "keyspace=k", "name the table"),
    ("compactionwhy", "file=x", "no name such as"),
])
def test_a_wrong_operation_fails_with_its_sentence(node, verb, form, says):
    said = ask(node, verb, form)
    assert said["state"] == "failed" and says in said["error"], said


def test_split_output_is_for_size_tiered(ring, node, session):
    make(session, "split", STCS)
    write(node, session, "split", 2)
    rondo(node, "compact", "--split-output", "k", "split")
    until(lambda: len(files(node, "split")) == ring.shards)


def test_how_fast_and_how_many_can_be_changed_as_it_runs(ring, node):
    rondo(node, "setcompactionthroughput", 8)
    assert rondo(node, "getcompactionthroughput").startswith("8.0 MiB/s at most")
    assert told(node, "compactionstats")["limit_bytes_per_second"] == 8 << 20
    rondo(node, "setcompactionthroughput", 0)
    assert rondo(node, "getcompactionthroughput").startswith("not limited")
    rondo(node, "setcompactionthroughput", 64)
    was = rondo(node, "getconcurrentcompactors")
    rondo(node, "setconcurrentcompactors", 5)
    assert rondo(node, "getconcurrentcompactors") == "5\n"
    rondo(node, "setconcurrentcompactors", 1)
    assert rondo(node, "getconcurrentcompactors") == f"{ring.shards}\n"
    rondo(node, "setconcurrentcompactors", was.strip())
    assert "from 1 to 1024" in rondo(node, "setconcurrentcompactors", 0, code=1)


def test_a_plan_tells_what_another_setting_would_do_and_changes_nothing(ring, node, session):
    make(session, "planned", UCS % "T8")
    write(node, session, "planned", 3)
    before, shown = files(node, "planned"), compaction(node, "planned")["levels"]
    plan = told(node, "compaction", "plan", "k", "planned", "--with", "L10")["result"]
    assert plan["with"]["scaling_parameters"] == "L10"
    own, other = plan["own"]["settled"], plan["other"]["settled"]
    assert own["compactions"] == own["written_bytes"] == 0 and other["compactions"] == ring.shards
    assert plan["now"]["files"] == own["files"] == 3 * ring.shards and other["files"] == ring.shards
    assert other["written_bytes"] > 0 and other["files_over_a_key"] < own["files_over_a_key"]
    assert other["peak_bytes"] > other["bytes"] > 0
    own, other = plan["own"]["later"], plan["other"]["later"]
    assert plan["flushes"] >= 16 and own["flushed_bytes"] == other["flushed_bytes"] > 0
    assert other["written_bytes"] > own["written_bytes"] and other["files_over_a_key"] < own["files_over_a_key"]
    assert len(plan["steps"]) == ring.shards and all("L10" in s["step"] for s in plan["steps"])
    for with_ in ("LCS", "LeveledCompactionStrategy", "{'class': 'LeveledCompactionStrategy', 'fanout_size': 4}"):
        plan = told(node, "compaction", "plan", "k.planned", "--with", with_)["result"]
        assert plan["with"]["class"].endswith("LeveledCompactionStrategy") and plan["other"]["settled"]["compactions"] > 0
    text = rondo(node, "compaction", "plan", "k", "planned", "--with", "T8")
    assert "files over a key" in text and "rewrites per byte" in text and "nothing is due" in text
    assert files(node, "planned") == before and compaction(node, "planned")["levels"] == shown
    for with_, says in (("L1", "'L1'"), ("{'class': 'Best'}", "unknown class 'Best'"), ("{'class'", "unexpected end"),
                        ("{'class': 'UnifiedCompactionStrategy', 'min_threshold': 4}", "no option 'min_threshold'")):
        said = rondo(node, "compaction", "plan", "k", "planned", "--with", with_, code=1)
        assert says in said and "(line" not in said and "\n" not in said, said
    assert "there is no table" in rondo(node, "compaction", "plan", "k", "nix", "--with", "N", code=1)


def test_why_tells_what_keeps_a_file(ring, node, session):
    make(session, "asked", (UCS % "T8") + " AND gc_grace_seconds = 3600")
    write(node, session, "asked")
    session.execute("DELETE FROM k.asked WHERE a = 1")
    rondo(node, "flush", "k", "asked")
    def why(name):
        said = told(node, "compaction", "why", name)["result"]
        assert (said["keyspace"], said["table"]) == ("k", "asked")
        return "\n".join(w["sentence"] for w in said["why"])
    told_of = [why(name) for name in files(node, "asked")]
    assert sum("without a time to live" in t for t in told_of) == ring.shards
    deletion = [t for t in told_of if "everything in it is deleted" in t]
    assert len(deletion) == 1 and "gc_grace_seconds (3600)" in deletion[0] and "may hold older data" in deletion[0]
    at = next((node.folder / "data" / "k").glob("asked-*/*-Data.db"))
    shown = rondo(node, "compaction", "why", at).splitlines()
    assert shown[0] == "k.asked" and len(shown) > 2
    assert "has gone" in rondo(node, "compaction", "why", "nb-987654-big-Data.db", code=1)
    assert "no name such as" in rondo(node, "compaction", "why", "me", code=1)


def test_compactions_are_counted_for_prometheus(node, session):
    def count(name):
        return int(re.search(rf"^rondo_{name} (\d+)$", node.get("/metrics"), re.M)[1])
    make(session, "counted", UCS % "T8")
    write(node, session, "counted", 2)
    completed, read, written = (count(f"compaction_{n}") for n in ("completed", "bytes_in", "bytes_out"))
    rondo(node, "compact", "k", "counted")
    assert count("compaction_completed") > completed
    past = history(node, "counted")
    assert count("compaction_bytes_in") - read == sum(p["bytes_in"] for p in past)
    assert count("compaction_bytes_out") - written == sum(p["bytes_out"] for p in past)
    assert count("compaction_running") == 0

"""Operations on one node's files: flush, snapshots, import, refresh, cache drop, and what is told of tables."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from cassandra import ReadFailure
from cassandra.cluster import Cluster
from ring import BUILD, ENVIRONMENT, TOP, Ring, until

RONDO = BUILD / "rondo"
GOLDEN = TOP / "tests" / "golden"
# Files of another partitioner; may be absent (tests/unit/sstable/golden.h looks there too).
GIVEN = pathlib.Path(os.environ.get("RONDO_GOLDEN", TOP.parent / "shared" / "golden" / "sstables"))
ROWS = 200


def rondo(node, *words, code=0):
    done = subprocess.run([RONDO, *map(str, words), "--host", node.address], capture_output=True, text=True,
                          env=ENVIRONMENT, timeout=120)
    assert done.returncode == code, f"{words}: exit {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout if code == 0 else done.stderr.strip()


def query(node, text):
    return rondo(node, "query", "--json", text)


def rows(node, table, what="*"):
    return sorted(query(node, f"SELECT {what} FROM {table}").splitlines())


def make(node, table, more=""):
    """A table with rows in it, written through the driver."""
    with Cluster([node.address]) as cluster:
        session = cluster.connect()
        session.execute("CREATE KEYSPACE IF NOT EXISTS k WITH replication = "
                        "{'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute(f"CREATE TABLE k.{table} (a int, b int, c text, s text static, PRIMARY KEY (a, b)) {more}")
        insert = session.prepare(f"INSERT INTO k.{table} (a, b, c, s) VALUES (?, ?, ?, ?)")
        for waits in [session.execute_async(insert, (i % 50, i, "x" * i, f"s{i % 50}")) for i in range(ROWS)]:
            waits.result()


def stats(node, table):
    keyspace, name = table.split(".")
    return json.loads(node.get(f"/api/v1/tables/{keyspace}/{name}"))["tables"][0]


def folder(node, table):
    keyspace, name = table.split(".")
    found = list((node.folder / "data" / keyspace).glob(f"{name}-*"))
    assert len(found) == 1, found
    return found[0]


def snapshots(node, **wanted):
    found = json.loads(rondo(node, "listsnapshots", "--json"))["snapshots"]
    return [s for s in found if all(s[k] == v for k, v in wanted.items())]


def restart(ring, number=1):
    ring.kill(number)
    ring.restart(number)


@pytest.fixture(scope="module", params=[1, 2], ids=["1 shard", "2 shards"])
def ring(request):
    with Ring(nodes=1, shards=request.param) as ring:
        yield ring


@pytest.fixture
def node(ring):
    return ring.node(1)


def test_what_was_flushed_is_there_from_files_after_a_kill(ring, node):
    make(node, "flushed")
    before = rows(node, "k.flushed")
    assert len(before) == ROWS and stats(node, "k.flushed")["memtable"]["bytes"] > 0
    rondo(node, "flush", "k", "flushed")
    restart(ring)
    told = stats(node, "k.flushed")
    assert told["sstables"] == ring.shards and told["memtable"]["partitions"] == 0
    assert told["rows_in_sstables"] >= ROWS and abs(told["partitions"] - 50) <= 2
    assert rows(node, "k.flushed") == before


def test_an_operation_is_told_with_its_id_and_its_end(node):
    said = json.loads(rondo(node, "flush", "--json"))
    assert said["state"] == "done" and said["verb"] == "flush" and said["error"] is None
    assert json.loads(node.get(f"/api/v1/ops/{said['id']}")) == said
    assert said["id"] in [o["id"] for o in json.loads(node.get("/api/v1/ops"))["operations"]]


def test_of_operations_that_have_ended_only_the_last_are_kept(node):
    first = json.loads(rondo(node, "flush", "--json"))["id"]
    for _ in range(64):
        subprocess.run(["curl", "-sS", "--unix-socket", node.folder / "data" / "rondo.sock", "-d", "keyspace=none",
                        "http://localhost/api/v1/ops/flush"], check=True, capture_output=True)
    kept = [o["id"] for o in json.loads(node.get("/api/v1/ops"))["operations"]]
    assert first not in kept and len(kept) == 64


@pytest.mark.parametrize("words, says", [
    (["flush", "nix"], "there is no keyspace 'nix'"),
    (["flush", "k", "nix"], "there is no table 'k.nix'"),
    (["flush", "system", "local"], "virtual"),
    (["snapshot", "-t", "../up"], "cannot be a tag"),
    (["snapshot", "-t", ".hidden"], "cannot be a tag"),
    (["clearsnapshot"], "say which"),
    (["clearsnapshot", "--all", "-t", "x"], "contradict"),
    (["refresh", "k", "nix"], "there is no table 'k.nix'"),
    (["sstable", "import", "/nowhere"], "no such folder"),
])
def test_what_cannot_be_done_is_one_line_and_1(node, words, says):
    make_once(node)
    said = rondo(node, *words, code=1)
    assert says in said and "\n" not in said


def make_once(node):
    if '"k"' not in query(node, "SELECT keyspace_name FROM system_schema.keyspaces"):
        make(node, "any")


def test_a_snapshot_is_hard_links_with_schema_and_manifest(node):
    make(node, "kept", "WITH comment = 'it''s'")
    assert "snapshot one of 1 table\n" in rondo(node, "snapshot", "-t", "one", "k", "kept")
    live, kept = folder(node, "k.kept"), folder(node, "k.kept") / "snapshots" / "one"
    names = {p.name for p in live.iterdir() if p.is_file()}
    assert {p.name for p in kept.iterdir()} == names | {"schema.cql", "manifest.json"}
    assert all(os.path.samefile(live / n, kept / n) for n in names)
    manifest = json.loads((kept / "manifest.json").read_text())
    assert sorted(manifest["files"]) == sorted(n for n in names if n.endswith("-Data.db"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", manifest["created_at"])
    assert manifest["expires_at"] is None and manifest["ephemeral"] is False
    schema = (kept / "schema.cql").read_text()
    assert "CREATE TABLE IF NOT EXISTS k.kept (" in schema and "comment = 'it''s'" in schema

    assert "has a snapshot 'one' already" in rondo(node, "snapshot", "-t", "one", "k", code=1)
    told = snapshots(node, tag="one")
    assert [(s["keyspace"], s["table"]) for s in told] == [("k", "kept")]
    assert told[0]["created_at"] == manifest["created_at"] and told[0]["true_bytes"] < told[0]["bytes"]
    rondo(node, "clearsnapshot", "-t", "another")
    assert len(snapshots(node, tag="one")) == 1
    assert "1 snapshot removed" in rondo(node, "clearsnapshot", "-t", "one")
    assert not kept.exists() and snapshots(node, tag="one") == [] and len(rows(node, "k.kept")) == ROWS


def test_a_half_made_snapshot_is_none(ring, node):
    make(node, "half")
    rondo(node, "flush", "k", "half")
    left = folder(node, "k.half") / "snapshots" / "it.tmp"
    left.mkdir(parents=True)
    (left / "nb-1-big-Data.db").write_text("half")
    assert snapshots(node, table="half") == []
    rondo(node, "snapshot", "-t", "it", "k", "half")
    assert not left.exists() and len(snapshots(node, table="half")) == 1
    left.mkdir()
    (left / "nb-1-big-Data.db").write_text("half")
    restart(ring)
    assert not left.exists() and len(snapshots(node, table="half")) == 1


def test_truncate_and_drop_keep_a_snapshot_first(node):
    make(node, "gone")
    before = rows(node, "k.gone")
    query(node, "TRUNCATE k.gone")
    assert rows(node, "k.gone") == []
    taken = snapshots(node, table="gone")
    assert len(taken) == 1 and re.fullmatch(r"truncated-\d{13}-gone", taken[0]["tag"])
    kept = folder(node, "k.gone") / "snapshots" / taken[0]["tag"]
    assert "taken" in rondo(node, "sstable", "import", kept)
    assert rows(node, "k.gone") == before

    query(node, "DROP TABLE k.gone")
    dropped = until(lambda: [s for s in snapshots(node, table="gone") if s["tag"].startswith("dropped-")])
    assert re.fullmatch(r"dropped-\d{13}-gone", dropped[0]["tag"])
    left = folder(node, "k.gone")
    until(lambda: not list(left.glob("*-Data.db")))
    make(node, "again")
    query(node, "TRUNCATE k.again")
    rondo(node, "sstable", "import", "-k", "k", "--table", "again", left / "snapshots" / dropped[0]["tag"])
    assert rows(node, "k.again") == before
    rondo(node, "clearsnapshot", "--all", "k", "gone")
    assert snapshots(node, table="gone") == []


def test_a_table_may_say_that_it_wants_no_snapshot(node):
    make(node, "careless", "WITH allow_auto_snapshot = false")
    query(node, "TRUNCATE k.careless")
    query(node, "DROP TABLE k.careless")
    assert snapshots(node, table="careless") == []


def test_an_imported_snapshot_gives_the_same_rows_and_lasts(ring, node):
    make(node, "source")
    make(node, "target")
    query(node, "TRUNCATE k.target")
    query(node, "DELETE FROM k.source WHERE a = 3")
    query(node, "DELETE FROM k.source WHERE a = 4 AND b > 50 AND b < 160")
    rondo(node, "snapshot", "-t", "for_import", "k", "source")
    kept = folder(node, "k.source") / "snapshots" / "for_import"
    was = {p.name: p.read_bytes() for p in kept.iterdir()}
    said = json.loads(rondo(node, "sstable", "import", "-k", "k", "--table", "target", kept, "--json"))
    assert said["state"] == "done" and said["result"]["foreign_rows"] == 0
    assert said["progress"]["done"] == said["progress"]["total"] > 0
    assert rows(node, "k.target") == rows(node, "k.source") != []
    assert {p.name: p.read_bytes() for p in kept.iterdir()} == was
    restart(ring)
    assert rows(node, "k.target") == rows(node, "k.source")


def test_refresh_takes_what_was_put_into_the_folder(node):
    make(node, "from_here")
    make(node, "to_there")
    query(node, "TRUNCATE k.to_there")
    rondo(node, "flush", "k", "from_here")
    there = folder(node, "k.to_there")
    names = [p.name for p in folder(node, "k.from_here").glob("nb-*")]
    for name in names:
        shutil.copy(folder(node, "k.from_here") / name, there / re.sub(r"nb-(\d+)", r"nb-9\1", name))
    assert rows(node, "k.to_there") == []
    assert re.match(r"[1-9]\d* SSTables? taken: ", rondo(node, "refresh", "k", "to_there"))
    assert rows(node, "k.to_there") == rows(node, "k.from_here")
    assert not list(there.glob("nb-9*-big-*"))
    before = sorted(p.name for p in there.glob("*-Data.db"))
    assert "0 SSTables taken" in rondo(node, "refresh", "k", "to_there")
    assert sorted(p.name for p in there.glob("*-Data.db")) == before


def flip(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x10
    path.write_bytes(data)


@pytest.mark.parametrize("component", ["Data.db", "Index.db", "Statistics.db", "CompressionInfo.db"])
def test_what_is_damaged_is_not_taken_in(node, component, tmp_path):
    table = "bad_" + component.split(".")[0].lower()
    make(node, table)
    rondo(node, "snapshot", "-t", component, "k", table)
    kept = tmp_path / "kept"
    shutil.copytree(folder(node, f"k.{table}") / "snapshots" / component, kept)
    for path in kept.glob(f"nb-*-{component}"):
        flip(path, path.stat().st_size // 2)
    query(node, f"TRUNCATE k.{table}")
    said = rondo(node, "sstable", "import", kept, code=1)
    assert component in said or "Data.db" in said, said
    assert rows(node, f"k.{table}") == []
    assert not [p for p in folder(node, f"k.{table}").iterdir() if p.name.startswith("nb-")]


def test_a_table_that_does_not_fit_is_refused_by_name(node):
    make(node, "fits")
    rondo(node, "snapshot", "-t", "fits", "k", "fits")
    query(node, "CREATE TABLE k.other (a text PRIMARY KEY, z int)")
    kept = folder(node, "k.fits") / "snapshots" / "fits"
    rondo(node, "sstable", "import", "-k", "k", "--table", "other", kept, code=1)
    assert rows(node, "k.other") == [] and not list((folder(node, "k.other")).glob("*.tmp"))


@pytest.mark.skipif(not GIVEN.is_dir(), reason="no such files here")
def test_another_partitioner_is_refused_by_name(node):
    at = sorted((GIVEN / "nb").rglob("*-Data.db"))[0]
    make_once(node)
    query(node, "CREATE TABLE IF NOT EXISTS k.bytes (pk text PRIMARY KEY, val text)")
    assert "Murmur3Partitioner" in rondo(node, "sstable", "import", "-k", "k", "--table", "bytes", at.parent, code=1)


def test_reads_say_how_many_files_they_looked_into(node):
    make(node, "counted")
    rondo(node, "flush", "k", "counted")
    before = stats(node, "k.counted")
    for a in range(20):
        query(node, f"SELECT * FROM k.counted WHERE a = {a}")
    query(node, "SELECT * FROM k.counted WHERE a = 12345")
    told = stats(node, "k.counted")
    assert told["reads"] - before["reads"] == 21 and told["writes"] == ROWS
    assert told["sstables_per_read"]["max"] == 1 and told["filter"]["skips"] + told["filter"]["false_positives"] >= 1
    assert 0 < told["compression_ratio"] < 2 and told["space"]["live_bytes"] == sum(
        p.stat().st_size for p in folder(node, "k.counted").iterdir() if p.is_file())
    shown = rondo(node, "tablestats", "k.counted")
    assert f"Local write count                    {ROWS}" in shown and "k.counted" in shown
    assert "partition bytes" in rondo(node, "tablehistograms", "k", "counted")
    assert json.loads(rondo(node, "tablestats", "k.counted", "--json"))["tables"][0]["id"] == told["id"]


def test_a_damaged_file_is_set_aside_and_the_node_stays(ring, node):
    make(node, "damaged")
    rondo(node, "flush", "k", "damaged")
    data = sorted(folder(node, "k.damaged").glob("*-Data.db"))[0]
    flip(data, data.stat().st_size // 2)
    rondo(node, "cache", "drop")
    with Cluster([node.address]) as cluster:
        session = cluster.connect()
        with pytest.raises(ReadFailure):
            for a in range(50):
                session.execute(f"SELECT * FROM k.damaged WHERE a = {a}")
    told = stats(node, "k.damaged")["damaged"]
    assert [d["file"] for d in told] == [data.name] and str(data) in told[0]["reason"]
    assert node.is_serving() and any(str(data) in d for d in node.status()["store"]["damaged"])
    assert "SET ASIDE" in rondo(node, "tablestats", "k.damaged")
    restart(ring)
    query(node, "TRUNCATE k.damaged")
    assert stats(node, "k.damaged")["damaged"] == [] and rows(node, "k.damaged") == []


def test_cache_drop_lets_go_of_chunks(node):
    make(node, "cached")
    rondo(node, "flush", "k", "cached")
    before = rows(node, "k.cached")
    assert json.loads(node.get("/api/v1/info"))["memory_used"]["chunk_cache"] > 0
    rondo(node, "cache", "drop")
    assert json.loads(node.get("/api/v1/info"))["memory_used"]["chunk_cache"] == 0
    assert rows(node, "k.cached") == before


# ---- what Cassandra wrote ----

def table_of(name, statement):
    return re.sub(r"(?i)\bWITH id = [0-9a-f-]+( AND)?", lambda m: "WITH" if m[1] else "", statement)


@pytest.mark.parametrize("version", ["nb", "oa"])
def test_tables_of_cassandra_are_taken_in_and_read(node, version):
    with Cluster([node.address]) as cluster:
        session = cluster.connect()
        session.execute("CREATE KEYSPACE golden WITH replication = "
                        "{'class': 'SimpleStrategy', 'replication_factor': 1}")
        for at in sorted((GOLDEN / version).iterdir()):
            schema = (at / "schema.cql").read_text()
            for statement in schema.splitlines():
                session.execute(table_of(at.name, statement))
            rondo(node, "sstable", "import", at)
            table = re.search(r"CREATE TABLE (.*?) \(", schema)[1]
            list(session.execute(f"SELECT * FROM {table}"))  # every value is one to the driver
        counted = {(r.pk, r.ck): (r.a, r.b) for r in session.execute("SELECT * FROM golden.counters")}
        assert counted["one", 1] == (1 + 41 + 100 + 1000, -5) and counted["two", 1] == (100, None)
        assert [tuple(r) for r in session.execute("SELECT * FROM golden.simple")] != []
        assert {r.pk: r.val for r in session.execute("SELECT * FROM golden.simple")} == {
            str(i): "foo bar baz" for i in range(5)}
        told = stats(node, "golden.many")
        assert len(list(session.execute("SELECT * FROM golden.many"))) == told["rows_in_sstables"] == 120
        assert len(list(session.execute("SELECT * FROM golden.wide"))) == 177
        session.execute("DROP KEYSPACE golden")


def test_files_with_names_made_of_time_are_taken_too(node, tmp_path):
    for at in (GOLDEN / "nb" / "simple").glob("nb-1-big-*"):
        shutil.copy(at, tmp_path / at.name.replace("nb-1-big", "nb-3g1m_0nuf_3vj5m2k1125165rxa7-big"))
    make_once(node)
    query(node, "CREATE TABLE k.named (pk text PRIMARY KEY, val text)")
    rondo(node, "sstable", "import", "-k", "k", "--table", "named", tmp_path)
    assert len(rows(node, "k.named")) == 5


def test_a_manifest_that_names_more_is_believed(node, tmp_path):
    shutil.copytree(GOLDEN / "nb" / "simple", tmp_path / "in")
    (tmp_path / "in" / "manifest.json").write_text('{"files": ["nb-1-big-Data.db", "nb-2-big-Data.db"]}')
    make_once(node)
    assert "names nb-2-big-Data.db" in rondo(node, "sstable", "import", tmp_path / "in", code=1)


# ---- a ring ----

def test_rows_of_other_nodes_are_counted_and_told():
    with Ring(nodes=3) as ring:
        make(ring.node(1), "spread")
        every = rows(ring.node(1), "k.spread")
        for node in ring.nodes:
            rondo(node, "snapshot", "-t", "all", "k", "spread")
        kept = [folder(node, "k.spread") / "snapshots" / "all" for node in ring.nodes]
        query(ring.node(1), "TRUNCATE k.spread")
        seen = 0
        for node in ring.nodes:
            for number, at in enumerate(kept, 1):
                if list(at.glob("*-Data.db")):
                    r = json.loads(rondo(node, "sstable", "import", at, "--json"))["result"]
                    assert r["foreign_rows"] == (0 if number == node.number else r["rows"])
                    seen += r["foreign_rows"]
        assert seen > 0 and rows(ring.node(2), "k.spread") == every

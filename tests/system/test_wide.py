"""One partition that is larger than the node's memory for data, and deserts of tombstones, by a real driver."""
import json
import re
import subprocess

import pytest
from cassandra.cluster import Cluster
from cassandra.query import BatchStatement, BatchType, SimpleStatement
from ring import BUILD, ENVIRONMENT, Ring, until

ROWS, BATCH, VALUE_BYTES, STRIDE = 100_000, 100, 250, 31_337
PAGE = 1000
LIMIT_MIB = 64
# What AddressSanitizer adds: shadow, quarantine, red zones around everything.
SANITIZED_MIB = 320


def is_sanitized():
    return b"__asan_init" in (BUILD / "rondod").read_bytes()


@pytest.fixture(scope="module")
def ring():
    with Ring(nodes=1, memory_limit=f"{LIMIT_MIB}MiB", file_cache_size="1MiB", memtable_heap_space="8MiB") as ring:
        yield ring


@pytest.fixture(scope="module")
def session(ring):
    with Cluster([ring.addresses[0]]) as cluster:
        session = cluster.connect()
        session.default_timeout = 60
        session.execute("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        yield session


def allowed_mib(mib):
    return mib + (SANITIZED_MIB if is_sanitized() else 0)


def metric(node, name):
    return int(re.search(rf"^rondo_{name} (\d+)$", node.get("/metrics"), re.M).group(1))


def flush(node):
    subprocess.run([BUILD / "rondo", "flush", "--host", node.address], check=True, capture_output=True,
                   env=ENVIRONMENT, timeout=60)


def write_wide(session):
    """From end to end each time, so that every file has rows of every page; not compacted, so that there are many."""
    session.execute("CREATE TABLE k.wide (p int, c int, v blob, PRIMARY KEY (p, c)) WITH compaction = "
                    "{'class': 'UnifiedCompactionStrategy', 'enabled': 'false'}")
    insert = session.prepare("INSERT INTO k.wide (p, c, v) VALUES (1, ?, ?)")
    waits = []
    for begin in range(0, ROWS, BATCH):
        batch = BatchStatement(BatchType.UNLOGGED)
        for i in range(begin, begin + BATCH):
            c = i * STRIDE % ROWS
            batch.add(insert, (c, c.to_bytes(4, "big") * (VALUE_BYTES // 4)))
        waits.append(session.execute_async(batch))
        if len(waits) == 2:
            waits.pop(0).result()
    for wait in waits:
        wait.result()


def pages(session, node, text):
    """Yields each page's rows, and what it cost."""
    names = ["read_sstables", "read_index_blocks", "read_chunks", "read_unpacked_bytes"]
    state = None
    while True:
        before = [metric(node, n) for n in names]
        page = session.execute(SimpleStatement(text, fetch_size=PAGE), paging_state=state)
        rows = list(page.current_rows)
        yield rows, {n: metric(node, n) - b for n, b in zip(names, before)}
        state = page.paging_state
        if state is None:
            return


def test_an_idle_node_takes_less_than_64_mib():
    with Ring(nodes=1, shards=2, memory_limit="0MiB", commitlog_segment_size="32MiB") as ring:  # the defaults
        assert ring.node(1).rss_mib("VmHWM") < allowed_mib(64), ring.node(1).rss_mib("VmHWM")


def test_a_partition_larger_than_memory_is_written_flushed_and_paged_both_ways(ring, session):
    node = ring.node(1)
    write_wide(session)
    flush(node)
    files = metric(node, "sstables")
    assert files > 3 and metric(node, "memtable_bytes_max") == 8 << 20
    for order, expected in (("ASC", range(ROWS)), ("DESC", range(ROWS - 1, -1, -1))):
        seen = []
        for rows, cost in pages(session, node, f"SELECT c, v FROM k.wide WHERE p = 1 ORDER BY c {order}"):
            assert all(v[:4] == c.to_bytes(4, "big") and len(v) == VALUE_BYTES // 4 * 4 for c, v in rows)
            seen += [c for c, _ in rows]
            assert cost["read_sstables"] <= 2 * files and cost["read_index_blocks"] <= 6 * files, cost
            assert cost["read_unpacked_bytes"] < 16 * PAGE * VALUE_BYTES, cost
        assert seen == list(expected)
    assert metric(node, "chunk_cache_bytes") <= 1 << 20
    assert metric(node, "filter_bytes") + metric(node, "sample_bytes") < 64 * files
    assert node.rss_mib("VmHWM") < allowed_mib(LIMIT_MIB), node.rss_mib("VmHWM")


def test_every_part_of_memory_is_told_as_planned_and_as_used(ring, session):
    info = json.loads(ring.node(1).get("/api/v1/info"))
    planned, used = info["memory"], info["memory_used"]
    assert planned["limit"] == LIMIT_MIB << 20 and sum(planned.values()) == 2 * planned["limit"]
    parts = set(planned) - {"limit", "compaction", "not_planned"}  # nothing is compacted yet
    assert used["filters"] == metric(ring.node(1), "filter_bytes")
    assert used["samples"] == metric(ring.node(1), "sample_bytes") + metric(ring.node(1), "file_bytes")
    used["filters_and_samples"] = used["filters"] + used["samples"]
    assert parts <= set(used) and all(used[p] <= planned[p] for p in parts)
    assert used["prepared"] > 0 and used["samples"] > 0 and "memory_warning" not in info


@pytest.mark.parametrize("flushed", [False, True], ids=["memtable", "files"])
def test_tombstones_end_pages_early_warn_and_fail_nothing(ring, session, flushed):
    node, dead = ring.node(1), 20_000
    table = f"k.desert{int(flushed)}"
    session.execute(f"CREATE TABLE {table} (p int, c int, v int, PRIMARY KEY (p, c))")
    delete = session.prepare(f"DELETE FROM {table} WHERE p = 1 AND c = ?")
    for begin in range(0, dead, 500):
        batch = BatchStatement(BatchType.UNLOGGED)
        for c in range(begin, begin + 500):
            batch.add(delete, (c,))
        session.execute(batch)
    session.execute(f"INSERT INTO {table} (p, c, v) VALUES (1, {dead}, 7)")
    if flushed:
        flush(node)

    text = f"SELECT c, v FROM {table} WHERE p = 1"
    full = f"tombstone cells of {table} (see tombstone_warn_threshold)"
    future = session.execute_async(SimpleStatement(text, fetch_size=100))
    assert [tuple(r) for r in future.result()] == [(dead, 7)]
    assert future.warnings == [f"Read 1 live rows and {dead} {full}"]
    future = session.execute_async(SimpleStatement(text, fetch_size=None))
    assert [tuple(r) for r in future.result()] == [(dead, 7)]
    assert future.warnings == [f"Read 1 live rows and {dead} {full}"]

    session.execute(f"INSERT INTO {table} (p, c, v) VALUES (1, 0, 8)")  # a page with a row ends early
    page = session.execute(SimpleStatement(text, fetch_size=100))
    assert [tuple(r) for r in page.current_rows] == [(0, 8)] and page.has_more_pages
    assert full in page.response_future.warnings[0]
    assert [tuple(r) for r in page] == [(0, 8), (dead, 7)]

    future = session.execute_async(f"SELECT v FROM {table} WHERE p = 1 AND c = {dead}")
    assert future.result().one().v == 7 and not future.warnings
    until(lambda: "(see tombstone_warn_threshold)" in (node.folder / "rondod.log").read_text())

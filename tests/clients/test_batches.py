"""Batches with Debian's python3-cassandra: logged ones over partitions, what they may weigh, and what
a write tells of its replicas."""
import uuid

import cassandra
import pytest
from cassandra import ConsistencyLevel
from cassandra.query import BatchStatement, BatchType, SimpleStatement


@pytest.fixture(scope="module")
def table(session, keyspace):
    session.execute("CREATE TABLE IF NOT EXISTS batched (k int, c int, v blob, PRIMARY KEY (k, c))")
    session.execute("CREATE TABLE IF NOT EXISTS beside (id uuid PRIMARY KEY, v text)")
    return session.prepare("INSERT INTO batched (k, c, v) VALUES (?, ?, ?)")


def batch_of(table, partitions, kind=BatchType.LOGGED, size=1, first=0, **more):
    batch = BatchStatement(kind, consistency_level=ConsistencyLevel.QUORUM, **more)
    for k in range(first, first + partitions):
        batch.add(table, (k, 1, b"x" * size))
    return batch


def warnings_of(session, statement):
    future = session.execute_async(statement)
    future.result()
    return future.warnings or []


def test_a_logged_batch_writes_all_its_partitions(session, table):
    name = uuid.uuid4()
    batch = batch_of(table, 5, first=100)
    batch.add(SimpleStatement("INSERT INTO beside (id, v) VALUES (%s, 'x')"), (name,))
    session.execute(batch)
    keys = ", ".join(str(k) for k in range(100, 105))
    rows = session.execute(f"SELECT k FROM batched WHERE k IN ({keys})").all()
    assert sorted(r.k for r in rows) == list(range(100, 105))
    assert session.execute("SELECT v FROM beside WHERE id = %s", (name,)).one().v == "x"


def test_a_batch_in_text_has_one_timestamp(session, table):
    session.execute("BEGIN BATCH USING TIMESTAMP 1234 "
                    "INSERT INTO batched (k, c, v) VALUES (200, 1, 0x01); "
                    "INSERT INTO batched (k, c, v) VALUES (201, 1, 0x02); "
                    "UPDATE batched SET v = 0x03 WHERE k = 202 AND c = 1; "
                    "APPLY BATCH")
    rows = session.execute("SELECT writetime(v) AS t FROM batched WHERE k IN (200, 201, 202)").all()
    assert [r.t for r in rows] == [1234] * 3


@pytest.mark.parametrize("kind", [BatchType.LOGGED, BatchType.UNLOGGED])
def test_large_batches_are_warned_of_and_refused(session, table, kind):
    assert warnings_of(session, batch_of(table, 2, kind, size=10)) == []
    said = warnings_of(session, batch_of(table, 2, kind, size=4000))
    assert len(said) == 1 and "exceeding specified threshold of 5120" in said[0], said
    assert "batched" in said[0]
    with pytest.raises(cassandra.InvalidRequest, match="Batch too large"):
        session.execute(batch_of(table, 2, kind, size=30000))
    one = BatchStatement(kind)
    for c in range(2):
        one.add(table, (300, c, b"x" * 30000))
    assert warnings_of(session, one) == []  # one partition: one mutation, no batch


def test_an_unlogged_batch_of_many_partitions_is_warned_of(session, table):
    assert warnings_of(session, batch_of(table, 10, BatchType.UNLOGGED)) == []
    said = warnings_of(session, batch_of(table, 11, BatchType.UNLOGGED))
    assert len(said) == 1 and "covering 11 partitions" in said[0], said
    assert warnings_of(session, batch_of(table, 11, BatchType.LOGGED)) == []


def test_counter_batches_are_refused(session, table):
    with pytest.raises(cassandra.InvalidRequest, match="COUNTER batch is not there yet"):
        session.execute(batch_of(table, 2, BatchType.COUNTER))


def test_levels_of_transactions_are_refused(session, table):
    for level in (ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_SERIAL):
        for text in ("SELECT * FROM batched WHERE k = 1",
                     "INSERT INTO batched (k, c) VALUES (1, 1)"):
            with pytest.raises(cassandra.InvalidRequest, match="transactions"):
                session.execute(SimpleStatement(text, consistency_level=level))
    read = SimpleStatement("SELECT * FROM batched WHERE k = 1",
                           consistency_level=ConsistencyLevel.ANY)
    with pytest.raises(cassandra.InvalidRequest, match="only supported for writes"):
        session.execute(read)


def outcome_of(session, statement):
    future = session.execute_async(statement, custom_payload={"rondo.outcome": b"please"})
    future.result()
    return future.custom_payload


def numbers_of(payload):
    words = payload["rondo.outcome"].decode().split(" ")
    return {name: int(n) for name, n in (word.split("=") for word in words)}


def test_a_write_that_asks_is_told_how_many_replicas_have_it(session, table):
    insert = SimpleStatement("INSERT INTO batched (k, c, v) VALUES (1, 9, 0x01)",
                             consistency_level=ConsistencyLevel.ALL)
    told = outcome_of(session, insert)
    assert list(told) == ["rondo.outcome"]
    assert told["rondo.outcome"] == b"replicas=3 acked=3 synced=3 hinted=0"
    bound = table.bind((1, 9, b""))
    bound.consistency_level = ConsistencyLevel.QUORUM
    for statement in (bound, batch_of(table, 3), batch_of(table, 3, BatchType.UNLOGGED),
                      batch_of(table, 1)):
        n = numbers_of(outcome_of(session, statement))
        assert n["replicas"] == 3 and 2 <= n["acked"] <= 3, n
        assert n["synced"] == n["acked"] and n["hinted"] == 0, n


@pytest.mark.parametrize("rest", ["WHERE k = 1", "WHERE k IN (1, 2, 3)", ""])
def test_a_read_that_asks_is_told_how_many_replicas_answered(session, table, rest):
    for level, least, most in ((ConsistencyLevel.ONE, 1, 3), (ConsistencyLevel.QUORUM, 2, 3),
                               (ConsistencyLevel.ALL, 3, 3)):
        n = numbers_of(outcome_of(session, SimpleStatement(f"SELECT * FROM batched {rest}",
                                                           consistency_level=level)))
        assert set(n) == {"replicas", "acked"} and n["replicas"] == 3, n
        assert least <= n["acked"] <= most, n


def test_nobody_else_is_told_anything(session, table):
    for statement in (batch_of(table, 3), SimpleStatement("SELECT * FROM batched WHERE k = 1")):
        future = session.execute_async(statement, custom_payload={"rondo.outcom": b"x"})
        future.result()
        assert not future.custom_payload
    assert not outcome_of(session, SimpleStatement("SELECT * FROM system.local"))

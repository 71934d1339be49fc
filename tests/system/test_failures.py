"""What clients are told when a replica fails: which one, and why, as the version of the protocol has
it."""
import signal

import cassandra
import pytest
from cassandra import ConsistencyLevel as CL
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import FallthroughRetryPolicy, WhiteListRoundRobinPolicy
from cassandra.query import BatchStatement, SimpleStatement
from ring import Ring, until
from test_operations import folder, rondo


def connect(ring, version):
    policy = WhiteListRoundRobinPolicy([ring.addresses[0]])
    profile = ExecutionProfile(load_balancing_policy=policy, request_timeout=30,
                               retry_policy=FallthroughRetryPolicy())
    cluster = Cluster([ring.addresses[0]], protocol_version=version,
                      execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    return cluster.connect()


@pytest.fixture(scope="module")
def ring():
    """The third node's file of k.t is damaged, and it has nothing of it in memory."""
    with Ring(nodes=3) as ring:
        session = connect(ring, 5)
        session.execute("CREATE KEYSPACE k WITH replication = "
                        "{'class': 'SimpleStrategy', 'replication_factor': 3}")
        session.execute("CREATE TABLE k.t (k int PRIMARY KEY, v text)")
        session.execute(SimpleStatement("INSERT INTO k.t (k, v) VALUES (1, 'one')",
                                        consistency_level=CL.ALL))
        session.cluster.shutdown()
        rondo(ring.node(3), "flush")
        file = next(folder(ring.node(3), "k.t").glob("*-Data.db"))
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 0xff
        file.write_bytes(data)
        yield ring


@pytest.mark.parametrize("version", [4, 5])
def test_a_read_failure_names_the_replica_and_its_reason(ring, version):
    session = connect(ring, version)
    try:
        with pytest.raises(cassandra.ReadFailure) as e:
            session.execute(SimpleStatement("SELECT v FROM k.t WHERE k = 1",
                                            consistency_level=CL.ALL))
        assert e.value.consistency == CL.ALL
        assert e.value.required_responses == 3 and e.value.received_responses <= 2
        assert e.value.failures == 1
        if version >= 5:
            assert e.value.error_code_map == {ring.addresses[2]: 0}
        quorum = SimpleStatement("SELECT v FROM k.t WHERE k = 1", consistency_level=CL.QUORUM)
        assert session.execute(quorum).one().v == "one"
    finally:
        session.cluster.shutdown()


def batch(session):
    both = BatchStatement(consistency_level=CL.ONE)
    for k in (10, 11):
        both.add(SimpleStatement(f"INSERT INTO k.t (k, v) VALUES ({k}, 'x')"))
    session.execute(both)


def test_a_batch_that_nobody_keeps_in_time_is_a_timeout_of_the_batchlog(ring):
    session = connect(ring, 5)
    others = [ring.node(n).process for n in (2, 3)]
    try:
        for other in others:
            other.send_signal(signal.SIGSTOP)
        with pytest.raises(cassandra.WriteTimeout) as e:
            batch(session)
        assert e.value.write_type == cassandra.WriteType.BATCH_LOG
        assert (e.value.consistency, e.value.required_responses) == (CL.TWO, 2)
        assert e.value.received_responses == 0
    finally:
        for other in others:
            other.send_signal(signal.SIGCONT)
    ring.wait_up(1, 2, 3)
    until(lambda: batch(session) is None)
    session.cluster.shutdown()


def test_without_another_node_there_is_no_logged_batch(ring):
    session = connect(ring, 5)
    for n in (2, 3):
        ring.kill(n)
    ring.wait_up(1)
    with pytest.raises(cassandra.Unavailable) as e:
        batch(session)
    assert (e.value.required_replicas, e.value.alive_replicas) == (1, 0)
    session.execute("BEGIN UNLOGGED BATCH INSERT INTO k.t (k, v) VALUES (10, 'y'); "
                    "INSERT INTO k.t (k, v) VALUES (11, 'y'); APPLY BATCH")
    session.cluster.shutdown()

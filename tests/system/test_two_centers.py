"""Six nodes in two data centres: levels, batches and errors, with one and with all of the other
data centre's nodes killed."""
import functools
import re

import cassandra
import pytest
from cassandra import ConsistencyLevel as CL
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import FallthroughRetryPolicy, WhiteListRoundRobinPolicy
from cassandra.query import BatchStatement, SimpleStatement

from ring import Ring

EVERY = (CL.ONE, CL.TWO, CL.THREE, CL.QUORUM, CL.ALL, CL.LOCAL_ONE, CL.LOCAL_QUORUM, CL.EACH_QUORUM)


@pytest.fixture(scope="module")
def ring():
    ring = Ring(nodes=6, memory_limit="256MiB")
    for node in ring.nodes:
        node.configure = functools.partial(
            node.configure, data_center="near" if node.number <= 3 else "far",
            rack=f"r{node.number % 3}")
    with ring:
        yield ring


def connect(ring, number):
    policy = WhiteListRoundRobinPolicy([ring.addresses[number - 1]])
    profile = ExecutionProfile(load_balancing_policy=policy, request_timeout=30,
                               retry_policy=FallthroughRetryPolicy())
    cluster = Cluster([ring.addresses[number - 1]], protocol_version=5,
                      execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    return cluster.connect()


@pytest.fixture(scope="module")
def session(ring):
    session = connect(ring, 1)
    session.execute("CREATE KEYSPACE two WITH replication = "
                    "{'class': 'NetworkTopologyStrategy', 'replication_factor': 3}")
    session.execute("CREATE TABLE two.t (k int PRIMARY KEY, v int)")
    yield session
    session.cluster.shutdown()


def write(session, level, key):
    session.execute(SimpleStatement(f"INSERT INTO two.t (k, v) VALUES ({key}, {key})",
                                    consistency_level=level))


def read(session, level, key):
    return session.execute(SimpleStatement(f"SELECT v FROM two.t WHERE k = {key}",
                                           consistency_level=level)).one()


def refused(do, session, level):
    """The numbers of the Unavailable that it must be."""
    with pytest.raises(cassandra.Unavailable) as e:
        do(session, level, 1)
    assert e.value.consistency == level
    return e.value.required_replicas, e.value.alive_replicas


def kill(ring, number, *left):
    ring.kill(number)
    ring.wait_up(*left)


def batch_at(session, level, first):
    batch = BatchStatement(consistency_level=level)
    for k in range(first, first + 3):
        batch.add(SimpleStatement(f"INSERT INTO two.t (k, v) VALUES ({k}, {k})"))
    session.execute(batch)


def test_every_level_while_all_are_up(session):
    for key, level in enumerate(EVERY, 100):
        write(session, level, key)
        assert read(session, CL.ALL, key).v == key
        read(session, level, key)
    write(session, CL.ANY, 99)
    batch_at(session, CL.EACH_QUORUM, 110)
    assert read(session, CL.EACH_QUORUM, 112).v == 112


def test_keyspaces_know_the_data_centres(session):
    with pytest.raises(cassandra.protocol.ConfigurationException, match="'gone'"):
        session.execute("CREATE KEYSPACE a WITH replication = "
                        "{'class': 'NetworkTopologyStrategy', 'near': 1, 'gone': 1}")
    future = session.execute_async("CREATE KEYSPACE wide WITH replication = "
                                   "{'class': 'NetworkTopologyStrategy', 'near': 4, 'far': 3}")
    future.result()
    assert future.warnings == ["Your replication factor 4 for keyspace wide is higher than the "
                               "number of nodes 3 for datacenter near"]


def test_levels_as_the_other_data_centre_dies_and_returns(ring, session):
    kill(ring, 6, 1, 2, 3, 4, 5)
    for level in EVERY:
        if level != CL.ALL:
            write(session, level, 200)
            assert read(session, level, 200).v == 200
    for do in (write, read, batch_at):
        assert refused(do, session, CL.ALL) == (6, 5)
    kill(ring, 5, 1, 2, 3, 4)
    for do in (write, read, batch_at):
        assert refused(do, session, CL.EACH_QUORUM) == (2, 1)
    write(session, CL.QUORUM, 201)
    kill(ring, 4, 1, 2, 3)
    for do in (write, read, batch_at):
        assert refused(do, session, CL.EACH_QUORUM) == (2, 0)
        assert refused(do, session, CL.QUORUM) == (4, 3)
    batch_at(session, CL.LOCAL_QUORUM, 210)
    assert read(session, CL.LOCAL_QUORUM, 212).v == 212
    write(session, CL.THREE, 202)
    future = session.execute_async(
        SimpleStatement("INSERT INTO two.t (k, v) VALUES (204, 204)", consistency_level=CL.THREE),
        custom_payload={"rondo.outcome": b""})
    future.result()
    told = future.custom_payload["rondo.outcome"].decode()
    assert re.fullmatch("replicas=6 acked=3 synced=3 hinted=[0-3]", told), told
    write(session, CL.ANY, 205)
    for number in (4, 5, 6):
        ring.restart(number)
    ring.wait_up(1, 2, 3, 4, 5, 6)
    write(session, CL.EACH_QUORUM, 203)
    far = connect(ring, 4)
    try:
        assert read(far, CL.LOCAL_QUORUM, 203).v == 203
        assert read(far, CL.QUORUM, 201).v == 201
    finally:
        far.cluster.shutdown()

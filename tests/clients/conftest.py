"""One ring of three for all client tests, and sessions of Debian's Python driver on it."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from ring import Ring  # noqa: E402
from wire_client import Client  # noqa: E402


@pytest.fixture(scope="session")
def ring():
    with Ring(nodes=3, shards=2) as ring:
        yield ring


def connect(ring, version, **more):
    """Reads and writes at QUORUM, so that every test sees what it wrote, whichever node it asks."""
    from cassandra import ConsistencyLevel
    from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
    from cassandra.policies import DCAwareRoundRobinPolicy, TokenAwarePolicy
    policy = TokenAwarePolicy(DCAwareRoundRobinPolicy(local_dc="datacenter1"))
    profile = ExecutionProfile(load_balancing_policy=policy, request_timeout=30,
                               consistency_level=ConsistencyLevel.QUORUM)
    return Cluster([ring.addresses[0]], protocol_version=version,
                   execution_profiles={EXEC_PROFILE_DEFAULT: profile}, **more)


@pytest.fixture(scope="module", params=[4, 5])
def session(ring, request):
    cluster = connect(ring, request.param)
    session = cluster.connect()
    session.version = request.param
    yield session
    cluster.shutdown()


@pytest.fixture(scope="module")
def keyspace(session):
    name = f"k{session.version}"
    session.execute(f"CREATE KEYSPACE IF NOT EXISTS {name} WITH replication = "
                    "{'class': 'SimpleStrategy', 'replication_factor': 3}")
    session.set_keyspace(name)
    return name


@pytest.fixture(scope="session")
def schema(ring):
    """A keyspace and a table for statements that name one."""
    with Client(ring.addresses[0]).startup() as c:
        c.create_keyspace("ct", 3)
        c.query(
            "CREATE TABLE ct.t (a int, b text, c timestamp, v blob, PRIMARY KEY ((a, b), c)) "
            "WITH CLUSTERING ORDER BY (c DESC)"
        )
    return "ct", "t"

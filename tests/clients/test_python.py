"""Debian's python3-cassandra, unchanged, on a ring of three: protocol 4 and 5."""
import datetime
import decimal
import ipaddress
import uuid

import cassandra
import pytest
from cassandra import ConsistencyLevel
from cassandra.query import BatchStatement, BatchType, SimpleStatement

ALL_TYPES = {
    "ascii": "plain", "bigint": -2**63, "blob": b"\x00\xff", "boolean": True,
    "decimal": decimal.Decimal("-123.450"), "double": 1.5e300, "float": 0.5, "int": -2**31,
    "timestamp": datetime.datetime(2024, 2, 29, 12, 0, 0, 123000),
    "uuid": uuid.UUID(int=7 << 76 | 4 << 76),
    "text": "Zürich ☃", "varint": 2**200, "timeuuid": uuid.uuid1(), "inet": "2001:db8::1",
    "date": datetime.date(2024, 2, 29), "time": datetime.time(23, 59, 59, 999999),
    "smallint": -2**15, "tinyint": -128,
}


def test_the_ring_is_discovered(ring, session):
    known = {h.address for h in session.cluster.metadata.all_hosts()}
    assert known == set(ring.addresses)
    assert len(session.cluster.metadata.token_map.ring) == 3 * 16
    assert session.cluster.metadata.cluster_name == "test"


def test_every_scalar_type_comes_back(session, keyspace):
    columns = ", ".join(f"c_{t} {t}" for t in ALL_TYPES)
    session.execute(f"CREATE TABLE IF NOT EXISTS types (k int PRIMARY KEY, {columns})")
    names = ", ".join(f"c_{t}" for t in ALL_TYPES)
    marks = ", ".join("?" for _ in ALL_TYPES)
    insert = session.prepare(f"INSERT INTO types (k, {names}) VALUES (?, {marks})")
    session.execute(insert, [1, *ALL_TYPES.values()])
    row = session.execute(f"SELECT {names} FROM types WHERE k = 1").one()
    for name, sent in ALL_TYPES.items():
        got = getattr(row, f"c_{name}")
        if name == "inet":
            assert ipaddress.ip_address(got) == ipaddress.ip_address(sent)
        elif name == "date":
            assert got.date() == sent
        elif name == "time":
            assert got.time() == sent
        else:
            assert got == sent, name
    session.execute(insert, [2] + [None] * len(ALL_TYPES))
    assert set(session.execute(f"SELECT {names} FROM types WHERE k = 2").one()) == {None}


def test_binding_by_position_and_by_name(session, keyspace):
    session.execute("CREATE TABLE IF NOT EXISTS bind (a text, b int, c bigint, PRIMARY KEY (a, b))")
    by_position = session.prepare("INSERT INTO bind (a, b, c) VALUES (?, ?, ?)")
    session.execute(by_position, ("x", 1, 10))
    by_name = session.prepare("INSERT INTO bind (a, b, c) VALUES (:key, :place, :value)")
    session.execute(by_name, {"key": "x", "place": 2, "value": 20})
    rows = session.execute("SELECT b, c FROM bind WHERE a = %s", ("x",)).all()
    assert [tuple(r) for r in rows] == [(1, 10), (2, 20)]


@pytest.mark.parametrize("page", [1, 7, 100])
def test_paging_brings_every_row_once(session, keyspace, page):
    session.execute("CREATE TABLE IF NOT EXISTS pages (k int, c int, v text, PRIMARY KEY (k, c))")
    total = 10000
    if session.execute("SELECT count(*) FROM pages").one()[0] != total:
        insert = session.prepare("INSERT INTO pages (k, c, v) VALUES (?, ?, ?)")
        insert.consistency_level = ConsistencyLevel.ALL
        waiting = [session.execute_async(insert, (n % 100, n, f"value {n}")) for n in range(total)]
        for future in waiting:
            future.result()
    rows = session.execute(SimpleStatement("SELECT k, c FROM pages", fetch_size=page,
                                           consistency_level=ConsistencyLevel.ONE))
    seen = [tuple(r) for r in rows]
    assert len(seen) == total
    assert set(seen) == {(n % 100, n) for n in range(total)}


def test_tokens_agree(session, keyspace):
    from cassandra.metadata import Murmur3Token
    session.execute("CREATE TABLE IF NOT EXISTS tokens (k blob PRIMARY KEY, v int)")
    insert = session.prepare("INSERT INTO tokens (k, v) VALUES (?, ?)")
    keys = [bytes((0x85 + 11 * i) % 128 + 128 for i in range(n)) for n in range(1, 33)]
    keys += [bytes.fromhex(h) for h in (
        "00", "80", "ff", "ffffffff", "313233", "c3a9", "653cbefb85ec3111b4e38fa9bc7cbcae",
        "004acfdfc9cfb411bb5d0426632618c4", "fff2e5d8cbbeb1a4978afdf0e3d6c9")]
    for key in keys:
        session.execute(insert, (key, 1))
        said = session.execute("SELECT token(k) FROM tokens WHERE k = %s", (key,)).one()[0]
        assert said == Murmur3Token.hash_fn(key), key.hex()


def test_requests_go_to_replicas(session, keyspace):
    session.execute("CREATE KEYSPACE IF NOT EXISTS single WITH replication = "
                    "{'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.execute("CREATE TABLE IF NOT EXISTS single.t (k int PRIMARY KEY)")
    insert = session.prepare("INSERT INTO single.t (k) VALUES (?)")
    for k in range(60):
        bound = insert.bind((k,))
        future = session.execute_async(bound)
        future.result()
        replicas = session.cluster.metadata.get_replicas("single", bound.routing_key)
        assert [h.address for h in replicas] == [future.coordinator_host.address]


def test_errors_have_the_right_class(session, keyspace):
    with pytest.raises(cassandra.protocol.SyntaxException, match="1:"):
        session.execute("SELEC * FROM x")
    with pytest.raises(cassandra.InvalidRequest, match="does not exist"):
        session.execute("SELECT * FROM nothing_here")
    with pytest.raises(cassandra.AlreadyExists):
        session.execute(f"CREATE KEYSPACE {keyspace} WITH replication = "
                        "{'class': 'SimpleStrategy', 'replication_factor': 3}")
    with pytest.raises(cassandra.InvalidRequest):
        session.execute("USE nowhere")


def test_an_unprepared_id_is_prepared_again(session, keyspace):
    session.execute("CREATE TABLE IF NOT EXISTS again (k int PRIMARY KEY, v int)")
    insert = session.prepare("INSERT INTO again (k, v) VALUES (?, ?)")
    session.execute("DROP TABLE again")
    session.execute("CREATE TABLE again (k int PRIMARY KEY, v int)")
    session.execute(insert, (1, 2))
    assert session.execute("SELECT v FROM again WHERE k = 1").one().v == 2


def test_batches(session, keyspace):
    session.execute("CREATE TABLE IF NOT EXISTS batches (k int, c int, v text, PRIMARY KEY (k, c))")
    insert = session.prepare("INSERT INTO batches (k, c, v) VALUES (?, ?, ?)")
    batch = BatchStatement(BatchType.UNLOGGED, consistency_level=ConsistencyLevel.QUORUM)
    for c in range(20):
        batch.add(insert, (c % 3, c, "x"))
    session.execute(batch)
    logged = BatchStatement(BatchType.LOGGED)
    logged.add(insert, (9, 1, "a"))
    logged.add(SimpleStatement("INSERT INTO batches (k, c, v) VALUES (9, 2, 'b')"))
    session.execute(logged)
    assert session.execute("SELECT count(*) FROM batches").one()[0] == 22


def test_writetime_ttl_and_deletes(session, keyspace):
    session.execute("CREATE TABLE IF NOT EXISTS life "
                    "(k int, c int, v text, w int, PRIMARY KEY (k, c))")
    session.execute("INSERT INTO life (k, c, v, w) VALUES (1, 1, 'a', 1) "
                    "USING TIMESTAMP 1000 AND TTL 5000")
    row = session.execute("SELECT writetime(v) AS wt, ttl(v) AS left FROM life "
                          "WHERE k = 1 AND c = 1").one()
    assert row.wt == 1000 and 4000 < row.left <= 5000
    session.execute("INSERT INTO life (k, c, v, w) VALUES (1, 2, 'b', 2) USING TIMESTAMP 1000")
    session.execute("DELETE v FROM life USING TIMESTAMP 2000 WHERE k = 1 AND c = 2")
    assert tuple(session.execute("SELECT v, w FROM life WHERE k = 1 AND c = 2").one()) == (None, 2)
    session.execute("UPDATE life USING TIMESTAMP 1500 SET v = 'late' WHERE k = 1 AND c = 2")
    assert session.execute("SELECT v FROM life WHERE k = 1 AND c = 2").one().v is None
    session.execute("DELETE FROM life USING TIMESTAMP 3000 WHERE k = 1 AND c = 2")
    assert session.execute("SELECT * FROM life WHERE k = 1 AND c = 2").one() is None
    session.execute("DELETE FROM life WHERE k = 1")
    assert session.execute("SELECT * FROM life WHERE k = 1").one() is None


def test_order_slices_limits_and_in(session, keyspace):
    session.execute("CREATE TABLE IF NOT EXISTS ordered "
                    "(k int, a int, b text, PRIMARY KEY (k, a, b)) "
                    "WITH CLUSTERING ORDER BY (a DESC, b ASC)")
    insert = session.prepare("INSERT INTO ordered (k, a, b) VALUES (?, ?, ?)")
    for a in range(5):
        for b in "xyz":
            session.execute(insert, (1, a, b))
            session.execute(insert, (2, a, b))

    def ask(rest):
        return [tuple(r) for r in session.execute("SELECT a, b FROM ordered WHERE " + rest)]
    every = [(a, b) for a in range(4, -1, -1) for b in "xyz"]
    assert ask("k = 1") == every
    assert ask("k = 1 ORDER BY a ASC") == every[::-1]
    assert ask("k = 1 AND a > 1 AND a <= 3") == [r for r in every if 1 < r[0] <= 3]
    assert ask("k = 1 AND a = 2 AND b >= 'y'") == [(2, "y"), (2, "z")]
    assert ask("k = 1 AND a = 2 AND b IN ('z', 'x')") == [(2, "x"), (2, "z")]
    assert ask("k IN (1, 2) AND a = 4 LIMIT 4") == [(4, "x"), (4, "y"), (4, "z"), (4, "x")]
    bounds = session.execute("SELECT count(*) FROM ordered WHERE token(k) > %s", (-2**63,)).one()
    assert bounds[0] == 30


@pytest.mark.parametrize("compression", ["lz4", False])
@pytest.mark.parametrize("version", [4, 5])
def test_with_and_without_lz4(ring, version, compression):
    from conftest import connect
    cluster = connect(ring, version, compression=compression)
    session = cluster.connect()
    used = cluster.control_connection._connection
    assert used.protocol_version == version and bool(used.compressor) == bool(compression)
    rows = session.execute("SELECT * FROM system_schema.columns").all()
    assert len(rows) > 100
    text = "x" * 500000  # several frames in v5
    with pytest.raises(cassandra.InvalidRequest, match="500000"):
        session.execute("SELECT key FROM system.local WHERE key = %s", (text,))
    cluster.shutdown()


def test_schema_events_reach_other_clients(ring, session):
    from conftest import connect
    other = connect(ring, session.version)
    other.connect()
    name = f"events{session.version}"
    session.execute(f"CREATE KEYSPACE {name} WITH replication = "
                    "{'class': 'SimpleStrategy', 'replication_factor': 1}")
    from ring import until
    until(lambda: name in other.metadata.keyspaces)
    session.execute(f"DROP KEYSPACE {name}")
    until(lambda: name not in other.metadata.keyspaces)
    other.shutdown()


def test_unavailable_when_nodes_are_down():
    from conftest import connect
    from ring import Ring
    with Ring(nodes=3) as ring:
        cluster = connect(ring, 4)
        session = cluster.connect()
        session.execute("CREATE KEYSPACE k WITH replication = "
                        "{'class': 'SimpleStrategy', 'replication_factor': 3}")
        session.execute("CREATE TABLE k.t (k int PRIMARY KEY, v int)")
        ring.kill(3)
        ring.wait_up(1, 2)
        quorum = SimpleStatement("INSERT INTO k.t (k, v) VALUES (1, 2)",
                                 consistency_level=ConsistencyLevel.QUORUM)
        session.execute(quorum)
        everyone = SimpleStatement("SELECT * FROM k.t WHERE k = 1",
                                   consistency_level=ConsistencyLevel.ALL)
        with pytest.raises(cassandra.Unavailable) as caught:
            session.execute(everyone)
        assert (caught.value.required_replicas, caught.value.alive_replicas) == (3, 2)
        with pytest.raises(cassandra.Unavailable):
            session.execute("CREATE TABLE k.u (k int PRIMARY KEY)")
        ring.restart(3)
        ring.wait_up(1, 2, 3)
        session.execute(everyone)
        cluster.shutdown()

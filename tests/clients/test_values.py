"""Collections, user types, static columns and ranges of rows, written and read by Debian's
python3-cassandra on a ring of three: protocol 4 and 5."""
import uuid

import pytest
from cassandra.query import SimpleStatement
from cassandra.util import OrderedMapSerializedKey, sortedset


@pytest.fixture(scope="module")
def made(session):
    name = f"values{session.version}"
    session.execute(f"CREATE KEYSPACE IF NOT EXISTS {name} WITH replication = "
                    "{'class': 'SimpleStrategy', 'replication_factor': 3}")
    session.set_keyspace(name)
    session.execute("CREATE TYPE IF NOT EXISTS point (x int, y text)")
    session.execute("CREATE TABLE IF NOT EXISTS many (k int PRIMARY KEY, l list<int>, s set<text>, "
                    "m map<text, uuid>, p point, f frozen<map<int, frozen<list<text>>>>, "
                    "t tuple<int, text>)")
    session.execute("CREATE TABLE IF NOT EXISTS rows (k int, c int, d int, s text STATIC, "
                    "m set<int> STATIC, v int, PRIMARY KEY (k, c, d))")
    session.execute("TRUNCATE many")
    session.execute("TRUNCATE rows")
    return name


def plain(value):
    if isinstance(value, OrderedMapSerializedKey):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (set, sortedset)):
        return set(value)
    return value


def test_values_of_every_shape_come_back(session, made):
    insert = session.prepare("INSERT INTO many (k, l, s, m, p, f, t) VALUES (?, ?, ?, ?, ?, ?, ?)")
    one = uuid.uuid4()
    sent = ([3, 1, 3], {"b", "a"}, {"x": one}, (7, "y"), {2: ["b", "c"], 1: []}, (1, None))
    session.execute(insert, (1, *sent))
    row = session.execute("SELECT l, s, m, p, f, t FROM many WHERE k = 1").one()
    assert row.l == sent[0] and plain(row.s) == sent[1] and plain(row.m) == sent[2]
    assert tuple(row.p) == sent[3] and plain(row.f) == sent[4] and row.t == sent[5]
    session.execute(insert, (1, [], set(), {}, None, {}, None))
    row = session.execute("SELECT l, s, m, p, f, t FROM many WHERE k = 1").one()
    assert tuple(row)[:4] == (None, None, None, None) and plain(row.f) == {} and row.t is None


def test_elements_come_and_go(session, made):
    def now():
        row = session.execute("SELECT l, s, m, p FROM many WHERE k = 2").one()
        return row.l, plain(row.s), plain(row.m), row.p and tuple(row.p)
    one, two = uuid.uuid4(), uuid.uuid4()
    session.execute("UPDATE many SET l = [2], s = {'b'}, m = %s, p = {x: 1} WHERE k = 2",
                    ({"b": one},))
    session.execute("UPDATE many SET l = l + [3, 4], s = s + {'a'}, m['a'] = %s, p.y = 'z' "
                    "WHERE k = 2", (two,))
    session.execute("UPDATE many SET l = [0, 1] + l, s = s - {'b'}, m = m - {'b'}, p.x = null "
                    "WHERE k = 2")
    assert now() == ([0, 1, 2, 3, 4], {"a"}, {"a": two}, (None, "z"))
    append = session.prepare("UPDATE many SET l = l + ?, s = s + ?, m = m + ? WHERE k = 2")
    session.execute(append, ([5], {"c"}, {"c": one}))
    assert now() == ([0, 1, 2, 3, 4, 5], {"a", "c"}, {"a": two, "c": one}, (None, "z"))
    session.execute("DELETE m['a'], s['a'], p FROM many WHERE k = 2")
    assert now() == ([0, 1, 2, 3, 4, 5], {"c"}, {"c": one}, None)


def test_static_values_stand_in_every_row(session, made):
    session.execute("INSERT INTO rows (k, s) VALUES (1, 'alone')")
    assert [tuple(r) for r in session.execute("SELECT k, c, s FROM rows WHERE k = 1")] == [
        (1, None, "alone")]
    for c in range(3):
        session.execute("INSERT INTO rows (k, c, d, v) VALUES (1, %s, 0, %s)", (c, c))
    session.execute("UPDATE rows SET s = 'all', m = m + {2, 1} WHERE k = 1")
    found = session.execute("SELECT c, s, m, v FROM rows WHERE k = 1")
    assert [(r.c, r.s, plain(r.m), r.v) for r in found] == [
        (c, "all", {1, 2}, c) for c in range(3)]


@pytest.mark.parametrize("page", [1, 2, 3, 7, 100])
def test_pages_bring_each_row_once(session, made, page):
    session.execute("CREATE TABLE IF NOT EXISTS paged (k int, c int, s int STATIC, "
                    "PRIMARY KEY (k, c))")
    want = set()
    for k in range(30):
        session.execute("UPDATE paged SET s = %s WHERE k = %s", (k, k))
        for c in range(k % 4):
            session.execute("INSERT INTO paged (k, c) VALUES (%s, %s)", (k, c))
            want.add((k, c, k))
        if k % 4 == 0:
            want.add((k, None, k))
    rows = [tuple(r) for r in session.execute(SimpleStatement("SELECT k, c, s FROM paged",
                                                              fetch_size=page))]
    assert len(rows) == len(want) and set(rows) == want


@pytest.mark.parametrize("where,left", [
    ("c = 1", {(0, 0), (0, 1), (2, 0), (2, 1)}),
    ("c > 0", {(0, 0), (0, 1)}),
    ("c >= 1 AND c < 2", {(0, 0), (0, 1), (2, 0), (2, 1)}),
    ("c = 1 AND d > 0", {(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)}),
    ("c IN (0, 2)", {(1, 0), (1, 1)}),
    ("(c, d) > (0, 0)", {(0, 0)}),
])
def test_a_range_of_rows_is_deleted(session, made, where, left):
    for c in range(3):
        for d in range(2):
            session.execute("INSERT INTO rows (k, c, d) VALUES (9, %s, %s)", (c, d))
    session.execute(f"DELETE FROM rows WHERE k = 9 AND {where}")
    assert {tuple(r) for r in session.execute("SELECT c, d FROM rows WHERE k = 9")} == left

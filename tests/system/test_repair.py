"""Replicas that differ are found, told and made equal: rondo repair, rondo divergence."""
import json
import subprocess

import pytest
from ring import BUILD, ENVIRONMENT, Ring


def rondo(*words, code=0):
    done = subprocess.run([BUILD / "rondo", *map(str, words)], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"exit {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def ring():
    with Ring(nodes=3, shards=2, hinted_handoff_enabled=False) as ring:
        rondo("query", "--host", ring.addresses[0], "CREATE KEYSPACE k WITH replication = "
              "{'class': 'SimpleStrategy', 'replication_factor': 3}")
        for table in ("t", "u"):
            rondo("query", "--host", ring.addresses[0], f"CREATE TABLE k.{table} "
                  "(k int, c int, s text static, v text, w text, PRIMARY KEY (k, c))")
        yield ring


def load(ring, hosts, table, first, count, level):
    rows = "k,c,v\n" + "".join(f"{n // 10},{n},text {n}\n" for n in range(first, first + count))
    path = ring.folder / "rows.csv"
    path.write_text(rows)
    rondo("load", "--host", ",".join(hosts), "--consistency", level, f"k.{table}", path)


def copies(ring, table):
    """What each node has by itself, without what its neighbours have."""
    return [sorted(rondo("query", "--host", a, "-c", "one", "--csv",
                         f"SELECT k, c, s, v, w, writetime(v) FROM k.{table}")[0].splitlines())
            for a in ring.addresses]


def sums(out):
    return {t["table"]: t for t in json.loads(out)["result"]["tables"]}


def missed(ring, what):
    """What is done while node 3 is away, and hand-off is off."""
    ring.kill(3)
    ring.wait_up(1, 2)
    what()
    ring.restart(3)
    ring.wait_up(1, 2, 3)


def test_equal_replicas_need_nothing(ring):
    load(ring, ring.addresses, "t", 0, 500, "all")
    out, _ = rondo("repair", "--host", ring.addresses[0], "--json")
    t = sums(out)["t"]
    assert t["pages"] > 0 and t["bytes"] > 5000, t
    assert (t["pages_differed"], t["rows_differed"], t["repairs"]) == (0, 0, 0), t
    out, _ = rondo("divergence", "--host", ring.addresses[0])
    assert out.startswith("0: ")


def test_what_one_has_missed_is_counted_and_brought(ring):
    host = ring.addresses[0]

    def change():
        load(ring, ring.addresses[:2], "t", 500, 300, "quorum")
        for text in ("DELETE FROM k.t WHERE k = 0", "DELETE FROM k.t WHERE k = 1 AND c >= 12 AND c < 15",
                     "DELETE v FROM k.t WHERE k = 2 AND c = 20", "UPDATE k.t SET w = 'w' WHERE k = 3 AND c = 31",
                     "UPDATE k.t USING TTL 86400 SET w = 'for a day' WHERE k = 3 AND c = 32",
                     "UPDATE k.t SET s = 'static' WHERE k = 4"):
            rondo("query", "--host", host, "-c", "quorum", text)

    missed(ring, change)
    out, _ = rondo("divergence", "--host", host, "--json")
    assert json.loads(out)["unknown"] > 0 and json.loads(out)["age_ms"] > 0
    out, _ = rondo("repair", "--host", host, "--validate", "--json", "k", "t", code=1)
    rows = sums(out)["t"]["rows_differed"]
    assert rows == 300 + 6, sums(out)
    assert copies(ring, "t")[2] != copies(ring, "t")[0], "--validate must not write"
    out, _ = rondo("repair", "--host", host, "--json", "k", "t")
    assert sums(out)["t"]["rows_differed"] == rows
    out, _ = rondo("repair", "--host", host, "--validate", "--json", "k", "t")
    assert sums(out)["t"]["rows_differed"] == 0
    a, b, c = copies(ring, "t")
    assert a == b == c and len(a) == 1 + 800 - 10 - 3 + 0, len(a)


def test_what_was_unknown_is_known_again_after_all_was_repaired(ring):
    host = ring.addresses[0]
    missed(ring, lambda: load(ring, ring.addresses[:2], "u", 0, 50, "one"))
    rondo("repair", "--host", host, "k", "t")
    assert json.loads(rondo("divergence", "--host", host, "--json")[0])["unknown"] > 0, "u may miss it"
    rondo("repair", "--host", host)
    said = json.loads(rondo("divergence", "--host", host, "--json")[0])
    assert said["unknown"] == 0 and said["pending"] == 0, said
    a, b, c = copies(ring, "u")
    assert a == b == c and len(a) == 51


def test_any_node_may_lead_and_any_may_have_missed_it(ring):
    for n in (1, 2, 3):
        others = [a for m, a in enumerate(ring.addresses, 1) if m != n]
        ring.kill(n)
        ring.wait_up(*[m for m in (1, 2, 3) if m != n])
        load(ring, others, "u", 1000 * n, 40, "quorum")
        ring.restart(n)
        ring.wait_up(1, 2, 3)
    rondo("repair", "--host", ring.addresses[1], "--throttle", 50)
    a, b, c = copies(ring, "u")
    assert a == b == c and len(a) == 51 + 120


def test_a_range_without_all_its_replicas_is_told(ring):
    ring.kill(3)
    ring.wait_up(1, 2)
    _, err = rondo("repair", "--host", ring.addresses[0], code=1)
    assert "are not done" in err and ring.addresses[2] in err, err
    _, err = rondo("divergence", "--host", ring.addresses[0], code=1)
    assert err == f"rondo: node 3 ({ring.addresses[2]}:9042) does not answer: what it owes is not in this\n"
    ring.restart(3)
    ring.wait_up(1, 2, 3)


@pytest.mark.parametrize("words,says", [(["nowhere"], "there is no keyspace"), (["k", "nothing"], "no table"),
                                        (["--start-token", "x"], "whole number of 64 bits")])
def test_wrong_words(ring, words, says):
    _, err = rondo("repair", "--host", ring.addresses[0], *words, code=1)
    assert says in err, err


def test_it_goes_on_from_a_token(ring):
    whole, _ = rondo("repair", "--host", ring.addresses[0], "--json")
    half, _ = rondo("repair", "--host", ring.addresses[0], "--json", "--start-token", 0)
    ranges = [json.loads(out)["result"]["ranges"] for out in (whole, half)]
    assert 0 < ranges[1] < ranges[0], ranges

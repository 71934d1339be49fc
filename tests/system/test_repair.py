"""Replicas that differ are found, told and made equal: rondo repair, rondo divergence."""
import json
import re
import signal
import subprocess

import pytest
from ring import BUILD, ENVIRONMENT, Ring, until


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
    return [sorted(rondo("query", "--host", ring.addresses[n - 1], "-c", "one", "--csv",
                         f"SELECT k, c, s, v, w, writetime(v) FROM k.{table}")[0].splitlines())
            for n in ring.each_alone()]


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
    out, _ = rondo("repair", "--host", host, "--json", "k", "t")
    assert sums(out)["t"]["rows_differed"] == rows, "--validate must not write"
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
    _, err = rondo("repair", "--host", ring.addresses[0], "--throttle", 3, "k", code=1)
    assert "are not done" in err and ring.addresses[2] in err, err
    assert err.endswith(f"go on with: rondo repair --start-token {-2**63} --host {ring.addresses[0]} --throttle 3 k\n")
    _, err = rondo("divergence", "--host", ring.addresses[0], code=1)
    assert err.endswith(f"rondo: node 3 ({ring.addresses[2]}:9042) does not answer: what it owes is not in this\n")
    ring.restart(3)
    ring.wait_up(1, 2, 3)


@pytest.mark.parametrize("words,says", [(["nowhere"], "there is no keyspace"), (["k", "nothing"], "no table"),
                                        (["k."], "there is no keyspace 'k.'"), ([".t"], "there is no keyspace '.t'"),
                                        (["system"], "nothing to compare"),
                                        (["--start-token", "x"], "whole number of 64 bits")])
def test_wrong_words(ring, words, says):
    out, err = rondo("repair", "--host", ring.addresses[0], *words, code=1)
    assert says in err, err
    assert out == "" and err.count("\n") == 1, out + err


@pytest.mark.parametrize("words", [["k", ""], ["--validate=yes"], ["--throttle", "fast"], ["k", "t", "u"]])
def test_wrong_usage(ring, words):
    _, err = rondo("repair", "--host", ring.addresses[0], *words, code=2)
    assert err.startswith("rondo: ") and err.endswith("; see: rondo help repair\n"), err


def post(ring, n, verb, form):
    folder = ring.node(n).folder
    done = subprocess.run(["curl", "-s", "--unix-socket", folder / "data" / "rondo.sock", "-d", form,
                           f"http://localhost/api/v1/ops/{verb}"], capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)["id"]


def ended(ring, n, number):
    said = json.loads(ring.node(n).get(f"/api/v1/ops/{number}"))
    return said if said["state"] != "running" else None


def test_only_true_is_true(ring):
    for word, error in (("yes", "is_validate is true or false, not 'yes'"), ("1", None), ("false", None)):
        number = post(ring, 1, "repair", f"is_validate={word}")
        said = until(lambda: ended(ring, 1, number))
        assert said["error"] == error, said
        assert error or said["result"]["validate"] == (word == "1")


def test_it_goes_on_from_a_token(ring):
    whole, _ = rondo("repair", "--host", ring.addresses[0], "--json")
    half, _ = rondo("repair", "--host", ring.addresses[0], "--json", "--start-token", 0)
    ranges = [json.loads(out)["result"]["ranges"] for out in (whole, half)]
    assert 0 < ranges[1] < ranges[0], ranges


def slow_repair(ring):
    """One that takes long, seen to be under way: its table is large, and its throttle low."""
    def last():
        operations = json.loads(ring.node(2).get("/api/v1/ops"))["operations"]
        return operations[-1] if operations else {"id": 0}
    before = last()["id"]
    command = subprocess.Popen([BUILD / "rondo", "repair", "--host", ring.addresses[1], "--throttle", "1", "k.t"],
                               env=ENVIRONMENT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    until(lambda: last()["id"] > before and last()["progress"]["place"] not in (None, str(-2**63)))
    return command


def test_a_command_that_is_cut_off_says_how_to_go_on(ring):
    text = "x" * 1000
    path = ring.folder / "large.csv"
    path.write_text("k,c,v\n" + "".join(f"{n},0,{text}\n" for n in range(100000, 110000)))
    rondo("load", "--host", ",".join(ring.addresses), "--consistency", "all", "k.t", path)
    advice = f" --host {ring.addresses[1]} --throttle 1 k.t\n"
    command = slow_repair(ring)
    command.send_signal(signal.SIGINT)
    err = command.communicate(timeout=60)[1]
    assert command.returncode == 130, err
    assert "interrupted; the node goes on with this repair as operation" in err and err.endswith(advice), err
    command = slow_repair(ring)
    ring.kill(2)
    err = command.communicate(timeout=60)[1]
    ring.restart(2)
    ring.wait_up(1, 2, 3)
    assert command.returncode == 1, err
    assert "the node does not answer any more" in err and err.endswith(advice), err
    token = err.split("--start-token ")[1].split(" ")[0]
    rondo("repair", "--host", ring.addresses[1], "--start-token", token, "k.t")


def test_how_far_copies_are_apart_is_in_the_metrics(ring):
    def ages():
        return {why: float(age) for why, age in
                re.findall(r'^rondo_divergence_seconds{why="(.*)"} (.*)$', ring.node(1).get("/metrics"), re.M)}
    rondo("repair", "--host", ring.addresses[0])
    assert set(ages()) == {"hints", "unknown", "under_way"} and ages()["unknown"] == 0
    missed(ring, lambda: load(ring, ring.addresses[:1], "u", 9000, 10, "one"))
    assert ages()["unknown"] > 0
    page = json.loads(ring.node(1).get("/api/v1/divergence"))
    assert page["ranges"] and page["age_ms"] == max(r["age_ms"] for r in page["ranges"]) and page["unknown"]
    places = [(int(r["after"]), int(r["upto"])) for r in page["ranges"]]
    assert all(after < upto for after, upto in places) and places == sorted(places)
    rondo("repair", "--host", ring.addresses[0])
    assert ages()["unknown"] == 0

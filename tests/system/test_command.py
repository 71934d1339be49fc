"""The program `rondo`: what it prints, what it answers with, and the one line when something is wrong."""
import csv
import io
import json
import os
import pathlib
import signal
import socket
import subprocess

import pytest
from ring import BUILD, ENVIRONMENT, Ring, free_prefix, until

RONDO = BUILD / "rondo"


def rondo(*words, code=0, **more):
    """Runs it; the exit code must be as expected.  Its output, and its errors as lines."""
    done = subprocess.run([RONDO, *map(str, words)], capture_output=True, text=True, env=ENVIRONMENT,
                          timeout=120, **more)
    assert done.returncode == code, f"{words}: exit {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout, done.stderr.splitlines()


def line(*words, code=1, **more):
    """The one line that it says when it fails; nothing else may be said."""
    out, errors = rondo(*words, code=code, **more)
    assert out == "" and len(errors) == 1 and errors[0].startswith("rondo: "), (out, errors)
    return errors[0]


@pytest.fixture(scope="module")
def ring():
    with Ring(nodes=1) as ring:
        host = ring.addresses[0]
        rondo("query", "--host", host, "CREATE KEYSPACE k WITH replication = "
              "{'class': 'SimpleStrategy', 'replication_factor': 1}")
        rondo("query", "--host", host, "CREATE TABLE k.t (a text, b int, c boolean, d double, e blob, f text, "
              "PRIMARY KEY (a, b))")
        yield ring


@pytest.fixture
def host(ring):
    host = ring.addresses[0]
    rondo("query", "--host", host, "TRUNCATE k.t")
    return host


# ---- usage ----

@pytest.mark.parametrize("words", [["query"], ["query", "a", "b"], ["nope"], ["query", "--nope", "x"],
                                   ["query", "--port", "0", "x"], ["cluster", "start"], ["bench", "nope"],
                                   ["load", "nodot", "-"], ["cluster", "kill", "--dir", "x"], ["query", "-c", "most", "x"]])
def test_wrong_usage_is_one_line_and_2(words):
    line(*words, code=2)


def test_without_a_command_it_helps_and_answers_2():
    out, errors = rondo(code=2)
    assert out == "" and any("cluster" in e for e in errors)


@pytest.mark.parametrize("words", [["help"], ["--help"], ["help", "load"], ["load", "--help"], ["cluster", "start", "--help"]])
def test_help_goes_to_standard_output(words):
    out, errors = rondo(*words)
    assert len(out.splitlines()) > 5 and errors == []


@pytest.mark.parametrize("word", ["decommission", "drain", "rebuild", "backup", "cql"])
def test_what_is_not_there_yet_says_so(word):
    assert line(word) == f"rondo: {word} is not there yet"


def test_version():
    out, _ = rondo("version")
    assert out.startswith("rondo ") and out == rondo("--version")[0]


# ---- nothing listens ----

@pytest.mark.parametrize("words,port", [(["query", "SELECT 1"], 9042), (["load", "k.t", "/dev/null"], 9042),
                                        (["unload", "k.t", "-"], 9042), (["bench", "keyvalue"], 9042),
                                        (["status"], 9180), (["info"], 9180), (["health"], 9180)])
def test_nothing_listens(words, port):
    address = free_prefix(1) + ".1"
    assert line(words[0], "--host", address, *words[1:]) == (
        f"rondo: nothing listens at {address}:{port}; start one with: rondo cluster start --dir DIR, or rondod")


# ---- query ----

def test_rows_as_a_table_as_json_and_as_csv(host):
    rondo("query", "--host", host, "INSERT INTO k.t (a, b, c, d, e, f) VALUES ('x', 1, true, 1.5, 0xff, 'say \"a,b\"')")
    rondo("query", "--host", host, "-k", "k", "INSERT INTO t (a, b) VALUES ('x', 22)")
    out, _ = rondo("query", "--host", host, "SELECT a, b, c FROM k.t")
    assert out.splitlines() == [" a |  b | c", "---+----+------", " x |  1 | True", " x | 22 | null"]
    out, _ = rondo("query", "--host", host, "--json", "SELECT * FROM k.t")
    assert [json.loads(row) for row in out.splitlines()] == [
        {"a": "x", "b": 1, "c": True, "d": 1.5, "e": "0xff", "f": 'say "a,b"'},
        {"a": "x", "b": 22, "c": None, "d": None, "e": None, "f": None}]
    out, _ = rondo("query", "--host", host, "--csv", "SELECT * FROM k.t")
    assert list(csv.reader(io.StringIO(out))) == [
        ["a", "b", "c", "d", "e", "f"], ["x", "1", "True", "1.5", "0xff", 'say "a,b"'], ["x", "22", "", "", "", ""]]


def test_a_long_result_is_fetched_page_after_page(host):
    rows = "a,b\n" + "".join(f"p{n % 7},{n}\n" for n in range(3000))
    rondo("load", "--host", host, "k.t", "-", input=rows)
    out, _ = rondo("query", "--host", host, "--csv", "--page-size", 7, "SELECT a, b FROM k.t")
    assert sorted(out.splitlines()[1:]) == sorted(rows.splitlines()[1:])


def test_what_the_server_refuses_is_one_line(host):
    assert "line 1:7" in line("query", "--host", host, "SELECT ,")
    assert "nope" in line("query", "--host", host, "SELECT * FROM k.nope")


# ---- load and unload ----

def test_what_is_unloaded_loads_again(host, tmp_path):
    rows = 'a,b,c,d,e,f\nx,1,True,1.5,0x00ff,""\n"a,""b""",-2,False,,0x,"two\nlines"\nü,3,,,,\n'
    rondo("load", "--host", host, "k.t", "-", input=rows)
    rondo("unload", "--host", host, "k.t", tmp_path / "out.csv")
    first = (tmp_path / "out.csv").read_text()
    assert sorted(csv.reader(io.StringIO(first))) == sorted(csv.reader(io.StringIO(rows)))
    rondo("query", "--host", host, "TRUNCATE k.t")
    out, _ = rondo("load", "--host", host, "--json", "k.t", tmp_path / "out.csv")
    assert json.loads(out)["loaded"] == 3 and json.loads(out)["rejected"] == 0
    assert rondo("unload", "--host", host, "k.t", "-")[0] == first


def test_null_has_a_text_of_its_own(host):
    rondo("load", "--host", host, "--null", "NULL", "k.t", "-", input='a,b,f\nx,1,NULL\nx,2,"NULL"\nx,3,\n')
    out, _ = rondo("query", "--host", host, "--json", "SELECT b, f FROM k.t")
    assert [json.loads(row)["f"] for row in out.splitlines()] == [None, "NULL", ""]
    out, _ = rondo("unload", "--host", host, "--null", "NULL", "k.t", "-")
    assert out.splitlines()[1:] == ["x,1,NULL,NULL,NULL,NULL", 'x,2,NULL,NULL,NULL,"NULL"', "x,3,NULL,NULL,NULL,"]


def test_bad_rows_go_to_the_reject_file_and_the_rest_is_loaded(host, tmp_path):
    rows = 'a,b,d\nx,1,1\nx,2\n\nx,three,1\n"x"y,4,1\nx,5,5\n,6,1\n"x,7,1\n'
    out, errors = rondo("load", "--host", host, "--json", "--reject", tmp_path / "bad.csv", "k.t", "-", input=rows, code=1)
    assert json.loads(out)["loaded"] == 2 and json.loads(out)["rejected"] == 5
    assert "5 rows rejected" in errors[-1]
    bad = list(csv.reader(open(tmp_path / "bad.csv", newline="")))
    assert bad[0] == ["line", "reason", "row"]
    by_line = {row[0]: row for row in bad[1:]}
    assert sorted(by_line) == ["3", "5", "6", "8", "9"]
    assert by_line["3"][1:] == ["2 fields, not 3", "x,2"]
    assert by_line["5"][1].startswith("b: ") and by_line["5"][2] == "x,three,1"
    assert "closing quote" in by_line["6"][1] and by_line["6"][2] == '"x"y,4,1'
    assert "not closed" in by_line["9"][1]


def test_without_a_reject_file_one_is_made_where_it_runs(host, tmp_path):
    rondo("load", "--host", host, "k.t", "-", input="a,b\nx,y\n", code=1, cwd=tmp_path)
    assert (tmp_path / "k.t.rejected.csv").exists()
    rondo("load", "--host", host, "k.t", "-", input="a,b\nx,1\n", cwd=(tmp_path / "sub").mkdir() or tmp_path / "sub")
    assert list((tmp_path / "sub").iterdir()) == []


def test_what_cannot_be_loaded_is_one_line(host, tmp_path):
    assert "cannot be read" in line("load", "--host", host, "k.t", tmp_path / "nope.csv")
    assert "is empty" in line("load", "--host", host, "k.t", "/dev/null")
    assert "nope" in line("load", "--host", host, "k.t", "-", input="a,b,nope\n1,2,3\n")
    assert "nope" in line("load", "--host", host, "k.nope", "-", input="a,b\n1,2\n")


def test_an_interrupted_load_answers_130_and_says_how_far_it_came(host):
    load = subprocess.Popen([RONDO, "load", "--host", host, "k.t", "-"], stdin=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    load.stdin.write("a,b\n" + "".join(f"x,{n}\n" for n in range(40000)))
    load.stdin.flush()
    until(lambda: "x" in rondo("query", "--host", host, "--csv", "SELECT a FROM k.t LIMIT 1")[0])
    load.send_signal(signal.SIGINT)
    errors = load.communicate()[1].splitlines()
    assert load.returncode == 130 and "rows loaded into k.t" in errors[-1]


def make_small_memtables(ring):
    """Of one table; what it takes to fill them several times."""
    host = ring.addresses[0]
    rondo("query", "--host", host, "CREATE KEYSPACE k WITH replication = "
          "{'class': 'SimpleStrategy', 'replication_factor': 1}")
    rondo("query", "--host", host, "CREATE TABLE k.t (a int PRIMARY KEY, f text)")
    return host, "a,f\n" + "".join(f"{n},{'x' * 1000}\n" for n in range(3000))


def test_a_load_of_more_than_memtables_hold_is_flushed_on_its_way():
    with Ring(nodes=1, memtable_heap_space="1MiB") as ring:
        host, rows = make_small_memtables(ring)
        out, _ = rondo("load", "--host", host, "--json", "k.t", "-", input=rows)
        said = json.loads(out)
        assert said["loaded"] == 3000 and said["rejected"] == 0
        assert ring.node(1).status()["counts"]["flushes"] > 1
        assert rondo("query", "--host", host, "--csv", "SELECT count(*) FROM k.t")[0].split()[1] == "3000"


def test_a_cluster_that_stays_full_stops_the_load_with_its_reason_until_it_can_flush_again():
    with Ring(nodes=1, memtable_heap_space="1MiB") as ring:
        host, rows = make_small_memtables(ring)
        in_the_way = ring.node(1).folder / "data" / "k"
        in_the_way.write_text("a file, where the folder of the keyspace is to be made")
        out, errors = rondo("load", "--host", host, "--json", "k.t", "-", input=rows, code=1)
        said = json.loads(out)
        assert 100 < said["loaded"] < 3000 and said["rejected"] == 0 and said["retried"] > 0
        assert errors[-1].startswith("rondo: stopped at line ")
        assert "memtables are full and cannot be flushed" in errors[-1]
        count, _ = rondo("query", "--host", host, "--csv", "SELECT count(*) FROM k.t")
        assert int(count.split()[1]) == said["loaded"]
        in_the_way.unlink()
        until(lambda: ring.node(1).status()["counts"]["flushes"] > 0)
        assert json.loads(rondo("load", "--host", host, "--json", "k.t", "-", input=rows)[0])["loaded"] == 3000


# ---- status, info ----

def test_status_and_info(host, ring):
    out, _ = rondo("status", "--host", host)
    assert f"{host}:9042" in out and " up " in out
    said = json.loads(rondo("status", "--host", host, "--json")[0])
    assert len(said["nodes"]) == 1 and said["nodes"][0]["answered"]
    assert said["nodes"][0]["said"]["counts"]["requests"] > 0
    assert str(ring.node(1).folder) in rondo("info", "--host", host)[0]
    assert json.loads(rondo("info", "--host", host, "--json")[0])["shards"] == 1
    assert rondo("health", "--host", host)[0] == f"{host}:9180 serves clients\n"


# ---- cluster ----

@pytest.fixture
def cluster(tmp_path):
    address = free_prefix(3) + ".1"
    yield ["--dir", str(tmp_path / "c"), "--address", address]
    rondo("cluster", "stop", "--dir", tmp_path / "c")


def states(flags):
    said = json.loads(rondo("cluster", "status", *flags[:2], "--json")[0])
    return [n["state"] for n in said["nodes"]]


def test_a_cluster_is_started_killed_restarted_and_stopped(cluster):
    first = cluster[3]
    out, _ = rondo("cluster", "start", *cluster, "--json")
    nodes = json.loads(out)["nodes"]
    assert [n["address"] for n in nodes] == [first[:-1] + str(n) for n in (1, 2, 3)]
    rondo("query", "--host", first, "CREATE KEYSPACE k WITH replication = "
          "{'class': 'SimpleStrategy', 'replication_factor': 3}")
    rondo("query", "--host", first, "CREATE TABLE k.t (a int PRIMARY KEY)")
    rondo("query", "--host", first, "-c", "all", "INSERT INTO k.t (a) VALUES (1)")
    rondo("cluster", "kill", "3", *cluster[:2])
    assert states(cluster) == ["serves", "serves", "stopped"]
    assert line("cluster", "kill", "3", *cluster[:2]) == "rondo: node 3 does not run"
    until(lambda: not json.loads(rondo("status", "--host", first, "--json")[0])["nodes"][2]["up"])
    assert "3" in line("query", "--host", first, "-c", "all", "SELECT * FROM k.t WHERE a = 1")
    rondo("cluster", "restart", "3", *cluster[:2])
    assert rondo("query", "--host", first, "-c", "all", "--csv", "SELECT * FROM k.t WHERE a = 1")[0] == "a\n1\n"
    assert rondo("cluster", "start", *cluster)[1] == []  # what runs is left alone
    rondo("cluster", "stop", *cluster[:2])
    rondo("cluster", "stop", *cluster[:2])
    assert states(cluster) == ["stopped"] * 3
    for node in nodes:
        folder = pathlib.Path(node["folder"])
        assert {"rondo.yaml", "rondod.log", "data", "commitlog", "hints"} <= set(os.listdir(folder))
    rondo("cluster", "start", *cluster[:2])
    assert rondo("query", "--host", first, "-c", "all", "--csv", "SELECT * FROM k.t")[0] == "a\n1\n"


def test_a_port_that_is_taken_is_named_and_nothing_is_left_running(cluster):
    second = cluster[3][:-1] + "2"
    with socket.socket() as taken:
        taken.bind((second, 9042))
        taken.listen()
        said = line("cluster", "start", *cluster)
        assert f"{second}:9042" in said and "node 2" in said and str(os.getpid()) in said
    assert states(cluster) == ["stopped"] * 3


def test_an_interrupted_start_stops_what_it_started(cluster):
    second = cluster[3][:-1] + "2"
    log = pathlib.Path(cluster[1]) / "node1" / "rondod.pid"
    start = subprocess.Popen([RONDO, "cluster", "start", *cluster], stderr=subprocess.PIPE, env=ENVIRONMENT)
    until(log.exists, every=0.001)
    start.send_signal(signal.SIGINT)
    start.communicate()
    assert start.returncode in (0, 130), second
    if start.returncode == 130:
        assert states(cluster) == ["stopped"] * 3


def test_a_pid_that_is_somebody_else_is_not_touched(cluster):
    rondo("cluster", "start", *cluster[:2], "--address", cluster[3], "--nodes", "1")
    rondo("cluster", "stop", *cluster[:2])
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as other:
        (pathlib.Path(cluster[1]) / "node1" / "rondod.pid").write_text(f"{other.pid} 1\n")
        rondo("cluster", "stop", *cluster[:2])
        line("cluster", "kill", "1", *cluster[:2])
        assert other.poll() is None
        other.stdin.close()


def test_a_cluster_keeps_its_size_and_its_addresses(cluster):
    rondo("cluster", "start", *cluster, "--nodes", "1")
    assert "1 node, not of 3" in line("cluster", "start", *cluster, "--nodes", "3")
    assert "begins at" in line("cluster", "start", *cluster[:2], "--address", "127.0.0.9")
    assert "1 to 1" in line("cluster", "kill", "2", *cluster[:2])


def test_where_there_is_no_cluster(tmp_path):
    rondo("cluster", "stop", "--dir", tmp_path / "none")
    assert "no cluster" in line("cluster", "status", "--dir", tmp_path / "none")
    assert "no cluster" in line("cluster", "kill", "1", "--dir", tmp_path / "none")


# ---- bench ----

def test_a_warm_read_at_one_costs_no_allocation_no_hop_and_one_write(host):
    out, _ = rondo("bench", "keyvalue", "--host", host, "--rows", 200, "--seconds", 1, "--connections", 1, "--json")
    run = json.loads(out)
    assert run["throughput"] > 0 and run["replica_coordinator_share"] == 1
    assert run["floor"]["throughput"] > 0
    per_request = run["server"]["per_request"]
    # what pings, clocks and the benchmark's own question for status add is far below one in ten
    assert per_request["allocations"] < 0.1 and per_request["shard_hops"] < 0.1
    assert 1 <= per_request["socket_sends"] < 1.1 and per_request["requests_inline"] > 0.9


def test_the_standard_cases_are_three(host):
    out, _ = rondo("bench", "keyvalue", "--host", host, "--rows", 100, "--seconds", 1, "--json")
    runs = json.loads(out)["runs"]
    assert [(r["connections"], r["depth"]) for r in runs] == [(1, 1), (50, 1), (1, 16)]
    out, _ = rondo("bench", "keyvalue", "--host", host, "--rows", 100, "--seconds", 1, "--no-load", "--rate", 200)
    assert "reads/s" in out


def test_a_benchmark_takes_no_flag_that_it_would_not_heed():
    for kind, flag in (("engine", "--rf"), ("engine", "--host"), ("compaction", "--floor"), ("compaction", "--value"),
                       ("quorum", "--consistency"), ("quorum", "--depth"), ("keyvalue", "--dir")):
        value = {"--floor": [], "--consistency": ["ONE"]}.get(flag, [1])
        assert f"bench {kind} does not take {flag}" in line("bench", kind, flag, *value, code=2)


def test_the_engine_is_measured_without_a_node_and_warm_reads_ask_the_heap_for_nothing(tmp_path):
    out, _ = rondo("bench", "engine", "--rows", 3000, "--seconds", 1, "--dir", tmp_path, "--json")
    cases = json.loads(out)["cases"]
    assert list(cases) == ["load", "flush", "warm", "range", "pages", "cold", "overwrite", "flush again"]
    assert all(c["rondo"]["count"] > 0 and c["rondo"]["a_second"] > 0 for c in cases.values())
    assert cases["load"]["rondo"]["count"] == 3000
    assert cases["warm"]["rondo"]["heap_calls"] < 0.001
    assert cases["flush"]["rondo"]["disk_bytes"] > 3000 * 50
    assert not list(tmp_path.iterdir())
    assert "no folder" in line("bench", "engine", "--rows", 10, "--dir", tmp_path / "none")

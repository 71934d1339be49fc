"""`rondo sweep`: the order of the settings, the model beside the measurement, going on after an interrupt."""
import fcntl
import json
import os
import pathlib
import signal
import subprocess

import pytest
from ring import BUILD, ENVIRONMENT, TOP, until

RONDO = BUILD / "rondo"
SWEEP = """
title: small and quick
table: {top}/config/stand.yaml
rows: 20000
documents_per_register: 10
load: {{ flushes: 57 }}
update: {{ rows: 5000, flushes: 3, columns: [status, amount] }}
scale: 0.006
stops: [53, 55, 57, 58, 59, 60]
reads: {{ warm: 300, cold: 3 }}
settings:
  - {{ name: UCS T4, compaction: {{ class: UnifiedCompactionStrategy, scaling_parameters: T4 }} }}
  - {{ name: UCS N, compaction: {{ class: UnifiedCompactionStrategy, scaling_parameters: N }} }}
  - {{ name: UCS L10, compaction: {{ class: UnifiedCompactionStrategy, scaling_parameters: L10 }} }}
"""


def sweep(*words, code=0):
    done = subprocess.run([RONDO, "sweep", *map(str, words)], capture_output=True, text=True, env=ENVIRONMENT,
                          timeout=900)
    assert done.returncode == code, f"{words}: exit {done.returncode}: {done.stdout}{done.stderr}"
    return done


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("sweep") / "quick.yaml"
    path.write_text(SWEEP.format(top=TOP))
    return path


@pytest.fixture(scope="module")
def swept(file):
    """Interrupted once the first setting is done, and gone on with: (rows of before, all rows, folder)."""
    out = file.parent / "out"
    first = subprocess.Popen([RONDO, "sweep", file, "--out", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, env=ENVIRONMENT)
    until((out / "sweep.json").exists, 600)
    first.send_signal(signal.SIGINT)
    _, errors = first.communicate(timeout=120)
    assert first.returncode == 130, errors
    assert "interrupted" in errors and "goes on" in errors
    assert not (out / "sweep.run").exists()
    before = json.loads((out / "sweep.json").read_text())["rows"]
    again = sweep(file, "--out", out, "--json")
    assert json.loads(again.stdout) == json.loads((out / "sweep.json").read_text())
    return before, json.loads(again.stdout)["rows"], out


def test_an_interrupted_sweep_goes_on_behind_the_rows_that_are_done(swept):
    before, rows, out = swept
    assert 1 <= len(before) < 3
    assert rows[:len(before)] == before  # the same to the last digit, timings too
    assert [row["name"] for row in rows] == ["UCS T4", "UCS N", "UCS L10"]
    assert sorted(p.name for p in out.iterdir()) == ["sweep.html", "sweep.json"]


def test_what_was_measured_is_not_written_over(file, swept, tmp_path):
    out, other = swept[2], tmp_path / "other.yaml"
    kept = (out / "sweep.json").read_bytes()
    other.write_text(file.read_text().replace("cold: 3", "cold: 4"))
    assert "is of another sweep" in sweep(other, "--out", out, code=1).stderr
    assert "is of another sweep" in sweep(other, "--out", out, "--model", code=1).stderr
    assert "has measured rows" in sweep(file, "--out", out, "--model", code=1).stderr
    assert (out / "sweep.json").read_bytes() == kept
    sweep(other, "--out", tmp_path / "predicted", "--model")
    sweep(file, "--out", tmp_path / "predicted", "--model")  # costs nothing: written over
    (tmp_path / "predicted" / "sweep.json").write_bytes(kept[:len(kept) // 2])
    assert "damaged" in sweep(file, "--out", tmp_path / "predicted", code=1).stderr


def test_two_sweeps_are_not_at_work_in_one_folder(file, tmp_path):
    lock = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert "another sweep is at work" in sweep(file, "--out", tmp_path, "--model", code=1).stderr
    os.close(lock)
    sweep(file, "--out", tmp_path, "--model")


def test_the_settings_are_in_their_order(swept):
    t4, n, l10 = swept[1]
    assert t4["rewrites_per_byte"] < n["rewrites_per_byte"] < l10["rewrites_per_byte"]
    assert l10["sstables_per_read"] < t4["sstables_per_read"]
    for row in swept[1]:
        assert row["space_over_floor"] >= 0.999
        assert row["after_major"]["sstables_per_read"] == 1
        assert abs(row["after_major"]["space_over_floor"] - 1) < 1e-9
        assert row["after_major"]["data_bytes"] == pytest.approx(row["stops"][-1]["floor_bytes"], rel=0.01)


def test_the_model_is_near_what_was_measured(swept):
    for row in swept[1]:
        predicted = row["predicted"]
        assert predicted["rewrites_per_byte"] == pytest.approx(row["rewrites_per_byte"], rel=0.1), row["name"]
        assert predicted["sstables_per_read"] == pytest.approx(row["sstables_per_read"], abs=0.5), row["name"]


def test_means_are_over_the_stops(swept):
    for row in swept[1]:
        assert [stop["flush"] for stop in row["stops"]] == [53, 55, 57, 58, 59, 60]
        mean = sum(stop["rewrites_per_byte"] for stop in row["stops"]) / 6
        assert row["rewrites_per_byte"] == pytest.approx(mean)
        for stop in row["stops"]:
            assert sum(stop["spread"]) == pytest.approx(1)
            assert 0 < stop["warm_p50_us"] <= stop["warm_p99_us"]


def test_the_page_opens_without_a_network(swept):
    page = (swept[2] / "sweep.html").read_text()
    assert page.startswith("<!doctype html>") and page.count("<svg") == 3
    for outside in ("<script", "<link", "<img", "url(", "@import"):
        assert outside not in page
    for name in ("UCS T4", "UCS N", "UCS L10"):
        assert page.count(f">{name}<") >= 4


def test_a_prediction_needs_no_folder_and_is_at_once(file):
    table = sweep(file, "--model").stdout.splitlines()
    assert "predicted" in table[0] and len(table) == 5
    rows = json.loads(sweep(file, "--model", "--json").stdout)["rows"]
    assert [row["name"] for row in rows] == ["UCS T4", "UCS N", "UCS L10"]
    assert all("stops" not in row and row["predicted"]["rewrites_per_byte"] > 0 for row in rows)


def test_what_is_wrong_is_one_line(file, tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(file.read_text().replace("flushes: 57", "flush: 57"))
    errors = sweep(wrong, "--out", tmp_path / "out", code=1).stderr.splitlines()
    assert errors == [f"rondo: {wrong}:6:9: flush: is not known here; allowed: flushes"]
    assert not (tmp_path / "out").exists()
    assert "--out" in sweep(file, code=2).stderr
    assert "No such file" in sweep(tmp_path / "none.yaml", "--model", code=1).stderr


def test_a_full_disk_keeps_what_is_done(file, tmp_path):
    """A disk of a few megabytes, mounted where only this command sees it."""
    out, script = tmp_path / "disk", "mount -t tmpfs -o size=%s tmpfs %s && exec %s sweep %s --out %s"
    out.mkdir()
    if subprocess.run(["unshare", "-Urm", "mount", "-t", "tmpfs", "tmpfs", out], capture_output=True).returncode:
        pytest.skip("no mounts in a namespace of its own here")
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", script % ("4m", out, RONDO, file, out)],
                          capture_output=True, text=True, env=ENVIRONMENT, timeout=600)
    assert done.returncode == 1, done.stderr
    assert "space" in done.stderr and "goes on" in done.stderr, done.stderr


def test_a_ring_is_started_measured_and_stopped(file, tmp_path):
    text = file.read_text().replace("rows: 20000", "on: ring-1\nrows: 6000").replace("flushes: 57", "flushes: 4")
    text = text.replace("rows: 5000, flushes: 3", "rows: 3000, flushes: 1").replace("scale: 0.006\n", "")
    text = text.replace("stops: [53, 55, 57, 58, 59, 60]", "stops: [4, 5]").split("  - { name: UCS N")[0]
    ring = tmp_path / "ring.yaml"
    ring.write_text(text)
    row, = json.loads(sweep(ring, "--out", tmp_path / "out", "--json").stdout)["rows"]
    assert row["name"] == "UCS T4" and [stop["flush"] for stop in row["stops"]] == [4, 5]
    assert row["predicted"]["rewrites_per_byte"] == pytest.approx(row["rewrites_per_byte"], rel=0.1)
    assert row["predicted"]["sstables_per_read"] == pytest.approx(row["sstables_per_read"], abs=0.5)
    assert row["after_major"]["sstables_per_read"] == 1
    for stop in row["stops"]:
        assert sum(stop["spread"]) == pytest.approx(1)
        mean = sum(n * share for n, share in enumerate(stop["spread"]))
        assert mean == pytest.approx(stop["sstables_per_read"], abs=0.05)  # which counts reads of other tables, too
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["sweep.html", "sweep.json"]

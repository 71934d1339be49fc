"""The tables of tests/golden: made from their scripts, and whether they are what is checked in."""

# SPDX-License-Identifier: Apache-2.0
import filecmp
import json
import pathlib
import shutil
import tempfile

from cassandra import HERE

GOLDEN = HERE.parent / "golden"


def scripts(cassandra, names=()):
    """Those of NAME.cql that this version makes; a line `-- only oa` leaves the other out."""
    for script in sorted(GOLDEN.glob("*.cql")):
        only = [
            line.split()[2]
            for line in script.read_text().split("\n")
            if line.startswith("-- only ")
        ]
        if (not names or script.stem in names) and (not only or cassandra.format in only):
            yield script


def make(cassandra, script, into):
    """Components, schema, dump and statistics into a folder made anew; what verify found."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        data = scratch / cassandra.ask("script", script, scratch)["data"]
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(parents=True)
        for file in [*data.parent.iterdir(), scratch / "schema.cql"]:
            shutil.copyfile(file, into / file.name)
    data = into / data.name
    cassandra.ask("dump", data, into / "dump.jsonl")
    stats = cassandra.ask("stats", data).items()
    lines = [
        f"{json.dumps(name)}: {json.dumps(value, sort_keys=True)}" for name, value in sorted(stats)
    ]
    (into / "stats.json").write_text("{" + ",\n ".join(lines) + "}\n")
    return cassandra.ask("verify", data, into / "schema.cql")


def stale(cassandra, scratch):
    """The files that are not to the byte what Cassandra makes of the scripts.

    Not looked at: the dump, whose `expired` changes by the hour, and TOC.txt, whose order is
    chance.
    """
    found, free = [], {"dump.jsonl", f"{cassandra.format}-1-big-TOC.txt"}
    for script in scripts(cassandra):
        make(cassandra, script, scratch / script.stem)
        checked_in = GOLDEN / cassandra.format / script.stem
        names = {
            file.name for folder in (scratch / script.stem, checked_in) for file in folder.iterdir()
        } - free
        _, differing, missing = filecmp.cmpfiles(
            scratch / script.stem, checked_in, names, shallow=False
        )
        found += [
            f"{checked_in / name} is not what {script.name} makes" for name in differing + missing
        ]
        shutil.rmtree(scratch / script.stem)
    return found

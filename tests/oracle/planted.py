"""Is the comparison worth anything?  Differences planted in a dump and in statistics must be found.

Tables that Cassandra wrote are dumped, written again and dumped again: equal.  Then one thing is
changed in the text at a time, each kind of change where the table has a place for it.  And the
golden tables must be what their scripts make.  Rondo compacts files with another now or gc_before,
or other files, than Cassandra: that must be seen too.
"""

# SPDX-License-Identifier: Apache-2.0
import copy
import json
import re
import shutil

import compacted
from cassandra import Cassandra
from compare import dumps_differ, stats_differ
from golden_tables import stale

TABLES = 40

# name, what to look for, what to put there: each is a difference that one might make when reading.
PLANTS = [
    ("a timestamp", r'"tstamp":"(-?\d+)"', lambda m: f'"tstamp":"{int(m[1]) + 1}"'),
    (
        "a deletion's time",
        r'"marked_deleted":"(-?\d+)"',
        lambda m: f'"marked_deleted":"{int(m[1]) - 1}"',
    ),
    (
        "a local deletion time",
        r'"local_delete_time":"(\d+)"',
        lambda m: f'"local_delete_time":"{int(m[1]) + 1}"',
    ),
    ("an expiry", r'"expires_at":"(\d+)"', lambda m: f'"expires_at":"{int(m[1]) + 1}"'),
    ("a TTL", r'"ttl":(\d+)', lambda m: f'"ttl":{int(m[1]) + 1}'),
    ("an empty value for null", r'"value":""', lambda m: '"value":null'),
    (
        "a number's last digit",
        r'"value":(-?\d*)(\d)(?=[,}])',
        lambda m: f'"value":{m[1]}{(int(m[2]) + 1) % 10}',
    ),
    ("a decimal's scale", r'"value":(-?\d+\.\d+)(?=[,}])', lambda m: f'"value":{m[1]}0'),
    ("a text", r'"value":"([^"\\]+)"', lambda m: f'"value":"{m[1]}x"'),
    ("a boolean", r'"value":true', lambda m: '"value":false'),
    ("a cell that is lost", r'\{"name":[^{}]*\},?(?=\{)', lambda m: ""),
    ("a name", r'"name":"(\w+)"', lambda m: f'"name":"{m[1]}x"'),
    ("a path", r'"path":\["([^"]*)"\]', lambda m: f'"path":["{m[1]}x"]'),
    ("a bound's kind", r'"type":"inclusive"', lambda m: '"type":"exclusive"'),
    ("a bound's side", r'"start":', lambda m: '"end":'),
    (
        "a row's place",
        r'"type":"row","position":(\d+)',
        lambda m: f'"type":"row","position":{int(m[1]) + 1}',
    ),
    ("a static row", r'"type":"static_block"', lambda m: '"type":"row"'),
    ("a partition that is lost", r"\A[^\n]*\n", lambda m: ""),
    ("two partitions in the wrong order", r"\A([^\n]+)\n([^\n]+)\n", lambda m: f"{m[2]}\n{m[1]}\n"),
    ("a key", r'"key":\["', lambda m: '"key":["x'),
    (
        "a row twice",
        r'"rows":\[(\{"type":"row".*?"cells":\[\]\})',
        lambda m: f'"rows":[{m[1]},{m[1]}',
    ),
]


def reals(header):
    kinds = [
        header["key_type"],
        *header["clustering_types"],
        *header["static_columns"].values(),
        *header["regular_columns"].values(),
    ]
    return any("DoubleType" in kind or "FloatType" in kind for kind in kinds)


def plant(dump, stats, found):
    """Problems: plants in the dump that were not seen; found counts those that were."""
    problems = []
    for name, pattern, put in PLANTS:
        changed = re.sub(pattern, put, dump, count=1)
        if changed == dump or name == "a decimal's scale" and reals(stats["header"]):
            continue
        if dumps_differ(dump, changed, stats["header"], True):
            found[name] = found.get(name, 0) + 1
        else:
            problems.append(f"not seen: {name}, planted in\n{dump[:2000]}")
    return problems


def plant_statistics(stats):
    problems = []
    for name, before in stats.items():
        changed = copy.deepcopy(stats)
        changed[name] = (
            before + 1
            if isinstance(before, (int, float)) and not isinstance(before, bool)
            else [before, "x"]
        )
        if not stats_differ(stats, changed):
            problems.append(f"not seen: another {name}")
    return problems


def equal(cassandra, data, stats, folder):
    """Problems of a table that is written again: it must be equal to itself."""
    again = cassandra.ask("rewrite", data, folder / "again", 64)
    cassandra.ask("dump", again, folder / "again.jsonl")
    dumps = [(folder / name).read_text() for name in ("dump.jsonl", "again.jsonl")]
    cassandra.ask("raw", data, folder / "raw.jsonl")
    cassandra.ask("raw", again, folder / "raw2.jsonl")
    is_same = (folder / "raw.jsonl").read_bytes() == (folder / "raw2.jsonl").read_bytes()
    # An empty partition, or a column with nothing in it, is in the first and not in the second.
    found = dumps_differ(
        *[re.sub(r'"position":\d+', '"position":0', dump) for dump in dumps], stats["header"], True
    )
    return [f"written again, {data}: {found}"] if is_same and found else []


def check_compactions(scratch, seed, versions, compactions):
    """Problems: kinds of differences between compactions that were seen in no table."""
    found = {}
    for version in versions:
        with Cassandra(version) as cassandra:
            for one in range(seed, seed + TABLES):
                folder = scratch / f"planted-{one}"
                folder.mkdir()
                compactions.planted(cassandra, one, folder, found)
                shutil.rmtree(folder)
    print(
        "planted in compactions, tables in which it was seen: "
        + ", ".join(f"{kind}: {count}" for kind, count in found.items()),
        flush=True,
    )
    return [f"seen in no compaction: {kind}" for kind in compacted.PLANTS if kind not in found]


def check(scratch, seed, versions, compactions):
    """How many differences were not found, or found where there is none."""
    problems, found = check_compactions(scratch, seed, versions, compactions), {}
    for version in versions:
        with Cassandra(version) as cassandra:
            problems += stale(cassandra, scratch)
            for one in range(seed, seed + TABLES):
                folder = scratch / f"planted-{one}"
                folder.mkdir()
                data = folder / cassandra.ask("write", one, folder)["data"]
                cassandra.ask("dump", data, folder / "dump.jsonl")
                stats = cassandra.ask("stats", data)
                problems += equal(cassandra, data, stats, folder)
                problems += plant((folder / "dump.jsonl").read_text(), stats, found)
                problems += plant_statistics(json.loads(json.dumps(stats)))
                shutil.rmtree(folder)
    problems += [f"no table had a place for: {name}" for name, _, _ in PLANTS if name not in found]
    for problem in problems:
        print(problem)
    print(
        f"planted differences: {sum(found.values())} of {len(found)} kinds found, "
        f"{len(problems)} problems",
        flush=True,
    )
    return len(problems)

"""The direction `compact`: the same files, merged by Cassandra's compaction and by Rondo's.

Cassandra writes some SSTables of a random table and compacts them, some with one more beside them
that stays; Rondo compacts copies of the same files at the same now and gc_before.  Cassandra then
prints both outputs raw (hex, nothing lost): equal, as are the statistics of what is in them and how
many partitions stood in how many inputs.  One difference is intended: where a file says a column's
deletion twice, since its row, range or partition was deleted at the same time, Cassandra leaves
that as it is if no other file has the row, and Rondo says it once.  Data.db of both is the same
where the outputs' headers agree: Rondo takes the minima of the inputs' headers and all columns of
the table, Cassandra the minima of their statistics and the columns of their headers.
"""

# SPDX-License-Identifier: Apache-2.0
import itertools
import json
import pathlib
import shutil

from compare import stats_differ

# What depends on how the header codes times, on compression, or on who wrote the file.
NOT_OF_ROWS = (
    "bloom_filter_fp_chance",
    "commit_log_intervals",
    "compression",
    "compression_ratio",
    "header",
    "host_id",
    "partition_size_histogram",
    "sstable_level",
    "token_space_coverage",
    "version",
)


# What Rondo is told otherwise than Cassandra: each must be seen in some table.
PLANTS = {
    "a gc_before that is later": lambda drawn: {"gc_before": drawn["gc_before"] + 3000},
    "a gc_before that is earlier": lambda drawn: {"gc_before": drawn["gc_before"] - 3000},
    "a now that is earlier": lambda drawn: {"now": drawn["now"] - 4000},
    "an input that is left out": lambda drawn: {"outside": drawn["outside"] + 1},
    "the file outside, merged too": lambda drawn: {"outside": 0},
    "no file outside": lambda drawn: {"is_alone": True},
    "no dropped column": lambda drawn: {"dropped": ""},
}


class Unequal(Exception):
    """What differs, in words."""


def raw_differ(left, right):
    """None, or the first line that differs, of the texts of two raw dumps."""
    for number, (one, other) in enumerate(
        itertools.zip_longest(left.splitlines(), right.splitlines()), 1
    ):
        if one != other:
            return f"line {number}:\n    {one}\n    {other}"
    return None


def row_said_once(row, cover):
    """The row without deletions of columns that the row's own, or the cover, says as well."""
    cover = max(cover, row[3] or [])
    cells = row[-1]
    kept = []
    for at, cell in enumerate(cells):
        if len(cell) > 2:
            kept.append(cell)
            continue
        deletion = cell[1] if cell[1] and cell[1] > cover else None
        has_cells = any(other[0] == cell[0] for other in cells[at + 1 :])
        if deletion or has_cells:
            kept.append([cell[0], deletion])
    return [*row[:-1], kept]


def said_once(text):
    """A raw dump as a list, in which no column's deletion repeats what covers it."""
    found, partition, opened = [], [], []
    for one in map(json.loads, text.splitlines()):
        if one[0] == "partition":
            partition, opened = one[2] or [], []
        elif one[0] == "marker":
            opened = one[3] or []
        else:
            one = row_said_once(one, max(partition, opened))
        found.append(one)
    return found


class Compacted:
    """One seed's table after another; what they had in them."""

    def __init__(self, program, compactor):
        self.program = program  # runs one, and gives what it prints
        self.compactor = compactor
        self.tables = self.files = self.partitions = self.rows = self.purged = 0
        self.outside = self.dropped = self.emptied = self.headers = self.repeated = 0

    def table(self, cassandra, seed, folder):
        """Raises Unequal at the first difference."""
        drawn = cassandra.ask("inputs", seed, folder)
        left = self.by_cassandra(cassandra, drawn, folder)
        right = self.by_rondo(cassandra, drawn, folder)
        self.compare(cassandra, left, right, folder)
        self.count(drawn, right)

    @staticmethod
    def inputs_count(drawn):
        return len(drawn["files"]) - drawn["outside"]

    def by_cassandra(self, cassandra, drawn, folder):
        return cassandra.ask(
            "compact",
            folder / "schema.cql",
            drawn["now"],
            drawn["gc_before"],
            folder / "cassandra",
            self.inputs_count(drawn),
            *[folder / name for name in drawn["files"]],
        )

    def by_rondo(self, cassandra, drawn, folder):
        shutil.rmtree(folder / "rondo", ignore_errors=True)
        shutil.copytree(folder / "data", folder / "rondo")
        for name in drawn["files"][self.inputs_count(drawn) :] if "is_alone" in drawn else []:
            of_it = pathlib.Path(name.replace("data", "rondo", 1).removesuffix("Data.db"))
            for file in (folder / of_it.parent).glob(of_it.name + "*"):
                file.unlink()
        words = [self.compactor, cassandra.format, folder / "rondo"]
        words += [pathlib.Path(drawn["folder"]).relative_to("data"), self.inputs_count(drawn)]
        words += [drawn["now"], drawn["gc_before"], *drawn.get("dropped", "").split()]
        return json.loads(self.program(*words))

    def planted(self, cassandra, seed, folder, found):
        """Adds to found[kind] whether the difference was seen; what Rondo would not do is none."""
        drawn = cassandra.ask("inputs", seed, folder)
        left = self.by_cassandra(cassandra, drawn, folder)
        for kind, change in PLANTS.items():
            changed = dict(drawn, **change(drawn))
            if changed == drawn or self.inputs_count(changed) == 0:
                continue
            try:
                self.compare(cassandra, left, self.by_rondo(cassandra, changed, folder), folder)
            except Unequal:
                found[kind] = found.get(kind, 0) + 1

    def compare(self, cassandra, left, right, folder):
        self.expect("where it is", "data" in left, right["data"] is not None)
        self.expect("partitions of 1, 2, ... inputs", left["merged"], right["merged"])
        if "data" not in left:
            self.emptied += 1
            return
        texts = []
        for name, data in (("left", left["data"]), ("right", right["data"])):
            cassandra.ask("raw", data, folder / f"{name}.jsonl")
            texts.append((folder / f"{name}.jsonl").read_text())
        found = raw_differ(*texts)
        if found and said_once(texts[0]) == said_once(texts[1]):
            self.repeated += 1
            return
        if found:
            raise Unequal(f"the outputs differ (above Cassandra's, below Rondo's) at {found}")
        cassandra.ask("verify", right["data"])
        stats = [cassandra.ask("stats", one["data"]) for one in (left, right)]
        found = stats_differ(*stats, NOT_OF_ROWS)
        if found:
            raise Unequal(f"the statistics differ (left Cassandra's, right Rondo's) at {found}")
        self.compare_bytes(stats, left, right)

    def compare_bytes(self, stats, left, right):
        if stats[0]["header"] != stats[1]["header"]:
            return
        self.headers += 1
        same = [pathlib.Path(one["data"]).read_bytes() for one in (left, right)]
        self.expect("Data.db", *[data.hex() for data in same])

    @staticmethod
    def expect(what, left, right):
        if left != right:
            raise Unequal(f"{what}: {left} by Cassandra, {right} by Rondo"[:2000])

    def count(self, drawn, right):
        self.tables += 1
        self.files += len(drawn["files"])
        self.outside += drawn["outside"]
        self.dropped += "dropped" in drawn
        for name in ("partitions", "rows", "purged"):
            setattr(self, name, getattr(self, name) + right[name])

    def told(self):
        return (
            f"compacted: {self.tables} tables of {self.files} files, {self.outside} with one "
            f"outside, {self.dropped} with a dropped column, {self.emptied} of which nothing was "
            f"left; {self.partitions} partitions and {self.rows} rows written, {self.purged} "
            f"tombstones and expired cells purged; the headers of {self.headers} agree, and of "
            f"these Data.db; in {self.repeated} Cassandra's says a column's deletion twice"
        )

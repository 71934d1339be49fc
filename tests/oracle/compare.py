"""Two dumps, or two statistics, as parsed things: the first place where they differ, in words.

Dumps are compared after these changes (README.md): `expired`, `table kind` and, where asked, a
partition's position are left out; numbers keep their digits, but in columns of floats they are the
number that the digits mean.  Maps stay lists of pairs: order counts, and so do doubles.
"""

# SPDX-License-Identifier: Apache-2.0
import json
import re
import struct


class Pairs(list):
    """A JSON object as it was written."""


class Number(str):
    """A JSON number as it was written."""


def parse(line):
    return json.loads(
        line, object_pairs_hook=Pairs, parse_float=Number, parse_int=Number, parse_constant=Number
    )


INNER_REAL = re.compile(r"-?\d+\.\d+(?:E-?\d+)?")


def real(text, size):
    """The float (size 4) or double (8) that the text means, its bytes in hex; in the text of a
    tuple, a list or a map that is a key, each of those in it."""

    def packed(text):
        number = float(text)
        try:
            return struct.pack(">f" if size == 4 else ">d", number).hex()
        except OverflowError:  # a double beside floats
            return struct.pack(">d", number).hex()

    try:
        return packed(text)
    except ValueError:
        return INNER_REAL.sub(lambda match: packed(match.group()), text)


def real_size(kind):
    """4, 8, or 0 where a type has no floats in it."""
    return 4 if "FloatType" in kind else 8 if "DoubleType" in kind else 0


def value(found, size):
    """A value in its canonical form; size as of real_size."""
    if isinstance(found, Pairs):
        return [(real(name, size) if size else name, value(inner, size)) for name, inner in found]
    if isinstance(found, list):
        return [value(inner, size) for inner in found]
    if isinstance(found, Number):
        return real(found, size) if size else "number " + found
    return found


class Dump:
    """What sstabledump -t -l printed, with the column types that the statistics' header names."""

    def __init__(self, text, header, with_position=True):
        self.with_position = with_position
        self.columns = {}
        for name, kind in [*header["static_columns"].items(), *header["regular_columns"].items()]:
            self.columns[name] = real_size(kind)
        self.key_size = real_size(header["key_type"])
        self.clustering_sizes = [real_size(kind) for kind in header["clustering_types"]]
        self.partitions = [self.partition(parse(line)) for line in text.split("\n") if line]

    def partition(self, pairs):
        members = dict(pairs)
        members.pop("table kind", None)
        head = dict(members["partition"])
        if not self.with_position:
            head.pop("position", None)
        head["key"] = [real(part, self.key_size) if self.key_size else part for part in head["key"]]
        members["partition"] = self.plain(head)
        members["rows"] = [self.row(dict(row)) for row in members["rows"]]
        return members

    def plain(self, found):
        """Members whose values are no values of a column."""
        if isinstance(found, Pairs):
            found = dict(found)
        if isinstance(found, dict):
            members = {
                name: self.plain(inner) for name, inner in found.items() if name != "expired"
            }
            if "clustering" in found:
                members["clustering"] = self.clustering(found["clustering"])
            return members
        return [self.plain(inner) for inner in found] if isinstance(found, list) else found

    def clustering(self, values):
        return [value(one, size) for one, size in zip(values, self.clustering_sizes)] + values[
            len(self.clustering_sizes) :
        ]

    def row(self, row):
        cells = row.pop("cells", None)
        members = self.plain(row)
        if cells is not None:
            members["cells"] = [self.cell(dict(cell)) for cell in cells]
        return members

    def cell(self, cell):
        name = cell["name"]
        bare = name[1:-1].replace('""', '"') if name.startswith('"') else name
        size = self.columns.get(bare, 0)
        parts = {part: cell.pop(part) for part in ("value", "path") if part in cell}
        members = self.plain(cell)
        if "value" in parts:
            members["value"] = value(parts["value"], size)
        if "path" in parts:
            members["path"] = [real(one, size) if size else one for one in parts["path"]]
        return members


def difference(left, right, where=""):
    """None, or the first place where two parsed things differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        for name in sorted(left.keys() | right.keys()):
            if name not in left or name not in right:
                return f"{where}.{name} is missing on the {'left' if name not in left else 'right'}"
            found = difference(left[name], right[name], f"{where}.{name}")
            if found:
                return found
        return None
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        for at, (one, other) in enumerate(zip(left, right)):
            found = difference(one, other, f"{where}[{at}]")
            if found:
                return found
        if len(left) != len(right):
            longer = left if len(left) > len(right) else right
            return (
                f"{where}: {len(left)} on the left, {len(right)} on the right; the first more: "
                + shown(longer[min(len(left), len(right))])
            )
        return None
    if isinstance(left, float) and isinstance(right, (int, float)) and not isinstance(right, bool):
        return (
            None
            if abs(left - right) <= 1e-9 * max(1.0, abs(left))
            else f"{where}: {left} and {right}"
        )
    return (
        None
        if type(left) is type(right) and left == right
        else f"{where}: {shown(left)} and {shown(right)}"
    )


def shown(thing):
    text = json.dumps(thing, ensure_ascii=False)
    return text if len(text) < 400 else text[:400] + "..."


def dumps_differ(left, right, header, with_position):
    """None, or the first difference of two dumps (texts)."""
    return difference(
        Dump(left, header, with_position).partitions, Dump(right, header, with_position).partitions
    )


def stats_differ(left, right, without=()):
    """None, or the first difference among what both statistics name."""
    both = (left.keys() & right.keys()) - set(without)
    if len(both) < 20:
        return f"only {len(both)} names are in both"
    return difference({name: left[name] for name in both}, {name: right[name] for name in both})

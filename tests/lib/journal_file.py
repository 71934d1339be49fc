"""journal_file.py - reads and rewrites the records of a journal's segment (io/journal_format.h).

For tests that damage one on purpose, or make one that a later version could have written.
"""

import struct

BLOCK, MARK, HEAD = 4096, 64, 8

_TABLE = []
for _n in range(256):
    for _ in range(8):
        _n = _n >> 1 ^ (0x82F63B78 if _n & 1 else 0)
    _TABLE.append(_n)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def checksum(segment, at, salt, record):
    return crc32c(struct.pack(">QQII", segment, at, len(record), salt) + record)


def salt_of(data):
    """All marks of a segment have the same salt."""
    return struct.unpack(">I", data[60:64])[0]


def records(path):
    """(offset of the record's bytes, the record) of every record in the file, each verified."""
    data, segment, at, found = path.read_bytes(), int(path.stem), BLOCK, []
    while at + MARK <= len(data) and any(data[at : at + MARK]):
        body, count = struct.unpack(">II", data[at + 24 : at + 32])
        where, end = at + MARK, at + MARK + body
        while where < end:
            size, crc = struct.unpack(">II", data[where : where + HEAD])
            record = data[where + HEAD : where + HEAD + size]
            assert crc == checksum(segment, where, salt_of(data), record)
            found.append((where + HEAD, record))
            where += HEAD + size
            count -= 1
        assert count == 0
        at += -(-(MARK + body) // BLOCK) * BLOCK
    return found


def rewrite(path, change):
    """Each record becomes change(record), which is of the same size; the checksums follow."""
    data = bytearray(path.read_bytes())
    for at, record in records(path):
        new = change(record)
        assert len(new) == len(record)
        crc = checksum(int(path.stem), at - HEAD, salt_of(data), new)
        data[at - 4 : at + len(record)] = struct.pack(">I", crc) + new
    path.write_bytes(data)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Cut a small sample out of a recording, at record boundaries.

usage: cut_messages.py IN_DIR OUT_DIR BYTES_PER_RANK MAX_RECORD_BYTES

IN_DIR holds rank0.msg, rank1.msg, ... (format: examples/data/README.md). Of each rank the first records of at
most MAX_RECORD_BYTES are copied, whole, until BYTES_PER_RANK is reached; at least one.
"""
import pathlib
import struct
import sys


def records(blob):
    """Yield each record (header and payload) of a rank's file; a torn last record is an error."""
    at = 0
    while at < len(blob):
        if at + 8 > len(blob):
            raise ValueError("the file ends inside a record header")
        _, length = struct.unpack_from("<ii", blob, at)
        if length < 0 or at + 8 + length > len(blob):
            raise ValueError("the file ends inside a payload")
        yield blob[at:at + 8 + length]
        at += 8 + length


def cut(blob, budget, max_record):
    out = b""
    for record in records(blob):
        if len(record) - 8 > max_record:
            continue
        if out and len(out) + len(record) > budget:
            break
        out += record
    return out


def main(argv):
    if len(argv) != 5:
        sys.exit(__doc__)
    source, target = pathlib.Path(argv[1]), pathlib.Path(argv[2])
    budget, max_record = int(argv[3]), int(argv[4])
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("rank*.msg")):
        sample = cut(path.read_bytes(), budget, max_record)
        (target / path.name).write_bytes(sample)
        print(f"{target / path.name}: {len(sample)} bytes")


if __name__ == "__main__":
    main(sys.argv)

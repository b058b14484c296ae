#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""With four ranks on each of four hosts an allreduce, or a reduce_scatter, that combines the ranks of a NIC first sends at most a
quarter of the bytes of the same algorithm over all ranks, and a broadcast and a reduction less than theirs, by the counters of the NICs.

usage: coll_nics.py NOF COLL_MPI"""
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

NOF, PROGRAM = sys.argv[1], sys.argv[2]
ENV = {k: v for k, v in os.environ.items() if not k.startswith("NOF_")}
CALLS = "10"
HEADERS = 0.03  # acknowledgements and envelopes, which do not become fewer as bytes do
# What the program needs beside the collective, and what is chosen between NICs.
COMMON = "allreduce 16 8 doubling\nbarrier 16 any dissemination\n"


@functools.cache
def sent(work, driver, collective, size, rows):
    stats, table = work / "stats.json", work / "table"
    table.write_text(COMMON + rows)
    subprocess.run([NOF, "run", "--hosts", "4", "-n", "16", "--feature", f"collectives={driver}", "--stats", stats,
                    PROGRAM, collective, str(size), CALLS, "0"],
                   env=ENV | {"NOF_COLL_TABLE": str(table)}, stdout=subprocess.DEVNULL, timeout=100, check=True)
    told = json.loads(stats.read_text())
    return sum(row["counters"]["port.tx_bytes"] for row in told["rows"]), told["library"]["counters"]


def check(what, holds):
    if not holds:
        sys.exit(f"not so: {what}")


def compare(work, driver, collective, size, flat, levels, most):
    idle, _ = sent(work, driver, collective, 1, f"{collective} 16 any {flat}\n")
    flatly, _ = sent(work, driver, collective, size, f"{collective} 1 any {flat}\n")
    combined, counts = sent(work, driver, collective, size,
                            f"{collective} 16 any {levels}\n{collective} 1 any {flat}\n" if levels else "")
    ratio = (combined - idle) / (flatly - idle)
    print(f"{driver}, {collective} of {size} bytes: {flat} {flatly}, {levels or 'auto'} {combined} bytes, "
          f"without what the rest takes {ratio:.3f}")
    by_levels = counts.get(f"{collective}_hierarchical", 0) + counts.get(f"{collective}_lanes", 0)
    check(f"{collective} was hierarchical", by_levels >= int(CALLS) * 16)
    check(f"at most {most} of the bytes", ratio <= most + HEADERS)


def main():
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        for driver in ("nic", "host"):
            compare(work, driver, "allreduce", 60000, "doubling", "hierarchical", 0.25)
            compare(work, driver, "allreduce", 400000, "halving", "lanes", 0.25)
        compare(work, "host", "reduce_scatter", 4096, "pairwise", "lanes", 0.25)
        compare(work, "host", "allreduce", 4000, "doubling", "", 0.25)
        compare(work, "host", "allreduce", 400000, "halving", "", 0.25)


if __name__ == "__main__":
    main()

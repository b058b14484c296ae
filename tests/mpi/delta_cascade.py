#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A cascade of messages in increments through eight hosts: each hop's NIC reads and writes the payload once, the library copies
nothing, and every message goes in increments. By counters; the program compares what each task got with what was sent.

usage: delta_cascade.py NOF DELTA_MPI os|annotation"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

NOF, PROGRAM, TRIGGER = sys.argv[1:4]
HOSTS, BYTES, PAGE_NS = 8, 409600, 250000 # so long that the program does it once: what is short it repeats, for 0.2 s
FORMS = 3 # the program sends each message blocking, non-blocking and in increments,
WARM_BYTES = 32768 # and before that, once each, so much
ALL_BYTES = FORMS * (WARM_BYTES + BYTES)
ENV = {k: v for k, v in os.environ.items() if not k.startswith("NOF_")}


def check(what, holds):
    if not holds:
        sys.exit(f"not so: {what}")


def main():
    with tempfile.TemporaryDirectory() as name:
        stats = pathlib.Path(name) / "stats.json"
        command = [PROGRAM, TRIGGER, "16384", str(PAGE_NS), "1", "cascade", str(BYTES)]
        subprocess.run([NOF, "run", "--hosts", str(HOSTS), "-n", str(HOSTS), "--stats", stats, *command], env=ENV, timeout=100,
                       check=True)
        told = json.loads(stats.read_text())
    library = told["library"]["counters"]
    nics = [row["counters"] for row in told["rows"]]
    print({k: v for k, v in library.items() if k.startswith("delta_")})
    print([{k: v for k, v in nic.items() if k.startswith(("dma.", "delta."))} for nic in nics])
    check("all ranks told", told["library"]["ranks"] == HOSTS == len(nics))
    for i, nic in enumerate(nics):
        check(f"NIC {i} wrote each byte once", nic["dma.write_bytes"] == (ALL_BYTES if i > 0 else 0))
        check(f"NIC {i} read each byte once", nic["dma.read_bytes"] == (ALL_BYTES if i < HOSTS - 1 else 0))
        check(f"NIC {i} had delta messages", nic["delta.tx"] == 2 * (i < HOSTS - 1) and nic["delta.rx"] == 2 * (i > 0))
    check("two messages in increments a hop", library["delta_sends"] == library["delta_receives"] == 2 * (HOSTS - 1))
    check("none went whole", library["delta_sends_plain"] == 0) # a task that comes late may receive one that is there already
    check("the library copied nothing", library["delta_copied_bytes"] == 0)
    # All but the last increment, of 25, is sure to be told of before the end.
    check("most of it was ready early", library["delta_early_bytes"] >= (HOSTS - 1) * (BYTES - 2 * 16384))
    check("in increments", library["delta_increments"] >= (HOSTS - 1) * 24)
    if TRIGGER == "os":
        check("by pages", library["delta_faults"] >= (HOSTS - 1) * 24)
    else:
        check("by calls alone", library["delta_faults"] == 0)


if __name__ == "__main__":
    main()

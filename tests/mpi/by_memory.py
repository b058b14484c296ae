#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: by_memory.py NOF all|some RANKS HOSTS PROGRAM [ARG...]
# Runs it with NOF_CHANNELS, or auto; then its ranks must have told that all of its messages went by memory, or some of them (and others
# by the NIC).
import json
import os
import subprocess
import sys
import tempfile

nof, how, ranks, hosts, *program = sys.argv[1:]
with tempfile.TemporaryDirectory() as work:
    stats = os.path.join(work, "stats.json")
    run = subprocess.run([nof, "run", "--hosts", hosts, "-n", ranks, "--stats", stats, *program],
                         env={"NOF_CHANNELS": "auto"} | os.environ)
    if run.returncode != 0:
        sys.exit(run.returncode)
    with open(stats) as file:
        library = json.load(file)["library"]
count = library["counters"]
ends = {name: count[name] for name in ("memory_sends", "nic_sends", "memory_bytes", "nic_bytes", "collectives_nic")}
right = count["memory_sends"] > 0 and (count["nic_sends"] + count["collectives_nic"] == 0) == (how == "all")
if library["ranks"] != int(ranks) or not right:
    sys.exit(f"{library['ranks']} of {ranks} ranks told, and {how} of the messages should have gone by memory: {ends}")

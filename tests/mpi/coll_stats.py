#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `nof run --stats` says of collectives: the algorithms of all ranks that left MPI, who chose them, who went through them and
why; nothing of ranks that left otherwise.

usage: coll_stats.py NOF COLL_MPI"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

NOF, PROGRAM = sys.argv[1], sys.argv[2]
ENV = {k: v for k, v in os.environ.items() if not k.startswith("NOF_")}


def library(work, command, **more):
    stats = work / "stats.json"
    subprocess.run([NOF, "run", "--hosts", "2", "-n", "4", "--feature", "collectives=nic", "--stats", stats, *command],
                   env=ENV | more, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=100, check=False)
    said = json.loads(stats.read_text())["library"]
    return said["ranks"], said["counters"]


def check(what, holds):
    if not holds:
        sys.exit(f"not so: {what}")


def main():
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        bcast = [PROGRAM, "bcast", "1024", "1", "1"]
        ranks, c = library(work, bcast)
        print(ranks, c)
        check("four ranks told", ranks == 4)
        check("trees, by default", c["bcast_tree"] >= 4 and c["bcast_ring"] == 0 and c["selected_by_table"] == 0)
        check("by the NIC", c["collectives_nic"] >= c["bcast_tree"] and c["collectives_host_off"] == 0)
        others = ("collectives_", "selected_by_", "bcast_multicast", "bcast_unicast_", "scatterv_unicast_", "scatterv_group", "delta_",
                  "memory_", "nic_", "polls_", "polling_")
        chosen = sum(v for k, v in c.items() if not k.startswith(others))
        check("each choice has a reason", chosen == sum(v for k, v in c.items() if k.startswith("selected_by_")))

        table = work / "table"
        table.write_text("bcast 4 any ring\n")
        ranks, c = library(work, bcast, NOF_COLL_TABLE=str(table))
        check("rings, by the table", ranks == 4 and c["bcast_ring"] >= 4 and c["bcast_tree"] == 0)
        check("no more than these by the table", c["selected_by_table"] == c["bcast_ring"])
        ranks, c = library(work, [PROGRAM, "alltoall", "64", "1", "1"], NOF_ALLTOALL="bruck")
        check("Bruck, by the environment", c["selected_by_environment"] == c["alltoall_bruck"] >= 4)

        ranks, c = library(work, [PROGRAM, "no-such-collective"])
        check("nothing of ranks that aborted", ranks == 0 and sum(c.values()) == 0)


if __name__ == "__main__":
    main()

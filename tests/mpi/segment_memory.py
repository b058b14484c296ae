#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""In an all-to-all of RANKS ranks on one host, of 4 KiB each, the memory that they share takes at most 1 MiB and 4 KiB for each rank, of
each rank (include/nof/segment.h), by what the kernel has allocated.

usage: segment_memory.py NOF COLL_MPI RANKS"""
import os
import subprocess
import sys
import time

NOF, PROGRAM, RANKS = sys.argv[1], sys.argv[2], int(sys.argv[3])
BOUND = RANKS * (1048576 + 4096 * RANKS)


def below(pid):
    """Its children, and theirs."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = [int(word) for word in file.read().split()]
    except OSError:
        return []
    return [process for child in children for process in (child, *below(child))]


def allocated(pid):
    """Bytes of the job's segment, if the process has it open."""
    folder, most = f"/proc/{pid}/fd", 0
    try:
        for name in os.listdir(folder):
            if os.readlink(f"{folder}/{name}").startswith("/memfd:nof-segment"):
                most = max(most, 512 * os.stat(f"{folder}/{name}").st_blocks)
    except OSError:
        pass  # it ends
    return most


env = {k: v for k, v in os.environ.items() if not k.startswith("NOF_")} | {"NOF_CHANNELS": "auto"}
job = subprocess.Popen([NOF, "run", "--hosts", "1", "-n", str(RANKS), PROGRAM, "alltoall", "4096", "2", "1"], env=env,
                       stdout=subprocess.PIPE, text=True)
most = 0
while job.poll() is None:
    most = max([most, *map(allocated, below(job.pid))])
    time.sleep(0.05)
print(f"{job.stdout.read()}{RANKS} ranks share {most} bytes, {most // RANKS} for each, of at most {BOUND // RANKS}")
if job.returncode != 0 or not 0 < most <= BOUND:
    sys.exit("the job failed, no segment was seen, or it takes more than it may")

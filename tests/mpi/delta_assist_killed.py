#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""delta_assist.sh starts a daemon and jobs of its own: killed outright in the midst of one, it leaves nothing that runs.

usage: delta_assist_killed.py DELTA_ASSIST ARGUMENT..."""
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import leftovers  # noqa: E402

PATIENCE_S = 60
MARK = f"nof-delta-assist-killed-{os.getpid()}"


def wait_until(holds, what):
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            sys.exit(f"{what}: {leftovers.marked(MARK)}")
        time.sleep(0.01)


def main():
    many = os.path.basename(sys.argv[4])
    with subprocess.Popen(sys.argv[1:], env=os.environ | {leftovers.NAME: MARK}, stdout=subprocess.DEVNULL) as script:
        wait_until(lambda: sum(os.path.basename(line.split(" ")[0]) == many for line in leftovers.marked(MARK).values()) == 2,
                   "its ranks do not run")
        script.kill()
    wait_until(lambda: leftovers.marked(MARK) == {}, "this still runs")


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tables of compiled communication in virtual time: the more is known beforehand the less a collective takes, an equal call is one
descriptor, nothing is dropped where phases are, and each run has the same figures.

usage: tables.py NOF"""
import json
import subprocess
import sys

ROUNDED = 1.01  # who begins when decides about the last percent
NEAR = 1.06  # what is chosen, to the best; who begins when decides about two or three percent
SMALL = 2048  # shorter messages are in one phase, all at once


def rows(*args):
    done = subprocess.run([sys.argv[1], "bench", *args, "--sim", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=True, timeout=300)
    for row in (found := json.loads(done.stdout)["rows"]):
        print(args[0], row)
    return found


def main():
    for driver in "nic", "host":
        for row in rows("alltoall", "--sizes", "64,1k,4k,8k,16k", "--collectives", driver):
            assert row["auto_ms"] <= NEAR * min(row["pairwise_ms"], row["unscheduled_ms"]), row
            assert row["auto_ms"] < row["barrier_ms"] and row["drop_buffer"] == 0, row
    levels = rows("alltoallv", "--hosts", "16", "--sizes", "4k,64k,1k,8k")
    for row in levels:
        assert row["level3_ms"] <= ROUNDED * row["level2_ms"] <= ROUNDED**2 * row["level1_ms"], row
        assert row["persistent_ms"] <= ROUNDED * row["auto_ms"], row
        assert row["auto_ms"] <= NEAR * min(row["at_once_ms"], row["level3_ms"]), row
        assert row["bytes"] < SMALL or row["level3_ms"] <= NEAR * row["auto_ms"], row
        assert row["auto_descs"] == row["persistent_descs"] == 1, row
        assert row["drop_buffer"] == 0, row
    for small in levels[0], levels[2]:
        assert small["level3_ms"] < small["level2_ms"] < small["level1_ms"], small
    assert levels[0]["level1_ms"] < levels[0]["paper"]["level1_ms"], levels[0]
    small, gathered, large = rows("allgather", "--hosts", "8", "--sizes", "1k,8k,64k")
    assert large["multicast_ms"] <= 1.5 * large["limit_ms"], large  # a tree of eight takes three times as long as one broadcast
    for row in small, gathered, large:
        assert row["auto_ms"] <= NEAR * min(row[w + "_ms"] for w in ("multicast", "unicast", "phased")), row
    asked = ("dsm", "--hosts", "4", "--pages", "1,4", "--iterations", "3")
    shared = rows(*asked)
    assert shared == rows(*asked)
    for row in shared:
        assert 0 < row["level1_s"] <= row["paper_level1_s"] and row["level1_drop_buffer"] == 0, row


main()

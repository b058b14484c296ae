#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a broadcast by multicast takes, in virtual time: the same for many as for few; the root sends each byte once, hears few
acknowledgements, and repairs little more than what was lost; and each time the same.

usage: bcast.py NOF"""
import json
import subprocess
import sys


def rows(*args):
    out = subprocess.run([sys.argv[1], "sim", "bcast", *args, "--json"], check=True, stdout=subprocess.PIPE).stdout
    answer = json.loads(out)
    for row in answer["rows"]:
        print(row, answer["digest"])
    return answer


few, many = rows("--hosts", "4,16", "--bytes", "1m")["rows"]
assert many["multicast_us"] <= 1.1 * few["multicast_us"], "15 receivers take longer than 3"
for row in few, many:
    assert row["root_bytes"] == 1, "the root sends more than the message"
    assert row["multicast_us"] <= 1.15 * row["limit_us"], "far from the rate of the link"
    assert row["multicast_us"] < row["tree_us"], "a tree is faster"
    assert row["repairs_unicast"] + row["repairs_multicast"] == 0, "repairs without a loss"
for seed in "1", "2", "3":
    lossy = rows("--hosts", "65", "--loss", "0.01", "--seed", seed)["rows"][0]
    assert lossy["lost"] > 100, "nothing is lost"
    assert lossy["acks"] * 16 <= 8 * lossy["frames"], "too many acknowledgements at the root"
    assert lossy["repairs_unicast"] + lossy["repairs_multicast"] <= 1.5 * lossy["lost"], "too many repairs"
    assert lossy["root_bytes"] == 1, "the root sends more than the message"
fast = rows("--hosts", "4,64", "--link", "100gbit", "--mtu", "9000")
assert fast["rows"][1]["multicast_us"] <= 1.1 * fast["rows"][0]["multicast_us"], "63 receivers take longer than 3"
assert rows("--hosts", "4,64", "--link", "100gbit", "--mtu", "9000") == fast, "another run, other times"
bad = subprocess.run([sys.argv[1], "sim", "bcast", "--hosts", "1"], stderr=subprocess.PIPE, check=False)
assert bad.returncode != 0 and b"from 2 to 256" in bad.stderr, bad

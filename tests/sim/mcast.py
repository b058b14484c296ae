#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Broadcasts and scatters by multicast on 29 hosts of two switches, in virtual time: where trees are faster, and where not; groups
in the paper's order; what a stream has left beside them; each time the same.

usage: mcast.py NOF"""
import json
import subprocess
import sys


def bench(*args):
    out = subprocess.run([sys.argv[1], "bench", "mcast", "--switches", "2", *args, "--json"], check=True,
                         stdout=subprocess.PIPE).stdout
    answer = json.loads(out)
    for row in answer["rows"]:
        print(answer["collective"], answer["group"], row)
        assert row["multicast_us"] > 0.98 * row["limit_us"], "faster than the link"
        assert row["root_bytes"] >= 1, "the root left something out"
    return answer


# Figures 7 and 8.
small = bench("--sizes", "1", "--hosts", "5,16,29")["rows"]
assert all(row["tree_us"] < row["multicast_us"] for row in small), "one byte: trees win above 4 hosts"
large = bench("--sizes", "10k", "--hosts", "4,29")["rows"]
assert all(row["multicast_us"] < row["tree_us"] for row in large), "10 KiB: multicast wins"
assert all(row["repairs"] == 0 for row in small + large), "repairs without a loss"
assert large[1]["multicast_us"] < 1.25 * large[0]["multicast_us"], "28 receivers take longer than 3"
few, many = bench("--sizes", "1m", "--hosts", "4,16", "--repeat", "2")["rows"]
assert many["multicast_us"] <= 1.1 * few["multicast_us"], "1 MiB: 15 receivers take longer than 3"
assert few["root_bytes"] == many["root_bytes"] == 1, "the root sends more than the message"
assert many["multicast_us"] <= 1.15 * many["limit_us"], "far from the rate of the link"
assert many["tree_us"] <= 5 * many["limit_us"], "a host does not serve those below it one after the other"
fast = bench("--sizes", "1m", "--hosts", "4,64", "--repeat", "1", "--link", "100gbit", "--mtu", "9000", "--buffer", "10m")["rows"]
assert fast[1]["multicast_us"] <= 1.1 * fast[0]["multicast_us"], "100 Gbit/s: 63 receivers take longer than 3"
# Figure 9: what everybody else gets, too, costs the more the larger it is.
rows = bench("--collective", "scatter", "--sizes", "50,4k")["rows"]
assert rows[1]["multicast_us"] > max(rows[1]["tree_us"], rows[1]["linear_us"]), "a large scatter: unicast wins"
# Figure 10: to 5 of 29.
by = {group: bench("--collective", "scatterv", "--group", group, "--sizes", "50,1k,4k") for group in ("static", "dynamic", "compiled")}
for static, dynamic, compiled in zip(*(by[group]["rows"] for group in ("static", "dynamic", "compiled"))):
    assert compiled["multicast_us"] < static["multicast_us"] < dynamic["multicast_us"], "not in the paper's order"
# Section 3.2: beside a stream of hosts that do not take part.
stream = ["--collective", "scatterv", "--group", "compiled", "--sizes", "10k", "--stream"]
flood, snoop = (bench(*stream, "--multicast", how)["rows"][0] for how in ("flood", "snoop"))
assert flood["stream_mbps"] < 0.5 * flood["stream_alone_mbps"], "a switch that floods does no harm"
assert snoop["stream_mbps"] > 0.95 * snoop["stream_alone_mbps"], "a switch that snoops does harm"
# Loss.
for seed in "1", "2":
    row = bench("--hosts", "65", "--sizes", "1m", "--loss", "0.01", "--repeat", "1", "--seed", seed)["rows"][0]
    assert row["lost"] > 100, "nothing is lost"
    assert row["acks"] * 16 <= 8 * row["frames"], "too many acknowledgements at the root"
    assert row["repairs"] <= 1.5 * row["lost"], "too many repairs"
    assert row["root_bytes"] == 1, "the root sends more than the message"
again = bench("--collective", "scatterv", "--group", "dynamic", "--sizes", "50,1k,4k")
assert again["digest"] == by["dynamic"]["digest"], "another run, other times"
for args, why in ((["--group", "compiled"], b"is for --collective scatterv"), (["--hosts", "2"], b"from 3 to 256"),
                  (["--collective", "gather"], b"none of bcast, scatter, scatterv"),
                  (["--collective", "scatterv", "--hosts", "5"], b"not beside a root"),
                  (["--multicast", "drop"], b"neither flood nor snoop")):
    bad = subprocess.run([sys.argv[1], "bench", "mcast", *args], stderr=subprocess.PIPE, check=False)
    assert bad.returncode == 2 and why in bad.stderr, bad

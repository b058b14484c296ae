#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What an all-to-all by the NICs takes, in virtual time: near the limit of the links, without a frame dropped for want of
buffer, in bounded memory; and each time the same.

usage: alltoall.py NOF [--large]"""
import json
import subprocess
import sys

SLOW_LINK = ["--hosts", "16", "--link", "100mbit", "--buffer", "60kb", "--mtu", "1500"]
MEMORY_MOST = 8 << 20


def rows(*args):
    out = subprocess.run([sys.argv[1], "sim", "alltoall", *args, "--json"], check=True, stdout=subprocess.PIPE).stdout
    answer = json.loads(out)
    for row in answer["rows"]:
        print(row, answer["digest"])
    return answer


def holds(row, most):
    ratio = row["charged_us"] / row["limit_us"]
    assert ratio <= most, f"{ratio:.3f} of the limit, at most {most}"
    assert row["drop_buffer"] == 0, "frames found the buffer full"
    assert row["core_bytes_per_host"] <= MEMORY_MOST, "memory of a core"


if "--large" in sys.argv:
    holds(rows("--hosts", "256", "--link", "100gbit", "--bytes", "64k", "--mtu", "9000")["rows"][0], 1.2)
    sys.exit(0)
slow = rows(*SLOW_LINK, "--sizes", "64k")["rows"][0]
holds(slow, 1.12)
assert 0 < slow["ping_us"] <= slow["ping_limit_us"], "a small message beside it"
assert slow["charged_us"] < slow["barrier_us"], "a barrier between rounds is faster"
for skew in ("500us", "1ms", "2ms"):
    ragged = rows(*SLOW_LINK, "--sizes", "64k", "--skew", skew)["rows"][0]
    holds(ragged, 1.13)
    assert 0 < ragged["ping_us"] <= ragged["ping_limit_us"], "a small message beside it"
    assert ragged["charged_us"] < ragged["barrier_us"], "a barrier between rounds is faster"
little = rows(*SLOW_LINK, "--sizes", "64k", "--skew", "1ms", "--buffer", "20kb")["rows"][0]
assert little["unscheduled_drop_buffer"] > 0, "the switch never drops"
fast = rows("--hosts", "16,64", "--link", "100gbit", "--bytes", "64k", "--mtu", "9000")
for row in fast["rows"]:
    holds(row, 1.2)
assert rows("--hosts", "16,64", "--link", "100gbit", "--bytes", "64k", "--mtu", "9000") == fast, "another run, other times"
bad = subprocess.run([sys.argv[1], "sim", "alltoall", "--hosts", "1"], stderr=subprocess.PIPE, check=False)
assert bad.returncode != 0 and b"from 2 to 1024" in bad.stderr, bad

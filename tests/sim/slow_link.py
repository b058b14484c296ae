#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Links on which a frame takes longer than a timeout would be where frames are fast: what NPB's IS calls, small collectives and large
ones in turn, is not slower by the NIC than by the host, is near the limit, and no frame is dropped.

usage: slow_link.py NOF"""
import json
import subprocess
import sys
import tempfile

RANKS, ROUNDS, BLOCK_BYTES = 16, 3, 65536
LIMIT_MOST = 1.28  # 1.082 of it are headers; small collectives, and an acknowledgement for each frame


def write_recording(folder):
    sizes = ",".join([str(BLOCK_BYTES)] * RANKS)
    calls = f"allreduce 0 0 0 4116\nalltoall 5000 0 0 4\nalltoallv 3000 0 0 {sizes} {sizes}\n"
    for rank in range(RANKS):
        with open(f"{folder}/rank{rank}.coll", "w", encoding="ascii") as f:
            f.write(f"comm 0 {','.join(str(i) for i in range(RANKS))}\n" + ROUNDS * calls)


with tempfile.TemporaryDirectory() as recording:
    write_recording(recording)
    asked = [sys.argv[1], "bench", "replay", "--sim", "--link", "10mbit", "--compute", "0", "--json", recording]
    done = subprocess.run(asked, check=True, stdout=subprocess.PIPE)
row = json.loads(done.stdout)["rows"][0]
print(row)
assert row["nic_drop_buffer"] == row["host_drop_buffer"] == 0, "frames found the buffer full"
for way in "nic_s", "host_s":
    assert row[way] >= row["limit_s"], f"{way} is below the limit: not all was sent"
assert row["nic_s"] <= 1.01 * row["host_s"], "the NIC's way is slower than the host's"
assert row["nic_s"] <= LIMIT_MOST * row["limit_s"], f"{row['nic_s'] / row['limit_s']:.3f} of the limit, at most {LIMIT_MOST}"

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`nof schedule`: patterns as people write them, phases as text and as JSON, and what is said of a pattern that is none.

usage: schedule.py NOF PATTERNS"""
import json
import pathlib
import subprocess
import sys
import tempfile

NOF, PATTERNS = sys.argv[1], pathlib.Path(sys.argv[2])
FIGURE = PATTERNS / "figure3.txt"
# Compiled communication, figure 3.
FIGURE_PHASES = {
    "greedy": [{(0, 1): 1000000, (1, 3): 1000000}, {(0, 2): 10000, (2, 3): 100, (1, 5): 100}, {(2, 1): 100}],
    "alltoall": [{(0, 1): 1000000, (2, 3): 100, (1, 5): 100}, {(1, 3): 1000000, (0, 2): 10000, (2, 1): 100}],
}
LARGEST = 2**63 - 1


def schedule(*args, text=None):
    return subprocess.run([NOF, "schedule", *map(str, args)], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, timeout=60)


def answer(*args, text=None):
    done = schedule("--json", *args, text=text)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def phases_of(schedule_):
    return [{(m["source"], m["destination"]): m["bytes"] for m in phase["messages"]} for phase in schedule_["phases"]]


def figure_3():
    for algorithm, phases in FIGURE_PHASES.items():
        got = answer("--algorithm", algorithm, FIGURE)
        assert (got["algorithm"], got["nodes"], got["threshold_bytes"]) == (algorithm, 6, 0)
        assert phases_of(got) == phases, got
        assert got["totals"] == {"messages": 6, "phases": len(phases), "fullest_link_bytes": 1010000, "local_messages": 0,
                                 "local_bytes": 0, "empty_messages": 0, "maxima_bytes": sum(max(p.values()) for p in phases)}
    table = schedule(FIGURE).stdout.splitlines()
    assert table[0].split() == ["phase", "largest_bytes", "messages"], table
    assert [line.split() for line in table[1:4]] == [
        ["1", "1000000", "0->1", "1000000,", "1->3", "1000000"],
        ["2", "10000", "0->2", "10000,", "2->3", "100,", "1->5", "100"],
        ["3", "100", "2->1", "100"]], table
    assert "6 messages in 3 phases" in table[4] and "1010100 bytes" in table[4] and "carries 1010000" in table[4], table


def parts_and_small():
    got = answer("--algorithm", "optimal", FIGURE)
    assert got["totals"]["maxima_bytes"] == got["totals"]["fullest_link_bytes"] == 1010000
    parts = [m for phase in got["phases"] for m in phase["messages"] if (m["source"], m["destination"]) == (0, 2)]
    assert [m["offset_bytes"] for m in parts] == [0, parts[0]["bytes"]] and sum(m["bytes"] for m in parts) == 10000, parts
    assert f"0->2 {parts[1]['bytes']}@{parts[1]['offset_bytes']}" in schedule("--algorithm", "optimal", FIGURE).stdout
    small = answer("--threshold", "20kB", FIGURE)["phases"]
    assert [phase["small"] for phase in small] == [False, True], small
    assert (small[1]["largest_bytes"], small[1]["link_bytes"]) == (10000, 10000)
    assert "small: 0->2 10000, 2->3 100" in schedule("--threshold", "20kB", FIGURE).stdout


def ways_to_write():
    wanted = {(0, 1): 2048, (1, 2): 5}
    for text in ("0 1 2048\n1 2 5\n", "  \n\t0\t1  2KiB # and\n#\n1 2 5B", "0 1 1024\r\n1 2 2\r\n0 1 1k\n1 2 3\n2 1 0\n",
                 '{"messages": [{"source": 0, "destination": 1, "bytes": 2048}, {"bytes": 5, "source": 1, "destination": 2}]}',
                 ' \n{"nodes": 3, "messages": [{"source": 0, "destination": 1, "bytes": 2048},'
                 ' {"source": 1, "destination": 2, "bytes": 5}]}\n'):
        got = answer("-", text=text)
        assert (phases_of(got), got["nodes"]) == ([wanted], 3), (text, got)
    assert answer("--nodes", 9, "-", text="0 1 1")["nodes"] == 9
    assert answer("--nodes", 9, "-", text='{"nodes": 2, "messages": [{"source": 0, "destination": 8, "bytes": 1}]}')["nodes"] == 9
    assert answer("-", text=f"0 1 {LARGEST}")["totals"]["maxima_bytes"] == LARGEST
    # Local copies are in no phase; nothing but them is a schedule without phases.
    local = answer("-", text="3 3 7\n3 3 1\n")
    assert (local["phases"], local["nodes"]) == ([], 4)
    assert (local["totals"]["local_messages"], local["totals"]["local_bytes"]) == (2, 8)
    assert "2 messages that stay on their node, 8 bytes" in schedule("-", text="3 3 7\n3 3 1\n").stdout
    # Nor are messages of 0 bytes.
    assert answer("-", text="2 1 0\n0 1 1\n3 3 0\n")["totals"]["empty_messages"] == 2
    assert "in no phase: 2 messages of 0 bytes: 2->1, 3->3\n" in schedule("-", text="2 1 0\n0 1 1\n3 3 0\n").stdout
    assert schedule("-", text="0 1 1\n1 1 1\n1 0 0\n").stdout.splitlines()[2:] == [
        "in no phase: 1 message that stays on its node, 1 byte", "in no phase: 1 message of 0 bytes: 1->0",
        "greedy, 2 nodes: 1 message in 1 phase; sum of the maxima 1 byte; the fullest link carries 1"]


BAD_PATTERNS = (
    ("", "has no message"), ("# nothing\n\n", "has no message"), ('{"messages": []}', "has no message"),
    ("0 1 1\n0 1\n", "line 2: there are two words"), ("0\n", "line 1: there is one word"), ("\n\n0 1 2 3\n", "line 3: there are more"),
    ("x 1 1\n", "line 1: the source is 'x'"), ("-1 1 1\n", "the source is '-1'"), ("0 4096 1\n", "the destination is '4096'"),
    ("0 1.5 1\n", "the destination is '1.5'"), ("0 1 x\n", "the bytes are 'x'"), ("0 1 -5\n", "the bytes are '-5'"),
    ("0 1 1XB\n", "the bytes are '1XB'"), (f"0 1 {LARGEST + 1}\n", f"at most {LARGEST}"), ("0 1 99999999999999999999\n", "the bytes are"),
    (f"0 1 1\n2 2 {LARGEST}\n", "line 2: with this the messages have more than"), ("0 1 1\n0 \0 1\n", "line 2: a zero byte"),
    ("0 1 1\n# " + 4095 * "x", "line 2: the line is longer than 4096 bytes"),
    ('{"messages": ', "no JSON"), ('\n\n{"messages": [\n{]}', "line 4: no JSON"), ('{"messages": [], "messages": []}', "no JSON"),
    ("[]", "line 1: no JSON object: one begins with {"), (" \n [{}]", "line 2: no JSON object"),
    ("{}", '"messages"'), ('{"messages": 1}', '"messages"'), ('{"messages": [], "node": 1}', "nothing else"),
    ('{"nodes": 0, "messages": []}', '"nodes" must be'), ('{"nodes": 4097, "messages": []}', '"nodes" must be'),
    ('{"nodes": "2", "messages": []}', '"nodes" must be'), ('{"messages": [1]}', "message 1: a message is an object"),
    ('{"messages": [{"source": 0, "destination": 1}]}', "message 1: a message is an object"),
    ('{"messages": [{"source": 0, "destination": 1, "size": 1}]}', 'message 1: "bytes" must be'),
    ('{"messages": [{"source": 0, "destination": 1, "bytes": -1}]}', 'message 1: "bytes" must be'),
    ('{"messages": [{"source": 0, "destination": 1, "bytes": 1.5}]}', 'message 1: "bytes" must be'),
    ('{"messages": [{"source": 4096, "destination": 1, "bytes": 1}]}', 'message 1: "source" must be'),
    ('{"nodes": 2, "messages": [{"source": 0, "destination": 1, "bytes": 1}, {"source": 0, "destination": 2, "bytes": 1}]}',
     "message 2: there is no node 2: of 2 nodes, the last is 1"),
)
BAD_ARGUMENTS = (
    ([], "no pattern is named"), (["a", "b"], "'b' is one pattern too many"), (["--algorithm", "gredy", "x"], "greedy"),
    (["--algorithm", "best", "x"], "there are greedy, alltoall, shift and optimal"), (["--threshold", "many", "x"], "--threshold=many"),
    (["--threshold", "-1", "x"], "--threshold=-1"), (["--nodes", "0", "x"], "--nodes=0"), (["--nodes", "4097", "x"], "--nodes=4097"),
    (["--nodes", "6x", "x"], "--nodes=6x"),
)


def longest_line():
    for end in ("", "\n", "\n1 0 1\n"):
        done = schedule("-", text="0 1 1\n# " + 4094 * "x" + end)
        assert (done.returncode, done.stderr) == (0, ""), done


def what_is_refused(scratch):
    for text, words in BAD_PATTERNS:
        done = schedule("--json", "-", text=text)
        assert (done.returncode, done.stdout) == (1, "") and words in done.stderr and "stdin" in done.stderr, (text, done)
        assert done.stderr.count("\n") == 1, done
    for args, words in BAD_ARGUMENTS:
        done = schedule(*args)
        assert (done.returncode, done.stdout) == (2, "") and words in done.stderr, (args, done)
    for nodes, words in ((2, "line 3: there is no node 3: of 2 nodes, the last is 1"), (1, "line 2: there is no node 1: of one node")):
        done = schedule("--nodes", nodes, FIGURE)
        assert done.returncode == 1 and str(FIGURE) in done.stderr, done
    for path, words in ((scratch / "absent", "No such file"), (scratch, "Is a directory")):
        done = schedule(path)
        assert done.returncode == 1 and words in done.stderr and str(path) in done.stderr, done
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([NOF, "schedule", FIGURE], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert done.returncode == 1 and "cannot be written" in done.stderr, done


def main():
    figure_3()
    parts_and_small()
    ways_to_write()
    longest_line()
    with tempfile.TemporaryDirectory() as folder:
        what_is_refused(pathlib.Path(folder))


if __name__ == "__main__":
    main()

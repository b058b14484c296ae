#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`nof replay` against the rules of the paper, written again: the same hits on recorded and on made-up receives.

usage: replay.py NOF TRACES"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

NOF, TRACES = sys.argv[1], pathlib.Path(sys.argv[2])
FIRST_CYCLE = 6
SITE_HEADS = 64  # concurrent cycle heads of one site


def first_heads(calls):
    """Calls since each one's id was first seen; None: never before."""
    first = {}
    for at, (_, message) in enumerate(calls):
        yield at - first[message] if message in first else None
        first.setdefault(message, at)


class Cycle:
    """Section 6.1 on one stream of ids. better: section 6.4, broken cycles are kept by their heads."""

    def __init__(self, least, heads, better=False):
        self.least, self.heads, self.better = least, heads, better
        self.seen, self.cycle, self.log, self.kept = [], None, None, {}
        self.at = 0

    def follow(self, cycle):
        self.cycle, self.at, self.log = cycle, 1 % len(cycle), None

    def observe(self, message):
        if self.cycle is not None:
            if self.cycle[self.at] == message:
                self.at = (self.at + 1) % len(self.cycle)
                return True
            if self.better:
                self.kept[self.cycle[0]] = self.cycle
            if message in self.kept:
                self.follow(self.kept[message])
            else:
                self.cycle, self.log = None, [message]
        elif self.log is not None:
            if message == self.log[0]:
                self.follow(self.log)
            else:
                self.log.append(message)
        elif message in self.seen and len(self.seen) - self.seen.index(message) >= self.least:
            self.follow(self.seen[self.seen.index(message):])
        elif len(self.seen) >= self.heads:
            self.seen = [message]
        else:
            self.seen.append(message)
        return False


def single_cycle(calls):
    cycle = Cycle(FIRST_CYCLE, 1000)
    return sum(cycle.observe(message) for _, message in calls)


def tag(calls):
    last, hits = {}, 0
    for site, message in calls:
        hits += last.get(site) == message
        last[site] = message
    return hits


def by_site(calls, better):
    sites, hits, settled = {}, 0, False
    for (site, message), span in zip(calls, first_heads(calls)):
        settled = settled or (span is not None and span >= FIRST_CYCLE)
        hits += sites.setdefault(site, Cycle(1, SITE_HEADS, better)).observe(message) and settled
    return hits


RULES = {
    "single-cycle": single_cycle,
    "tag": tag,
    "tag-cycle": lambda calls: by_site(calls, False),
    "tag-bettercycle": lambda calls: by_site(calls, True),
}


def replay(predictor, *files, **kwargs):
    args = [NOF, "replay", "--predictor", predictor, "--json", *files]
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=60, **kwargs)


def load(path):
    rows = [line.split() for line in path.read_text().splitlines()]
    return [(int(row[0], 16), tuple(row[1:4])) for row in rows]


def made_up(rng):
    """A program of loops: a few bodies, each repeated, some calls that come only once."""
    bodies = [[(rng.randrange(1, 9), rng.randrange(4), rng.randrange(3)) for _ in range(rng.randrange(1, 12))] for _ in range(3)]
    calls = [(99, 9, n) for n in range(rng.randrange(5))]
    while len(calls) < 600:
        calls += rng.choice(bodies) * rng.randrange(1, 12)
    return "".join(f"{site:x} {source} {t} 0 8\n" for site, source, t in calls[:600])


def same_hits(files):
    for name, rule in RULES.items():
        done = replay(name, *files)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["predictor"] == name
        for got, path in zip(answer["traces"], files):
            calls = load(path)
            assert (got["file"], got["calls"]) == (str(path), len(calls))
            assert got["hits"] == rule(calls), f"{name} on {path}: {got['hits']} hits, the rules say {rule(calls)}"
        ratios = [got["hit_ratio"] for got in answer["traces"]]
        assert abs(answer["avg"] - sum(ratios) / len(ratios)) < 1e-5
        assert (answer["min"], answer["max"]) == (min(ratios), max(ratios))


def auto_is_near_the_best(files):
    for path in files:
        best = max(json.loads(replay(name, path).stdout)["avg"] for name in RULES)
        auto = json.loads(replay("auto", path).stdout)["avg"]
        assert auto > best - 0.02, f"auto on {path}: {auto}, the best of the four {best}"


def bad_input(scratch):
    good = "1f 0 3 0 8\n"
    for text, where in (("", "no receive call"), (good + "1f -1 3 0\n", ":2:"), (good + "1f 0 x 0\n", ":2:"), ("zz 0 1 0\n", ":1:"),
                        ("1 2\n", ":1:"), ("1 2 3 99999999999\n", ":1:"), (good * 2 + "1" * 400 + "\n", ":3:"), ("1 0 0 0\0", ""),
                        (good + "\n", ":2:")):
        path = scratch / "bad.recv"
        path.write_text(text)
        done = replay("auto", path)
        if text.endswith("\0"):  # what is behind a line's end is not looked at
            continue
        assert (done.returncode, done.stdout) == (1, ""), (text, done)
        assert str(path) in done.stderr and where in done.stderr, (text, done.stderr)
    for args, words in ((["--predictor", "tag-cycel", "x"], "tag-cycle"), (["--predictor", "off", "x"], "no such predictor"),
                        ([], "no trace"), (["--remembered", "17", "x"], "power of two"), (["/nonexistent"], "No such file")):
        done = subprocess.run([NOF, "replay", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        assert done.returncode != 0 and words in done.stderr, (args, done)


def main():
    recorded = sorted(TRACES.glob("*.recv"))
    assert recorded, TRACES
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        rng = random.Random(3)
        for n in range(30):
            (scratch / f"{n}.recv").write_text(made_up(rng))
        same_hits(recorded + sorted(scratch.glob("*.recv")))
        auto_is_near_the_best(recorded)
        bad_input(scratch)


if __name__ == "__main__":
    main()

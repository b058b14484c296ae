#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `nof stats` of a daemon says that the libraries of its ranks count: of those that have ended, of those that run, and of
those that were killed.

usage: library_counts.py NOF PROGRAM"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

NOF, PROGRAM = sys.argv[1:3]
PATIENCE_S = 100
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("NOF_", "PMI"))}
RANKS, ROUNDS, MESSAGES, BYTES = 4, 5, 7, 100  # as in PROGRAM
PAIRS = RANKS * (RANKS - 1)


class LibraryCounts(unittest.TestCase):
    """A daemon with two NICs."""

    def setUp(self):
        self.here = tempfile.TemporaryDirectory()
        self.addCleanup(self.here.cleanup)
        self.socket = f"{self.here.name}/nofd.sock"
        self.nof("up", "--fabric", "2", "--feature", "collectives=nic", "--socket", self.socket)
        self.addCleanup(lambda: self.nof("down", "--nofd", self.socket))
        self.table = pathlib.Path(self.here.name) / "table"
        self.table.write_text(f"allreduce {RANKS} any ring\n")

    def nof(self, *args):
        return subprocess.run([NOF, *args], env=ENV, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE_S).stdout

    def job(self, *args):
        return [NOF, "run", "--nofd", self.socket, "-n", str(RANKS), *args]

    def run_job(self, *args, **env):
        """Returns the library of its --stats."""
        path = pathlib.Path(self.here.name) / "stats.json"
        subprocess.run(self.job("--stats", path, *args, PROGRAM), env=ENV | env, check=True, timeout=PATIENCE_S)
        return json.loads(path.read_text())["library"]

    def stats(self, *args):
        return json.loads(self.nof("stats", "--json", "--nofd", self.socket, *args))

    def library(self, *args):
        library = self.stats(*args)["library"]
        return library["ranks"], library["counters"]

    def check_counted(self, c):
        self.assertGreaterEqual(c["allreduce_ring"], RANKS * ROUNDS)
        self.assertEqual(c["selected_by_table"], c["allreduce_ring"])
        self.assertGreaterEqual(c["collectives_nic"], c["allreduce_ring"])
        self.assertEqual(c["collectives_host_off"], 0)
        self.assertGreaterEqual(c["nic_sends"], PAIRS * MESSAGES)
        self.assertGreaterEqual(c["nic_bytes"], PAIRS * MESSAGES * BYTES)
        self.assertEqual(c["memory_sends"], 0)

    def test_jobs_that_have_ended_add_up(self):
        self.assertEqual(self.library()[0], 0)
        self.assertEqual(set(self.library()[1].values()), {0})
        self.assertNotIn("library", self.nof("stats", "--nofd", self.socket))
        first = self.run_job(NOF_COLL_TABLE=str(self.table))
        self.assertEqual(first["ranks"], RANKS)
        self.check_counted(first["counters"])
        self.assertEqual(self.library(), (RANKS, first["counters"]))
        self.nof("set", "--nofd", self.socket, "collectives=host")
        second = self.run_job("--hosts", "1", NOF_CHANNELS="auto")
        # The second one's --stats says nothing of the first.
        self.assertEqual(second["ranks"], RANKS)
        self.assertEqual(second["counters"]["allreduce_ring"], 0)
        self.assertGreaterEqual(second["counters"]["collectives_host_off"], RANKS * ROUNDS)
        self.assertGreaterEqual(second["counters"]["memory_sends"], PAIRS * MESSAGES)
        ranks, both = self.library()
        self.assertEqual(ranks, 2 * RANKS)
        self.assertEqual(both, {k: v + second["counters"][k] for k, v in first["counters"].items()})
        of_nics = [self.library("--nic", nic) for nic in "01"]
        self.assertEqual([n for n, _ in of_nics], [RANKS // 2 + RANKS, RANKS // 2])
        self.assertEqual(both, {k: v + of_nics[1][1][k] for k, v in of_nics[0][1].items()})
        self.as_text(both)

    def as_text(self, counters):
        """Those that have counted, with what they count; --all: the others as well."""
        said = self.nof("stats", "--nofd", self.socket)
        self.assertIn(f"\nlibrary, of {2 * RANKS} ranks\n", said)
        self.assertRegex(said, rf"\n  allreduce_ring +{counters['allreduce_ring']}  pieces go round a ring twice\n")
        self.assertEqual(counters["delta_sends"], 0)
        self.assertNotIn("\n  delta_sends ", said)
        self.assertRegex(self.nof("stats", "--all", "--nofd", self.socket), r"\n  delta_sends +0  ")

    def said_meanwhile(self):
        """Each rank says its last at a moment of its own."""
        until = time.monotonic() + PATIENCE_S
        while True:
            time.sleep(0.05)
            ranks, c = self.library()
            try:
                self.assertEqual(ranks, RANKS)
                self.check_counted(c)
                return c
            except AssertionError:
                if time.monotonic() > until:
                    raise

    def counted_while_they_wait(self, **env):
        """Ranks that all wait for ever: what they say meanwhile, and once one of them has been killed."""
        with subprocess.Popen(self.job(PROGRAM, "wait"), env=ENV | env | {"NOF_COLL_TABLE": str(self.table)},
                              stderr=subprocess.DEVNULL) as p:
            try:
                c = self.said_meanwhile()
                self.assertIsNone(p.poll())
                rows = self.stats()["endpoints"]
                self.assertEqual([row["state"] for row in rows], ["live"] * RANKS)
                os.kill(rows[0]["pid"], signal.SIGKILL)
                self.assertNotEqual(p.wait(PATIENCE_S), 0)
            finally:
                p.terminate()
        until = time.monotonic() + PATIENCE_S
        while self.stats()["endpoints"] and time.monotonic() < until:
            time.sleep(0.05)
        ranks, after = self.library()
        self.assertEqual((ranks, self.stats()["endpoints"]), (RANKS, []))
        self.assertEqual([k for k, v in after.items() if v < c[k]], [])
        self.check_counted(after)

    def test_bad_input(self):
        for args, code, says in ((["--nic", str(1 << 32)], 2, "is no number of a NIC"), ([], 1, "cannot be written")):
            with open("/dev/full", "w") as full:
                p = subprocess.run([NOF, "stats", "--json", "--nofd", self.socket, *args], env=ENV, stdout=full,
                                   stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
            self.assertEqual(p.returncode, code)
            self.assertIn(says, p.stderr)

    def test_ranks_that_sleep_and_are_killed(self):
        self.counted_while_they_wait()

    def test_ranks_that_spin_and_are_killed(self):
        self.counted_while_they_wait(NOF_SPIN_US="100000000")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

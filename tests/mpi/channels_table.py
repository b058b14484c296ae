#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messages by memory go as the table says that NOF_CHANNELS_TABLE names, and who asks for a way goes before it; a table or a way
that makes no sense ends the job with a sentence.

usage: channels_table.py NOF PROGRAM"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

NOF, PROGRAM = sys.argv[1:3]
PATIENCE_S = 100
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("NOF_", "PMI"))}


class Table(unittest.TestCase):
    def setUp(self):
        self.here = tempfile.TemporaryDirectory()
        self.addCleanup(self.here.cleanup)
        self.table = pathlib.Path(self.here.name) / "table"
        self.stats = pathlib.Path(self.here.name) / "stats.json"

    def job(self, *args, **env):
        return subprocess.run([NOF, "run", "--hosts", "1", "-n", "2", "--stats", self.stats, *args, PROGRAM], env=ENV | env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=PATIENCE_S)

    def counted(self, *args, **env):
        done = self.job(*args, **env)
        self.assertEqual(done.returncode, 0, done.stdout)
        return json.loads(self.stats.read_text())["library"]["counters"]

    def with_table(self, text, **env):
        self.table.write_text(text)
        return self.counted(**({"NOF_CHANNELS": "auto", "NOF_CHANNELS_TABLE": str(self.table)} | env))

    def test_rows_count(self):
        c = self.with_table("any shm\n")
        self.assertGreater(c["memory_by_table"], 0)
        self.assertEqual((c["memory_by_default"], c["memory_as_asked"], c["memory_single_copies"]), (0, 0, 0))
        self.assertGreater(c["memory_pieces"], 0)
        c = self.with_table("any single-copy\n")
        self.assertGreater(c["memory_by_table"], 0)
        if c["memory_pieces"] == 0:  # the kernel allows it; what a receiver did not come for soon was moved
            self.assertEqual(c["memory_single_copies"] + c["memory_moved"], c["memory_by_table"])
            self.assertGreater(c["memory_single_copies"], 0)

    def test_without_rows_for_this_machine_lengths_decide(self):
        alone = self.counted(NOF_CHANNELS="auto")
        self.assertGreater(alone["memory_by_default"], 0)
        self.assertEqual((alone["memory_by_table"], alone["memory_as_asked"]), (0, 0))
        other = self.with_table("machine Elsewhere, 1.0\nany shm\n")
        self.assertEqual([other[k] for k in ("memory_by_default", "memory_by_table")], [alone["memory_by_default"], 0])

    def test_who_asks_goes_first(self):
        c = self.with_table("any single-copy\n", NOF_CHANNELS="shm")
        self.assertGreater(c["memory_as_asked"], 0)
        self.assertEqual((c["memory_by_table"], c["memory_single_copies"]), (0, 0))

    def refused(self, says, *args, **env):
        done = self.job(*args, **env)
        self.assertNotEqual(done.returncode, 0)
        for word in says:
            self.assertIn(word, done.stdout)

    def test_what_makes_no_sense_is_told(self):
        self.table.write_text("1K shm\n2K pigeon\n")
        self.refused(["table:2", "'pigeon'", "shm, single-copy or auto"], NOF_CHANNELS_TABLE=str(self.table))
        self.refused(["No such file", "bench channels --tune"], NOF_CHANNELS_TABLE="/does/not/exist")
        self.refused(["NOF_CHANNELS", '"pigeon"', "auto, nic, shm or single-copy"], NOF_CHANNELS="pigeon")
        self.refused(["auto|nic|shm|single-copy", "pigeon"], "--feature", "channels=pigeon")
        self.refused(["NOF_POLLING=fast", "static or dynamic"], NOF_POLLING="fast")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which seeds `nof sim` runs: those that a file names, one at the begin of each line, and no others.

usage: seeds.py NOF"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

NOF = sys.argv[1]


def sim(*args):
    return subprocess.run([NOF, "sim", *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=100)


class Seeds(unittest.TestCase):
    def setUp(self):
        here = tempfile.TemporaryDirectory()
        self.addCleanup(here.cleanup)
        self.file = pathlib.Path(here.name) / "seeds"

    def count(self, text):
        self.file.write_text(text, encoding="ascii")
        done = sim("model", "--json", "--list", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["seeds"]

    def test_one_at_the_begin_of_each_line(self):
        self.assertEqual(self.count("# first\n3\n7 and why\n -5\n+5\n- 5\n\n2"), 3)
        for blanks in range(250, 260):  # wherever the line is cut, what follows is no begin
            self.assertEqual(self.count(f"#{'x' * blanks}5\n3\n"), 1)

    def test_what_is_no_list(self):
        for path, said in (("/", "Is a directory"), ("/dev/zero", "a zero byte"), ("/dev/null", "names no seed")):
            done = sim("--list", path)
            self.assertEqual((done.returncode, said in done.stderr), (2, True), done.stderr)
        self.file.write_text("1\0\n2\n3\n", encoding="ascii")  # read as if it were one, 2 would be no line's begin
        done = sim("--list", self.file)
        self.assertEqual((done.returncode, "a zero byte" in done.stderr), (2, True), done.stderr)
        for seed in (2**64 - 1, 2**64, 10**30):
            self.file.write_text(f"{seed}\n", encoding="ascii")
            done = sim("--list", self.file)
            self.assertEqual((done.returncode, f"{seed} is no seed" in done.stderr), (2, True), done.stderr)

    def test_the_list_says_how_many(self):
        self.file.write_text("3\n", encoding="ascii")
        for more in (("--seeds", 100), ("--first", 9), ("--seed", 3)):
            for args in (("--list", self.file, *more), (*more, "--list", self.file)):
                done = sim("model", *args)
                self.assertEqual((done.returncode, done.stdout), (2, ""), args)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

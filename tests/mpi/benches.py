#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A bench that cannot measure says so once and prints no zeros; one that takes long says how far it is.

usage: benches.py NOF"""
import concurrent.futures
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

NOF = sys.argv[1]
COLLECTIVES = pathlib.Path(__file__).resolve().parents[1] / "vectors/collectives/is.S.4"
PATIENCE_S = 300
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("NOF_", "PMI"))}


def bench(*args, env=None, stderr=subprocess.PIPE):
    return subprocess.run([NOF, "bench", *args], env=env or ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
                          text=True, check=False, timeout=PATIENCE_S)


def figures(value):
    """All numbers of an object, with their names."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from ((f"{name}.{n}", v) for n, v in figures(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from figures(inner)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield "", value


class Benches(unittest.TestCase):
    def setUp(self):
        """A machine on which no peer, no tool and no valgrind is installed."""
        self.bare = tempfile.TemporaryDirectory()
        self.addCleanup(self.bare.cleanup)
        for tool in ("env", "sh"):
            os.symlink(shutil.which(tool), f"{self.bare.name}/{tool}")
        self.env = ENV | {"PATH": self.bare.name}

    def test_nothing_to_measure_is_one_sentence(self):
        for name in ("core", "wire", "stream", "hostile", "strangers"):
            r = bench(name, env=self.env)
            self.assertEqual((r.returncode, r.stdout), (1, ""), name)
            self.assertRegex(r.stderr, rf"\Anof bench {name}: [^\n]*not measured: [^\n]*apt install[^\n]*\n\Z")
            r = bench(name, "--json", env=self.env)
            said = json.loads(r.stdout)
            self.assertEqual((r.returncode, bool(said.pop("skipped"))), (1, True), name)
            self.assertEqual([f for f in figures(said) if f[1] == 0], [], name)

    def test_a_missing_part_leaves_no_zeros(self):
        with concurrent.futures.ThreadPoolExecutor() as pool:  # they mostly wait
            match, pt2pt, idle = (pool.submit(bench, *args, env=self.env) for args in (
                ("match",), ("pt2pt", "--rounds", "1", "--ms", "2"), ("idle", "--seconds", "1", "--silences", "1")))
        r = match.result()
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stderr, r"\Anof bench match: instructions not measured: valgrind[^\n]*\n\Z")
        self.assertNotIn(" 0.0", r.stdout)
        r = pt2pt.result()
        self.assertEqual(r.returncode, 1)
        self.assertNotIn("nan", r.stdout)
        self.assertEqual(r.stderr.count("MPICH is not installed"), 1, r.stderr)
        r = idle.result()
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stderr, r"\Anof bench idle: nofd_af_xdp_cpu_percent not measured: [^\n]*\n\Z")

    def test_a_way_that_is_forbidden_has_no_figures(self):
        args = ("bench", "channels", "--json", "--rounds", "1", "--ms", "1", "--max", "65536")
        forbid = pathlib.Path(NOF).resolve().parent / "tests/mpi/forbid"
        for command, there in (((), True), ((forbid, "other-memory"), False)):
            r = subprocess.run([*command, NOF, *args], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                               timeout=PATIENCE_S)
            if r.returncode == 77:
                self.skipTest(r.stdout)
            said = json.loads(r.stdout)
            for row in said["rows"]:
                figures_of = [row[f"{side}_us"] is not None for side in ("shm", "single_copy", "auto", "nic")]
                self.assertEqual(figures_of, [True, there, True, True], row)
            self.assertEqual("single_copy" in said["skipped"], not there, said["skipped"])

    def test_however_it_ends_nothing_is_left(self):
        """A bench that is killed while it has files."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with tempfile.TemporaryDirectory() as folder:
                child = subprocess.Popen([NOF, "bench", "core"], env=ENV | {"TMPDIR": folder}, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                until = time.monotonic() + PATIENCE_S
                while not os.listdir(folder) and child.poll() is None and time.monotonic() < until:
                    time.sleep(0.01)
                memory = pathlib.Path("/dev/shm", *os.listdir(folder))
                (memory if memory.is_dir() else pathlib.Path(folder, memory.name)).joinpath("segment").write_text("as a peer's")
                child.send_signal(number)
                child.wait(PATIENCE_S)
                while (os.listdir(folder) or memory.exists()) and time.monotonic() < until:
                    time.sleep(0.01)
                self.assertEqual((os.listdir(folder), memory.exists()), ([], False), number)

    def test_what_is_no_file_of_messages_is_told(self):
        for name in ("stream", "dfcm"):
            for args in ((self.bare.name,), ("--json", self.bare.name)):
                r = bench(name, *args)
                self.assertEqual((r.returncode != 0, r.stdout), (True, ""), name)
                self.assertRegex(r.stderr, rf"\Anof bench {name}: {self.bare.name} is a folder: name a file of it[^\n]*\n\Z")
            self.assertIn("No such file", bench(name, f"{self.bare.name}/absent").stderr)
            self.assertIn("not a file of messages", bench(name, __file__).stderr)
            self.assertIn("/dev/null is a device: name a file of messages", bench(name, "/dev/null").stderr)

    def test_a_copy_of_half_the_build_is_not_measured(self):
        """Without nofd-dma, ranks would copy, and say so line by line, and figures would be those of another way."""
        folder, build = pathlib.Path(self.bare.name), pathlib.Path(NOF).resolve().parent
        for name in ("nof", "nofd"):
            shutil.copy(build / name, folder / name)
        os.symlink(build / "bench", folder / "bench")
        r = subprocess.run([folder / "nof", "bench", "delta", "--where", "machine", "--tasks", "2", "--runs", "1", "--costs", "1,1,1"],
                           env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                           timeout=PATIENCE_S)
        self.assertEqual((r.returncode, r.stdout), (1, ""), r.stderr)
        self.assertRegex(r.stderr, r"\Anof bench delta: 2 tasks: nofd-dma is not beside [^\n]*\n\Z")

    def test_a_wrong_option_is_named(self):
        for name, args, said in (("dsm", "--pages 0", "--pages"), ("dsm", "--pages 1,1", "--pages: 1 stands twice"),
                                 ("dsm", "--hosts 1", "--hosts"),
                                 ("dsm", "--iterations x", "--iterations"), ("dsm", "--sim --lab", "--sim"),
                                 ("npb", "--kernel cg", "--kernel"),
                                 ("npb", "--class X", "--class"), ("npb", "--hosts 6", "--hosts: 6 is no power of two"),
                                 ("npb", "--dir /dev/null", "--dir"), ("replay", "", "name the folder of a recording"),
                                 ("replay", "--compute x .", "--compute=x: it is a number"),
                                 ("core", "--mtu 1500x", "--mtu=1500x: it is a whole number"),
                                 ("wire", "--seconds 1x", "--seconds=1x: it is a number"),
                                 ("staging", "--runs 1x", "--runs=1x: it is a whole number"),
                                 ("path", "--seed 18446744073709551616", "--seed=18446744073709551616: it is a whole number of 64 bits"),
                                 ("path", "--seed 18446744073709551615 x", "nothing is expected after the options")):
            r = bench(name, *args.split())
            self.assertEqual((r.returncode, r.stdout), (2, ""), args)
            self.assertRegex(r.stderr, rf"\Anof bench {name}: {said}")

    def test_npb_is_what_its_user_has_built_and_verifies(self):
        """Programs that say what those of NPB say, and compute nothing."""
        asked = ("npb", "--kernel", "is", "--class", "S", "--hosts", "2", "--runs", "1", "--json")
        folder = pathlib.Path(self.bare.name)
        program = folder / "nof/is.S.2"
        program.parent.mkdir()
        for text, code in (("SUCCESSFUL", 0), ("UNSUCCESSFUL", 1)):
            program.write_text(f"#!/bin/sh\necho ' Time in seconds =    1.25'\necho ' Verification    =   {text}'\n")
            program.chmod(0o700)
            r = bench(*asked, "--dir", str(folder))
            self.assertEqual(r.returncode, code, r.stderr)
            if code == 0:
                row = json.loads(r.stdout)["rows"][0]
                self.assertEqual((row["nic_s"], row["host_s"], row["mpich_s"], row["host_ratio"]), (1.25, 1.25, None, 1))
        program.unlink()
        said = json.loads(bench(*asked, "--dir", str(folder)).stdout)
        self.assertRegex(said["skipped"]["is.S.2.nic_s"], r"nof/is\.S\.2 is not there; NPB is at nas\.nasa\.gov")

    def test_a_recording_that_does_not_fit_is_told(self):
        """Ranks that wait for one that does not come would wait for ever."""
        folder = pathlib.Path(self.bare.name) / "cut"
        for rank, change, said in ((2, lambda lines: lines[:-1], "rank 2 does not call the collectives that rank 0 calls"),
                                   (0, lambda lines: lines[:3] + lines[4:], "rank 1 does not call the collectives that rank 0 calls"),
                                   (3, lambda lines: [*lines[:3], lines[3].replace("alltoallv", "bcast"), *lines[4:]],
                                    "line 4: not what nof record writes"),
                                   (1, lambda lines: ["comm 0 0,1,1,3", *lines[1:]], "its communicators are not those of rank 1"),
                                   (1, lambda lines: ["comm 0 0,1,2,4", *lines[1:]], "line 1: not what nof record writes")):
            shutil.copytree(COLLECTIVES, folder)
            at = folder / f"rank{rank}.coll"
            at.write_text("\n".join(change(at.read_text().splitlines())) + "\n")
            r = bench("replay", "--sim", str(folder))
            self.assertEqual((r.returncode, r.stdout), (1, ""), said)
            self.assertRegex(r.stderr, rf"\Anof bench replay: {folder}[^\n]*{said}")
            shutil.rmtree(folder)
        self.assertIn("the collectives of no ranks", bench("replay", self.bare.name).stderr)

    def test_what_was_recorded_is_called_again(self):
        """In virtual time: the same each time, and no sooner than it can be."""
        asked = ("replay", "--sim", "--json", str(COLLECTIVES))
        row = json.loads((first := bench(*asked)).stdout)["rows"][0]
        self.assertEqual((row["trace"], row["hosts"], row["collectives"]), ("is.S.4", 4, 35), first.stderr)
        for way in ("nic_s", "host_s"):
            self.assertGreater(row[way], row["limit_s"])
            self.assertLess(row[way], 2.5 * row["limit_s"])
        self.assertEqual(json.loads(bench(*asked).stdout)["rows"][0], row)
        slow = json.loads(bench(*asked, "--compute", "1000").stdout)["rows"][0]
        self.assertGreater(slow["nic_s"], 1000 * row["computed_s"])
        self.assertAlmostEqual(slow["limit_s"] - row["limit_s"], 999 * row["computed_s"], delta=0.1 * slow["limit_s"])

    def test_all_of_a_recording_is_slowed_down_alike(self):
        """By one option: what --link and --compute together do, and the limit is so many times as long."""
        asked = ("replay", "--sim", "--json", str(COLLECTIVES))
        scaled = json.loads((done := bench(*asked, "--scale", "10")).stdout)
        apart = json.loads(bench(*asked, "--link", "10mbit", "--compute", "10").stdout)
        row, other = scaled["rows"][0], apart["rows"][0]
        self.assertEqual((scaled["link_bps"], row["scale"], row["compute"]), (10000000, 10, 1), done.stderr)
        self.assertEqual((row["nic_s"], row["limit_s"]), (other["nic_s"], other["limit_s"]))
        self.assertAlmostEqual(row["limit_s"], 10 * json.loads(bench(*asked).stdout)["rows"][0]["limit_s"], delta=0.001 * row["limit_s"])
        wrong = bench("replay", "--sim", "--link", "5mbit", "--scale", "10", str(COLLECTIVES))
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("--scale 10 make 0.5 Mbit/s of the link", wrong.stderr)
        wrong = bench("replay", "--sim", "--link", "2mbit", str(COLLECTIVES))
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("below 3 Mbit/s", wrong.stderr)

    def test_partitions_leave_before_the_last_is_ready_and_together(self):
        said = json.loads(bench("partitioned", "--fabric", "--json").stdout)
        self.assertGreater(said["early_bytes_fraction"], 0.98)
        self.assertLessEqual(said["frames"], 2 * said["one_message_frames"])
        self.assertGreater(said["pready_ns"], 0)
        self.assertIsNone(said["mpich_early_bytes_fraction"])
        self.assertIn("fabric", said["skipped"]["mpich_early_bytes_fraction"])

    def test_starved_alone_is_marked(self):
        r = bench("neighbour", "--window", "10", "--only", "recv_cancel", "--json")
        said = json.loads(r.stdout)
        if "skipped" in said:
            self.skipTest(str(said["skipped"]))
        for row in said["attacks"]:
            if row["fraction"] is None or row["fraction"] > 1:
                self.assertIn(f"recv_cancel.{row['attackers']}.alone_per_s", said["starved"])

    def test_staging_says_how_far_it_is_in_a_narrow_table(self):
        ours, its = pty.openpty()
        told = []

        def listen():
            try:
                while data := os.read(ours, 65536):
                    told.append(data)
            except OSError:  # the last holder of the other end is gone
                pass

        listener = threading.Thread(target=listen)
        listener.start()
        r = bench("staging", "--runs", "1", "--rounds", "1", stderr=its)
        os.close(its)
        listener.join()
        os.close(ours)
        text = b"".join(told).decode(errors="replace")
        self.assertEqual(r.returncode, 0, text)
        self.assertRegex(text, r"run 1 of 11: .*\r")
        self.assertRegex(text, r"run 11 of 11: ")
        self.assertTrue(re.search(r"\r +\r\Z", text), repr(text[-100:]))  # and leaves an empty line
        self.assertLessEqual(max(len(line) for line in r.stdout.splitlines()), 120)
        self.assertRegex(r.stdout, r"(?m)^tag_bettercycle( +[0-9.]+){11}$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])

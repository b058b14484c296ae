#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A hang speaks: `nof run` says who waits for whom; and what a program leaves behind is said when it is asked for.

usage: hang.py NOF VICTIM"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

NOF, VICTIM = sys.argv[1:3]
PATIENCE_S = 120  # a deadline that only a fault reaches
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("NOF_", "PMI"))}


def run(*args, **env):
    return subprocess.run([NOF, "run", *args], env=ENV | env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


class Hang(unittest.TestCase):
    def line_of(self, rank, text):
        found = re.search(rf"^  rank {rank} \(host \d+, pid \d+\): (.*)$", text, re.M)
        self.assertIsNotNone(found, text)
        return found[1]

    def test_timeout_names_both_sides_of_a_circle_and_who_is_elsewhere(self):
        for driver in ("host", "nic"):
            with self.subTest(collectives=driver):
                self.circle_and_elsewhere(f"collectives={driver}")

    def circle_and_elsewhere(self, feature):
        for seconds in (3, 15, 60):  # a loaded machine may not have them all waiting so soon
            p = run("--hosts", "2", "-n", "4", "--timeout", f"{seconds}s", "--feature", feature, VICTIM, "receives")
            self.assertEqual(p.returncode, 124, p.stderr)
            self.assertIn(f"after {seconds} s (--timeout)", p.stderr)
            if "3 of them wait in MPI" in p.stderr:
                break
        for rank in (0, 1):
            line = self.line_of(rank, p.stderr)
            self.assertIn(f"waits in MPI_Recv to receive from rank {1 - rank}, tag 5, 4 bytes, on MPI_COMM_WORLD", line)
            self.assertIn("1 receives posted", line)
        self.assertIn("waits in no call of MPI", self.line_of(2, p.stderr))
        self.assertIn("3 messages unexpected", self.line_of(2, p.stderr))  # one of the barrier, from the same NIC
        self.assertIn("waits in MPI_Barrier for messages of rank", self.line_of(3, p.stderr))
        self.assertRegex(p.stderr, r"wait for each other: (0 -> 1 -> 0|1 -> 0 -> 1)\n")

    def test_a_wait_is_that_of_its_thread_whatever_the_others_call(self):
        for seconds in (3, 15, 60):
            p = run("--hosts", "1", "-n", "2", "--timeout", f"{seconds}s", VICTIM, "threads")
            if "2 of them wait in MPI" in p.stderr:
                break
        self.assertIn("waits in MPI_Waitall to receive from rank 1, tag 2, 4 bytes", self.line_of(0, p.stderr))

    def test_a_rank_that_is_stopped_is_said_to_be(self):
        for seconds in (2, 15, 60):
            p = run("--hosts", "2", "-n", "2", "--timeout", f"{seconds}s", VICTIM, "stopped")
            if "waits in MPI_Barrier" in p.stderr:
                break
        self.assertRegex(self.line_of(1, p.stderr), r"^is stopped, by a signal or a debugger; waits in no call of MPI(;|$)")
        self.assertRegex(self.line_of(0, p.stderr), "^waits in MPI_Barrier for messages of rank 1")

    def test_waits_for_pages_and_for_ends_of_delta_messages(self):
        """Also in a fault, and what the program itself has yet to do."""
        receives = {"page": "waits in a page of MPIX_Delta_recv to receive from rank 1, tag 5, 262144 bytes, on MPI_COMM_WORLD",
                    "data": "waits in MPIX_Delta_wait_data perhaps for rank 1", "call": "waits in MPI_Send",
                    "end": "waits in MPIX_Delta_recv_wait to receive from rank 1, tag 5, 262144 bytes",
                    "matched": "waits in MPIX_Delta_recv to receive from any rank, tag 5, 262144 bytes"}
        for way, line in receives.items():
            with self.subTest(way=way):
                for seconds in (2, 15, 60):
                    p = run("--hosts", "2", "-n", "2", "--timeout", f"{seconds}s", VICTIM, "delta", way, NOF_DELTA="os")
                    if "2 of them wait in MPI" in p.stderr:
                        break
                self.assertIn(line, self.line_of(0, p.stderr))
                missing = "of which 7 of 8 partitions are not ready" if way == "matched" else \
                    "which this rank has not ended (MPIX_Delta_send_end)"
                self.assertIn(f"waits in MPI_Wait to send to rank 0, tag 5, 262144 bytes, on MPI_COMM_WORLD, {missing}",
                              self.line_of(1, p.stderr))

    def test_who_is_in_spill_mode_is_said_to_wait(self):
        for seconds in (5, 20, 60):
            p = run("--hosts", "2", "-n", "16", "--timeout", f"{seconds}s", VICTIM, "spilled")
            if "16 of them wait in MPI" in p.stderr:
                break
        self.assertIn("waits in MPI_Recv to receive from rank 1, tag 8", self.line_of(0, p.stderr))
        self.assertRegex(p.stderr, r"wait for each other: (0 -> 1 -> 0|1 -> 0 -> 1)\n")

    def test_what_was_not_counted_to_its_end_is_not_told_as_exact(self):
        for hosts in ("1", "2"):
            for seconds in (3, 15, 60):
                p = run("--hosts", hosts, "-n", "2", "--timeout", f"{seconds}s", "--feature", "collectives=host", VICTIM, "very_many")
                if "1 of them wait in MPI" in p.stderr:
                    break
            self.assertRegex(self.line_of(1, p.stderr), r"waits in MPI_Wait to receive from rank 0, .*; at least \d+ receives posted")

    def test_who_is_not_in_mpi_yet_is_told_from_who_waits_for_him_there(self):
        for seconds in (2, 15, 60):
            p = run("-n", "3", "--timeout", f"{seconds}s", VICTIM, "away")
            if p.stderr.count("is in MPI_Init") == 2:
                break
        self.assertIn("has not called MPI_Init", self.line_of(1, p.stderr))
        for rank in (0, 2):
            self.assertIn("is in MPI_Init, which waits for all ranks", self.line_of(rank, p.stderr))

    def test_a_program_of_another_mpi_is_not_said_to_be_in_ours(self):
        compiler = shutil.which("cc") or shutil.which("gcc") or self.skipTest("no C compiler")
        with tempfile.TemporaryDirectory() as here:
            # It speaks to the launcher, as another MPI's MPI_Init does, and goes on.
            sources = {"other.c": '#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n'
                                  'void other(void){dprintf(atoi(getenv("PMI_FD")), "cmd=init pmi_version=1 pmi_subversion=1\\n"); '
                                  'pause();}\n',
                       "main.c": "void other(void);int main(void){other();return 0;}\n"}
            for name, text in sources.items():
                with open(f"{here}/{name}", "w", encoding="utf-8") as f:
                    f.write(text)
            library = f"{here}/libmpich.so.12"
            subprocess.run([compiler, "-shared", "-fPIC", "-Wl,-soname,libmpich.so.12", "-o", library, f"{here}/other.c"], check=True)
            subprocess.run([compiler, "-o", f"{here}/main", f"{here}/main.c", library, f"-Wl,-rpath,{here}"], check=True)
            for seconds in (2, 15, 60):
                p = run("-n", "2", "--timeout", f"{seconds}s", f"{here}/main")
                if p.stderr.count("(libmpich.so.12)") == 2:
                    break
        self.assertNotIn("MPI_Init, which waits", p.stderr)
        for rank in (0, 1):
            self.assertIn("runs on another MPI (libmpich.so.12), which does not say here what it waits for", self.line_of(rank, p.stderr))

    def test_signals_ask_and_usr1_ends_nothing(self):
        # As a script's `&` has it. It keeps neither us nor the ranks from an order.
        p = subprocess.Popen([NOF, "run", "--hosts", "1", "-n", "3", VICTIM, "sends"], env=ENV, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, preexec_fn=lambda: signal.signal(signal.SIGQUIT, signal.SIG_IGN))
        p.stdout.readline()
        text = line = ""
        while "wait for each other" not in text:  # asked until all three have waited long enough, once a report
            if line == "" or "3 ranks run" in line:
                time.sleep(0.1)
                p.send_signal(signal.SIGUSR1)
            line = p.stderr.readline()
            self.assertNotEqual(line, "", text)
            text += line
        self.assertIsNone(p.poll())
        p.send_signal(signal.SIGQUIT)
        _, more = p.communicate(timeout=PATIENCE_S)
        self.assertEqual(p.returncode, 128 + signal.SIGQUIT)
        last = (text + more)[(text + more).rindex("3 of 3 ranks run, 3 of them wait in MPI"):]
        for rank in range(3):
            self.assertIn(f"waits in MPI_Waitall to send to rank {(rank + 1) % 3}, tag 7, 4 bytes, on ring", self.line_of(rank, last))
        self.assertIn("wait for each other: 0 -> 1 -> 2 -> 0", last)

    def test_status_lists_ranks_in_their_order(self):
        with tempfile.TemporaryDirectory() as here:
            socket = f"{here}/nofd.sock"
            subprocess.run([NOF, "up", "--fabric", "2", "--socket", socket], env=ENV, check=True, stdout=subprocess.DEVNULL,
                           timeout=PATIENCE_S)
            with subprocess.Popen([NOF, "run", "--nofd", socket, "-n", "7", VICTIM, "sends"], env=ENV, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True) as p:
                p.stdout.readline()  # all ranks are attached
                said = subprocess.run([NOF, "status", "--nofd", socket], env=ENV, stdout=subprocess.PIPE, text=True, check=True,
                                      timeout=PATIENCE_S).stdout
                p.send_signal(signal.SIGTERM)
            subprocess.run([NOF, "down", "--nofd", socket], env=ENV, check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_S)
        lines = said.splitlines()
        title = next(i for i, line in enumerate(lines) if "rank" in line.split())
        self.assertEqual([line.split()[3] for line in lines[title + 1:]], [str(rank) for rank in range(7)], said)
        self.assertEqual([line for line in lines if line != line.rstrip()], [])

    def test_status_names_whom_a_collective_waits_for(self):
        """By the NIC: nobody in it need call MPI."""
        with tempfile.TemporaryDirectory() as here:
            socket = f"{here}/nofd.sock"
            subprocess.run([NOF, "up", "--fabric", "2", "--feature", "collectives=nic", "--socket", socket], env=ENV, check=True,
                           stdout=subprocess.DEVNULL, timeout=PATIENCE_S)
            with subprocess.Popen([NOF, "run", "--nofd", socket, "-n", "4", VICTIM, "receives"], env=ENV, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True) as p:
                p.stdout.readline()
                until, said = time.monotonic() + PATIENCE_S, ""
                while "collectives that wait" not in said and time.monotonic() < until:
                    time.sleep(0.3)
                    said = subprocess.run([NOF, "status", "--nofd", socket], env=ENV, stdout=subprocess.PIPE, text=True, check=True,
                                          timeout=PATIENCE_S).stdout
                p.send_signal(signal.SIGTERM)
            subprocess.run([NOF, "down", "--nofd", socket], env=ENV, check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_S)
        # Rank 3 is in a barrier; rank 2, which its first message comes from, is in no call of MPI.
        self.assertRegex(said, r"(?m)^job \d+ rank 3: \d+\.\d s for messages of rank 2$")

    def test_nothing_is_said_of_a_program_that_ends_in_time(self):
        p = run("-n", "3", "--timeout", f"{PATIENCE_S}s", VICTIM, "well", NOF_CHECK_LEAKS="1")
        self.assertEqual((p.returncode, p.stdout, p.stderr), (0, "", ""))

    def test_leaks_are_one_line_where_they_are_and_only_if_asked_for(self):
        p = run("--hosts", "2", "-n", "3", VICTIM, "leaks", NOF_CHECK_LEAKS="1")
        self.assertEqual(p.returncode, 0)
        lines = p.stderr.splitlines()
        self.assertEqual(len(lines), 1, p.stderr)
        self.assertRegex(lines[0], r"rank 1 on \S+: MPI_Finalize: 1 request left .*\(the first: a receive from rank 0, tag 44, "
                         r"on MPI_COMM_WORLD\), "
                                   r"3 messages left .*\(the first: from rank 0, tag 41, on MPI_COMM_WORLD\)$")
        self.assertEqual(run("-n", "3", VICTIM, "leaks").stderr, "")

    def test_finalize_waits_for_no_message_that_nobody_takes(self):
        """Of any length, as many as have no room, one way, in a circle and to oneself; found by MPI_Mprobe, too."""
        for ranks, way, count, lengths in ((3, "unreceived", 1, (0, 4, 1000, 5000, 100000, 10000000)),
                                           (3, "unreceived", 500, (0, 1000, 100000)),
                                           (1, "unreceived", 3, (4, 100000)), (3, "matched", 2, (4, 100000))):
            for length in lengths:
                for leaks in ("0", "1"):
                    p = run("--hosts", str(min(ranks, 2)), "-n", str(ranks), "--timeout", f"{PATIENCE_S - 30}s", VICTIM, way, str(count),
                            str(length),
                            NOF_CHECK_LEAKS=leaks)
                    self.assertEqual(p.returncode, 0, f"{way} {count} x {length}: {p.stderr}")
                    lines = p.stderr.splitlines()
                    self.assertEqual(len(lines), ranks if leaks == "1" else 0, p.stderr)
                    for line in lines:
                        self.assertRegex(line, rf"MPI_Finalize: {count} requests? left .*, {count} messages? left that nobody received")

    def test_a_timeout_that_is_none_is_refused(self):
        for bad in ("0", "-1", "soon"):
            p = run("-n", "1", "--timeout", bad, VICTIM)
            self.assertEqual(p.returncode, 2)
            self.assertIn("--timeout", p.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the daemon's log holds, where it goes, and that nobody can fill a disk with it.

usage: logs.py NOF NOFD HEAT3D"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

NOF, NOFD, HEAT3D = sys.argv[1:4]
PATIENCE_S = 120  # a deadline that only a fault reaches
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("NOF_", "PMI", "JOURNAL_"))}
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d nofd\[\d+\]: (error|warning|notice|info|debug): .")


def ask(address, method, **params):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.settimeout(PATIENCE_S)
        s.connect(address)
        s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        return json.loads(s.makefile().readline())["result"]


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def wait_for(found, what):
    end = time.monotonic() + PATIENCE_S
    while not found():
        if time.monotonic() > end:
            raise AssertionError(f"not in {PATIENCE_S} s: {what}")
        time.sleep(0.02)


class Logs(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.address = f"{self.dir.name}/a.sock"
        self.control = self.address + ".ctl"
        self.log = f"{self.dir.name}/a.log"
        self.nofd = None

    def tearDown(self):
        if os.path.exists(self.control):
            self.nof("down", "--control", self.control)
        if self.nofd is not None:
            self.nofd.wait(timeout=PATIENCE_S)
        self.dir.cleanup()

    def nof(self, *args):
        return subprocess.run([NOF, *args], env=ENV, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def up(self, *args):
        r = self.nof("up", "--socket", self.address, *args)
        self.assertEqual(r.returncode, 0, r.stderr)

    def start(self, *args, env=None, stderr=subprocess.DEVNULL):
        """nofd itself, until it is ready."""
        ready, ours = os.pipe()
        self.nofd = subprocess.Popen([NOFD, "--fabric", "2", "--socket", self.address, "--ready-fd", str(ours), *args],
                                     env=ENV | (env or {}), stderr=stderr, pass_fds=[ours])
        os.close(ours)
        self.assertEqual(os.read(ready, 5), b"ready")
        os.close(ready)

    def test_each_line_has_time_and_level_and_the_log_outlives_the_daemon(self):
        self.up()
        ask(self.control, "set", name="eager_max_bytes", value=4096)
        ask(self.control, "link", nic=1, up=False)
        wait_for(lambda: "nic1 (fabric): link down" in read(self.log), "link down")
        ask(self.control, "link", nic=1, up=True)
        wait_for(lambda: "nic1 (fabric): link up" in read(self.log), "link up")
        self.assertEqual(self.nof("down", "--control", self.control).returncode, 0)
        first = read(self.log)
        self.assertIn("notice: feature eager_max_bytes=4096", first)
        for line in first.splitlines():
            self.assertRegex(line, LINE)
        self.up()
        self.assertTrue(read(self.log).startswith(first))
        self.assertEqual(sorted(os.listdir(self.dir.name)), ["a.log", "a.sock", "a.sock.ctl"])

    def test_the_level_can_be_set_while_it_runs(self):
        self.up()

        def refused():
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.settimeout(PATIENCE_S)
                s.connect(self.address)
                s.send(b"no request")
                s.recv(4096)

        refused()
        self.assertNotIn("info: attach of pid", read(self.log))
        self.assertEqual(self.nof("set", "--control", self.control, "log_level=info").returncode, 0)
        refused()
        wait_for(lambda: f"info: attach of pid {os.getpid()} refused" in read(self.log), "info")
        self.assertIn("notice: feature log_level=info", read(self.log))

    def test_sighup_goes_on_in_a_new_file(self):
        self.start("--log-to", self.log)
        old = f"{self.dir.name}/a.log.1"
        os.rename(self.log, old)
        before = read(old)
        self.nofd.send_signal(signal.SIGHUP)
        wait_for(lambda: os.path.exists(self.log) and "opened again" in read(self.log), "the new file")
        ask(self.control, "set", name="pacing", value="off")
        self.assertIn("feature pacing=off", read(self.log))
        self.assertEqual(read(old), before)

    def test_what_comes_often_is_counted_not_written(self):
        self.up()
        began = time.monotonic()
        for i in range(400):
            ask(self.control, "set", name="eager_max_bytes", value=4096 + i)
        took_s = time.monotonic() - began
        self.assertLessEqual(read(self.log).count("feature eager"), 20 * (1 + took_s / 10))

        def told():
            ask(self.control, "set", name="pacing", value="on")
            return re.search(r"feature pacing=on \(and \d{2,} like this were left out\)", read(self.log))

        wait_for(told, "how many were left out")

    def test_syslog_and_journal_are_spoken_to_in_their_way(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as syslog:
            syslog.settimeout(PATIENCE_S)
            syslog.bind(f"{self.dir.name}/log")
            self.start("--log-to", f"syslog:{self.dir.name}/log")
            self.assertRegex(syslog.recv(4096).decode(), r"<29>\w{3} [ \d]\d \d\d:\d\d:\d\d nofd\[\d+\]: notice: nofd .* serves 2 NIC")
        self.nof("down", "--control", self.control)
        self.nofd.wait(timeout=PATIENCE_S)
        with open(f"{self.dir.name}/journal", "wb") as journal:
            st = os.fstat(journal.fileno())
            self.start(env={"JOURNAL_STREAM": f"{st.st_dev}:{st.st_ino}"}, stderr=journal)
        self.assertRegex(read(f"{self.dir.name}/journal"), r"\A<5>notice: nofd .* serves 2 NIC")

    def test_a_peer_is_named_by_its_address(self):
        self.up()
        addresses = [nic["ip"] for nic in ask(self.control, "status")["nics"]]
        ask(self.control, "impair", link="1M")
        job = subprocess.Popen([NOF, "run", "--nofd", self.address, "-n", "2", HEAT3D], env=ENV,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: all(row["counters"]["port.tx_frames"] > 20 for row in ask(self.control, "stats")["rows"]), "traffic")
        ask(self.control, "impair", loss="1", link="none")
        wait_for(lambda: any(f", peer {ip} (NIC " in read(self.log) for ip in addresses) or job.poll() == 0, "the peer's address")
        self.assertIsNot(job.poll(), 0, "the job was over before the links failed")
        job.terminate()
        job.wait(timeout=PATIENCE_S)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

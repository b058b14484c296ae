#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which daemon a command of `nof` speaks to: an option comes before the environment, the environment before the
default, which is a private daemon for `nof run` and this user's for all others.

usage: which_daemon.py NOF"""
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

NOF = sys.argv[1]
PATIENCE_S = 120
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("NOF_", "PMI"))}


def nof(*args, **env):
    return subprocess.run([NOF, *args], env=ENV | env, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0]


def connects(pid):
    """It sleeps, with a socket: all that it does with one, as long as nobody answers."""
    with contextlib.suppress(OSError):
        return state(pid) == "S" and any("socket:" in os.readlink(fd.path) for fd in os.scandir(f"/proc/{pid}/fd"))
    return False


def until(true):
    end = time.monotonic() + PATIENCE_S
    while not true():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)


class WhichDaemon(unittest.TestCase):
    """Daemon A has one NIC, B two; their features differ."""

    def setUp(self):
        self.here = tempfile.TemporaryDirectory()
        self.addCleanup(self.here.cleanup)
        self.a, self.b = (f"{self.here.name}/{name}.sock" for name in "ab")
        for nics, socket, size in ((1, self.a, 1000), (2, self.b, 2000)):
            r = nof("up", "--fabric", str(nics), "--feature", f"eager_max_bytes={size}", "--socket", socket)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.addCleanup(lambda socket=socket: nof("down", "--control", socket + ".ctl"))

    def answers(self, *options, **env):
        """Which of the two answers `status`, `stats` and `features`: the same one."""
        asked = [nof(command, "--json", *options, **env) for command in ("status", "stats", "features")]
        self.assertEqual([r.returncode for r in asked], [0, 0, 0], [r.stderr for r in asked])
        status, stats, features = (json.loads(r.stdout) for r in asked)
        size = [row["value"] for row in features["rows"] if row["name"] == "eager_max_bytes"]
        self.assertEqual((len(stats["rows"]), size), (1, ["1000"]) if status["socket"] == self.a else (2, ["2000"]))
        return status["socket"]

    def test_questions(self):
        a, b = self.a, self.b
        for options, env, socket in (((), {"NOF_SOCKET": a}, a),
                                     ((), {"NOF_CONTROL": b + ".ctl"}, b),
                                     (("--nofd", b), {"NOF_SOCKET": a}, b),
                                     (("--nofd", b), {"NOF_SOCKET": a, "NOF_CONTROL": a + ".ctl"}, b),
                                     (("--control", b + ".ctl"), {"NOF_SOCKET": a, "NOF_CONTROL": a + ".ctl"}, b)):
            self.assertEqual(self.answers(*options, **env), socket, (options, env))

    def test_a_command_that_is_stopped_and_goes_on(self):
        """While a daemon that is busy takes no connection: Ctrl-Z and fg."""
        with socket.socket(socket.AF_UNIX) as door, contextlib.ExitStack() as queue:
            door.bind(f"{self.here.name}/full")
            door.listen(0)
            with contextlib.suppress(BlockingIOError):
                while True:
                    waiting = queue.enter_context(socket.socket(socket.AF_UNIX))
                    waiting.setblocking(False)
                    waiting.connect(f"{self.here.name}/full")
            command = subprocess.Popen([NOF, "status", "--control", f"{self.here.name}/full"], env=ENV, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(command.kill)
            until(lambda: connects(command.pid))
            command.send_signal(signal.SIGSTOP)
            until(lambda: state(command.pid) == "T")
            command.send_signal(signal.SIGCONT)
            until(lambda: command.poll() is not None or connects(command.pid))
            self.assertIsNone(command.poll(), "it has ended")
            command.kill()
            command.communicate()

    def test_features_are_in_columns(self):
        rows = json.loads(nof("features", "--json", "--nofd", self.a).stdout)["rows"]
        title, *lines = nof("features", "--nofd", self.a).stdout.splitlines()
        self.assertEqual(len(lines), len(rows))
        for line, row in zip(lines, rows):
            self.assertEqual(line[title.index("what it does"):], row["help"])
            self.assertTrue(line[title.index("value"):].startswith(row["value"] + " "), line)

    def test_set_and_down(self):
        def compression():
            rows = json.loads(nof("features", "--json", "--nofd", self.a).stdout)["rows"]
            return [row["value"] for row in rows if row["name"] == "compression"]

        other = {"NOF_SOCKET": self.b, "NOF_CONTROL": self.b + ".ctl"}
        self.assertEqual(nof("set", "--nofd", self.a, "compression=off", **other).returncode, 0)
        self.assertEqual(compression(), ["off"])
        self.assertEqual(nof("set", "compression", "on", NOF_SOCKET=self.a).returncode, 0)
        self.assertEqual(compression(), ["on"])
        self.assertEqual(nof("down", "--nofd", self.a, **other).returncode, 0)
        self.assertFalse(os.path.exists(self.a))
        self.assertTrue(os.path.exists(self.b))

    def test_run(self):
        def ran_at(*options, **env):
            r = nof("run", "-n", "1", *options, "--", "sh", "-c", "echo $NOF_SOCKET $NOF_CONTROL", **env)
            self.assertEqual(r.returncode, 0, r.stderr)
            return r.stdout.split()

        a, b = self.a, self.b
        both = {"NOF_SOCKET": a, "NOF_CONTROL": a + ".ctl"}
        self.assertEqual(ran_at(NOF_SOCKET=a), [a, a + ".ctl"])
        self.assertEqual(ran_at("--nofd", b, "--feature", "eager_max_bytes=2001", **both), [b, b + ".ctl"])
        self.assertEqual(self.answers(NOF_SOCKET=a), a)  # whose eager_max_bytes nobody has touched
        for env in ({}, {"NOF_SOCKET": ""}, {"NOF_CONTROL": a + ".ctl"}):
            socket, control = ran_at(**env)
            self.assertNotIn(socket, (a, b))
            self.assertEqual(control, socket + ".ctl")


class WithoutDaemon(unittest.TestCase):
    def test_nobody_named(self):
        r = nof("status", XDG_RUNTIME_DIR="/nonexistent")
        own = "/run/nof" if os.geteuid() == 0 else "/nonexistent/nof"
        self.assertIn(f"{own}/nofd.sock.ctl", r.stdout + r.stderr)

    def test_bad_addresses(self):
        long = "/" + "x" * 200
        for command in ("status", "down", "up"):
            self.assertEqual(nof(command, "--nofd", long).returncode, 2)
        for r in (nof("status", "--nofd", long), nof("status", NOF_SOCKET=long), nof("run", "--nofd", long, "true"),
                  nof("run", "true", NOF_SOCKET=long)):
            self.assertEqual((r.returncode, "more than 107 characters" in r.stderr), (2, True), r.stderr)
        r = nof("run", "--control", "@a.ctl", "true")
        self.assertEqual((r.returncode, "--nofd SOCKET" in r.stderr), (2, True), r.stderr)

    def test_a_number_of_hosts_is_asked_for_where_it_helps(self):
        with tempfile.TemporaryDirectory() as here, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as nic:
            r = nof("run", "--nofd", f"{here}/door", "true")
            self.assertRegex(r.stderr, r"\Anof run: no daemon answers at [^\n]*door\.ctl [^\n]*\n\Z")
            nic.bind(f"{here}/door")  # of a daemon whose control socket is elsewhere
            nic.listen()
            r = nof("run", "--nofd", f"{here}/door", "true")
            self.assertRegex(r.stderr, r"\A[^\n]*door\.ctl [^\n]*\n[^\n]*give --hosts, or --control\n\Z")

    def test_daemons_that_do_not_start(self):
        with tempfile.TemporaryDirectory() as here:
            r = nof("up", "--socket", f"{here}/none/x.sock")
        self.assertEqual(r.returncode, 1)
        self.assertIn("none/x.log", r.stderr)
        self.assertIn("No such file or directory", r.stderr)
        for command, option in (("up", "--socket"), ("stats", "--nofd"), ("run", "--control")):
            r = nof(command, option, "")
            self.assertNotEqual(r.returncode, 0)
            self.assertIn("an empty text is no socket's address", r.stderr)
        for program, status in (("/bin/true", 0), ("/bin/false", 1)):
            r = nof("run", "-n", "2", "true", NOF_NOFD=program)
            self.assertEqual(r.returncode, 125)
            self.assertIn(f"nofd ended before it was ready, with exit status {status}", r.stderr)

    def test_the_rule_is_told(self):
        self.assertIn("--nofd SOCKET, else $NOF_SOCKET, else this user's; run, record: else a private one", nof("--help").stdout)
        for command in ("status", "stats", "features", "set", "down", "up", "run", "record"):
            self.assertIn("--nofd=SOCKET", nof(command, "--help").stdout, command)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

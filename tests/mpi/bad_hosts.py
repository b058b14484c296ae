#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A rank that cannot belong to its job ends at its start, soon, with a sentence that names the reason. The launcher
(PMI-1) is this program, which tells it of a rank 0 or 1 that never was; the daemon is nofd, or this program again.

usage: bad_hosts.py NOF LAUNCHED"""
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

NOF, LAUNCHED = sys.argv[1:3]
AT_START_S = 40  # ten are promised, of a machine that has time; a fault takes a minute
SOMEBODY = 65534
PATIENCE_S = 60
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("NOF_", "PMI", "OMPI_", "SLURM_", "MPI_"))}
ATTACH_MAGIC = b"NOFATCH1"
KEY = "0123456789abcdef" * 2


class Launcher(threading.Thread):
    """Answers one rank; `told` are the other's words, by their names, or functions of what this rank has put."""

    def __init__(self, told):
        super().__init__(daemon=True)
        self.told, self.put = told, {}
        self.asked_to_end = threading.Event()
        self.ours, self.theirs = socket.socketpair()
        self.start()

    def answer(self, line):
        words = dict(w.split("=", 1) for w in line.split() if "=" in w)
        cmd, key = words.get("cmd"), words.get("key")
        if cmd == "abort":
            self.asked_to_end.set()
        if cmd == "put":
            self.put[key] = line.split("value=", 1)[1]
        if cmd == "get":
            value = self.told.get(key, self.put.get(key))
            value = value(self.put) if callable(value) else value
            return "cmd=get_result rc=-1 msg=none" if value is None else f"cmd=get_result rc=0 msg=success value={value}"
        return {"init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
                "get_maxes": "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024", "get_appnum": "cmd=appnum appnum=0",
                "get_my_kvsname": "cmd=my_kvsname kvsname=kvs", "put": "cmd=put_result rc=0 msg=success",
                "barrier_in": "cmd=barrier_out", "finalize": "cmd=finalize_ack"}.get(cmd)

    def run(self):
        with self.ours.makefile("r") as lines:
            for line in lines:
                said = self.answer(line.rstrip("\n"))
                if said is not None:
                    self.ours.sendall((said + "\n").encode())


def machine_id():
    """As include/nof_private/machine.h."""
    value = 2166136261
    with open("/proc/sys/kernel/random/boot_id", "rb") as file:
        for byte in file.read(64):
            value = (value ^ byte) * 16777619 % 2**32
    value = (value ^ os.stat("/proc/self/ns/net").st_ino % 2**32) * 16777619 % 2**32
    return value or 1


class BadHosts(unittest.TestCase):
    def setUp(self):
        self.here = tempfile.TemporaryDirectory()
        self.addCleanup(self.here.cleanup)

    def rank(self, rank, told, user=None, says_nothing=False, **env):
        """Returns what it says; it ends with an error, in time. says_nothing: as it would in a program that sends no message."""
        launcher = Launcher(told)
        self.addCleanup(launcher.ours.close)
        env = ENV | {"PMI_FD": str(launcher.theirs.fileno()), "PMI_RANK": str(rank), "PMI_SIZE": "2",
                     "XDG_RUNTIME_DIR": self.here.name} | env
        begun = time.monotonic()
        command = [LAUNCHED, "2", "quiet"] if says_nothing else [LAUNCHED, "2"]
        process = subprocess.Popen(command, env=env, pass_fds=[launcher.theirs.fileno()], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, user=user, group=user)
        launcher.theirs.close()
        while process.poll() is None and not launcher.asked_to_end.wait(0.05) and time.monotonic() - begun < PATIENCE_S:
            pass
        process.kill()  # as launchers do; it waits for that, having said all
        try:
            _, err = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
        took = time.monotonic() - begun
        self.assertNotEqual(process.returncode, 0, err)
        self.assertLess(took, AT_START_S, err)
        return err

    def daemon(self, *args):
        address = f"{self.here.name}/d.sock"
        r = subprocess.run([NOF, "up", "--socket", address, *args], env=ENV, capture_output=True, text=True, check=False,
                           timeout=PATIENCE_S)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.addCleanup(lambda: subprocess.run([NOF, "down", "--control", address + ".ctl"], env=ENV, check=False,
                                               capture_output=True, timeout=PATIENCE_S))
        return address

    def played(self, reply):
        """A daemon that answers a rank's request with these bytes and hangs up."""
        door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(door.close)
        address = f"@nof-bad-hosts-{os.getpid()}"
        door.bind("\0" + address[1:])
        door.listen()

        def serve():
            rank, _ = door.accept()
            with rank:
                rank.recv(4096)
                if reply:
                    rank.sendall(reply)

        threading.Thread(target=serve, daemon=True).start()
        return address

    def test_two_hosts_with_the_same_host_id(self):
        call = f"ab:{KEY}:{machine_id():x}:0:0:twin:@nof-bad-hosts-nobody-{os.getpid()}"
        self.assertRegex(self.rank(1, {"nof-job": call}), r"rank 0 on twin has its NIC.*copies of one running machine.*boot_id")

    def test_a_host_without_a_daemon_where_rank_0_has_one(self):
        call = f"ab:{KEY}:{machine_id() ^ 1:x}:1:0:other:/run/nof/nofd.sock"
        self.assertRegex(self.rank(1, {"nof-job": call}), r"no NIC daemon runs on .*: start one there with \"nof up\"")

    def test_a_peer_of_another_wire_version(self):
        def card(put):
            hexes, _, wire, _ = put["nof-card-0"].split(":")
            return f"{hexes}:77:{int(wire) + 1}:newer"

        said = self.rank(0, {"nof-card-1": card}, NOF_SOCKET=self.daemon("--fabric", "1"))
        self.assertRegex(said, r"the NIC of rank 1 \(pid 77 on newer\) speaks version (\d+) of the wire, and this rank's on .* version "
                               r"\d+: install nof from one build on both")

    def test_rank_0_has_another_wire_version(self):
        """Known in MPI_Init, though nothing is sent."""
        def card(put):
            hexes, _, wire, _ = put["nof-card-1"].split(":")
            return f"{hexes}:77:{int(wire) + 1}:newer"

        address = self.daemon("--fabric", "1")
        call = f"ab:{KEY}:{machine_id() ^ 1:x}:1:0:newer:{address}"
        said = self.rank(1, {"nof-job": call, "nof-card-0": card}, says_nothing=True, NOF_SOCKET=address)
        self.assertRegex(said, r"the NIC of rank 0 \(pid 77 on newer\) speaks version \d+ of the wire, .*\(nof down; nof up\)")

    def test_a_peer_that_does_not_say_its_version(self):
        def card(put):
            hexes, _, _, _ = put["nof-card-0"].split(":")
            return f"{hexes}:77:older"

        self.assertIn("install nof from one build", self.rank(0, {"nof-card-1": card}, NOF_SOCKET=self.daemon("--fabric", "1")))

    def test_a_daemon_of_another_version(self):
        reply = struct.pack("<8sIi", ATTACH_MAGIC[::-1], 9999, -1)
        self.assertIn("another version of the attach protocol: install", self.rank(0, {}, NOF_SOCKET=self.played(reply)))

    def test_a_daemon_that_ends_as_it_starts(self):
        said = self.rank(0, {}, NOF_SOCKET=self.played(b""))
        self.assertRegex(said, r"the daemon at @nof-bad-hosts-\d+ hung up without an answer: it has ended")

    def test_a_daemon_that_is_stopped(self):
        address = self.daemon("--fabric", "1")
        out = subprocess.run([NOF, "status", "--json", "--control", address + ".ctl"], env=ENV, capture_output=True, check=True).stdout
        pid = json.loads(out)["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            self.assertIn(f"(pid {pid}) is stopped and does not answer: let it go on with `kill -CONT {pid}`",
                          self.rank(0, {}, NOF_SOCKET=address))
        finally:
            os.kill(pid, signal.SIGCONT)

    def test_networks_that_cannot_be(self):
        far = {"MPI_LOCALNRANKS": "1"}
        for net, said in (("lo", "and what other hosts send to it stays with them"), ("127.0.0.1", "stays with them"),
                          ("fd00::/64", "is IPv6, and the wire is IPv4"), ("203.0.113.0/24", "has no address of that")):
            self.assertIn(said, self.rank(0, {}, NOF_NET=net, **far), net)

    def test_a_port_that_is_taken(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("0.0.0.0", 0))
            port = taken.getsockname()[1]
            said = self.rank(0, {}, NOF_UDP_PORTS=str(port), MPI_LOCALNRANKS="1")
        self.assertRegex(said, rf"UDP port {port} of .* is taken")
        self.assertIn("ss -lnup", said)

    @unittest.skipIf(os.geteuid() != 0, "only root can be somebody else")
    def test_a_daemon_of_another_user(self):
        os.chmod(self.here.name, 0o755)
        address = f"{self.here.name}/root.sock"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
            door.bind(address)
            door.listen()
            os.chmod(address, 0o600)
            said = self.rank(0, {}, user=SOMEBODY, NOF_SOCKET=address)
        self.assertIn(f"you may not use the NIC daemon at {address} (Permission denied): it serves another user; start one of", said)


unittest.main(argv=sys.argv[:1])

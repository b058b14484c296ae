#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One binary under every launcher: one world, the right end, nothing left behind.

usage: launchers.py NOF LAUNCHED LAUNCHER [TEST...]; LAUNCHER is a name in LAUNCHERS"""
import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
import leftovers  # noqa: E402

NOF, LAUNCHED, LAUNCHER = sys.argv[1:4]
PATIENCE_S = 120  # a deadline that only a fault reaches, also on a slow machine
MARK = f"nof-launchers-test-{os.getpid()}"
LAUNCHERS = {
    # command, environment, exit codes of a job whose rank is killed
    "nof": ([NOF, "run", "--hosts", "1"], {}, (137,)),
    # 255: Hydra was just answering the rank that died.
    "hydra": (["mpiexec.hydra"], {}, (9, 255)),
    # Hydra speaks both; Slurm's srun --mpi=pmi2 would choose by itself.
    "pmi2": (["mpiexec.hydra"], {"NOF_LAUNCH": "pmi2"}, (9, 255)),
    "openmpi": (["mpirun.openmpi", "--oversubscribe"],
                {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}, (137,)),
    "slurm_pmi2": (["srun", "-Q", "--overcommit", "--mpi=pmi2"], {}, (137,)),
    "slurm_pmix": (["srun", "-Q", "--overcommit", "--mpi=pmix"], {}, (137,)),
}
PACKAGES = {"mpirun.openmpi": "openmpi-bin", "srun": "slurm-client"}
COMMAND, MORE, KILLED = LAUNCHERS[LAUNCHER]
FOREIGN = ("NOF_", "PMI", "OMPI_", "SLURM_")
OWN = {leftovers.NAME: MARK, "XDG_RUNTIME_DIR": "/nonexistent"}  # a daemon of this user's is not for these ranks
ENV = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN) or k == "SLURM_CONF"} | MORE | OWN


def ours():
    return leftovers.marked(MARK)


def root_has_a_daemon():
    """The ranks would use it: root's serves all users."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        return door.connect_ex("/run/nof/nofd.sock") == 0


def start(ranks, *args, env=None, command=None):
    return subprocess.Popen([*(command or COMMAND), "-n", str(ranks), LAUNCHED, *args], env=ENV | (env or {}),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def end_at_attach(door, name, stays):
    """A daemon that hangs up on whoever asks to be attached, and then is no more, unless it stays and does so again."""
    with contextlib.suppress(OSError):
        while True:
            rank, _ = door.accept()
            with rank:
                if rank.recv(4096) and not stays:
                    door.close()
                    os.unlink(name)


class Launch(unittest.TestCase):
    def tearDown(self):
        end = time.monotonic() + PATIENCE_S
        while ours() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(ours(), {})

    def one_world(self, result, size):
        code, out, err = result
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(sorted(re.findall(r"^rank \d+ of \d+", out, re.M)),
                         sorted(f"rank {r} of {size}" for r in range(size)), out)

    def test_one_world_of_four(self):
        self.one_world(finish(start(4, "4")), 4)

    def test_simulated_hosts_have_names(self):
        if LAUNCHER == "nof":
            _, out, _ = finish(start(4, "4", command=[NOF, "run", "--hosts", "2"]))
            name = dict(re.findall(r"^rank (\d) of 4 on (\S+)$", out, re.M))
            self.assertEqual((name["0"], name["2"]), (name["1"], name["3"]))
            self.assertEqual(name["2"], name["0"] + "-host1")

    def test_hosts_without_daemon_are_named(self):
        """A network namespace is another host: its abstract sockets are its own."""
        if LAUNCHER != "hydra" or subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode != 0:
            return
        command = ["mpiexec.hydra", "-n", "1", LAUNCHED, "2", ":", "-n", "1", "unshare", "-n", LAUNCHED, "2"]
        job = subprocess.Popen(command, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
        code, _, err = finish(job)
        self.assertNotEqual(code, 0)
        self.assertIn("where no NIC daemon runs: start one on each host with \"nof up\"", err)

    def test_rank_that_fails_in_init_ends_the_job(self):
        """Hydra forgets one that ends before its first barrier, in which the others wait for it."""
        if LAUNCHER != "hydra":
            return
        for setting in ("NOF_DELTA=nonsense", "NOF_CHANNELS_TABLE=/nonexistent"):
            command = ["mpiexec.hydra", "-n", "2", LAUNCHED, "3", ":", "-n", "1", "env", setting, LAUNCHED, "3"]
            job = subprocess.Popen(command, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
            code, _, err = finish(job)
            self.assertNotEqual(code, 0)
            self.assertIn(setting, err)

    def test_daemon_of_a_bound_rank_is_not_bound(self):
        cpus = sorted(os.sched_getaffinity(0))
        if LAUNCHER != "hydra" or len(cpus) < 2 or root_has_a_daemon():
            return
        bound = ["taskset", "-c", str(cpus[0]), LAUNCHED, "2", "wait"]
        job = subprocess.Popen(["mpiexec.hydra", "-n", "1", *bound, ":", "-n", "1", *bound], env=ENV,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        job.stdout.readline()
        daemons = [pid for pid, words in ours().items() if "--private" in words]
        free = [len(os.sched_getaffinity(pid)) > 1 for pid in daemons]
        job.kill()
        finish(job)
        self.assertTrue(free and all(free), daemons)

    def test_pmix_says_how_many_ranks_are_here(self):
        """All of them: their daemon needs no port."""
        if LAUNCHER != "openmpi" or root_has_a_daemon():
            return
        with tempfile.TemporaryDirectory() as folder:
            script, said = f"{folder}/nofd", f"{folder}/said"
            with open(script, "w", encoding="ascii") as file:
                file.write(f'#!/bin/sh\necho "$*" >{said}\nexec {os.path.dirname(NOF)}/nofd "$@"\n')
            os.chmod(script, 0o700)
            job = subprocess.Popen([*COMMAND, "-n", "2", "env", "-u", "OMPI_COMM_WORLD_LOCAL_SIZE", LAUNCHED, "2"],
                                   env=ENV | {"NOF_NOFD": script}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
            self.one_world(finish(job), 2)
            with open(said, encoding="ascii") as file:
                self.assertIn(" --fabric 1 ", file.read())

    def test_world_of_one_needs_no_daemon(self):
        if LAUNCHER == "nof":
            return  # which starts one for every world
        self.one_world(finish(start(1, "1", env={"NOF_NOFD": "/nonexistent"})), 1)

    def test_two_jobs_side_by_side(self):
        jobs = [start(n, str(n)) for n in (2, 3)]
        for n, job in zip((2, 3), jobs):
            self.one_world(finish(job), n)

    def test_abort_ends_the_job_with_its_code(self):
        code, _, err = finish(start(3, "3", "abort"))
        if LAUNCHER.endswith("pmi2"):  # it carries no exit code, and Hydra complains of it in words of its own
            self.assertNotEqual(code, 0)
            return
        said = [line for line in err.splitlines() if line.startswith("libmpi_offload:")]
        self.assertEqual(len(said), 1, err)
        self.assertRegex(said[0], r"rank 1 on .*: MPI_Abort\(MPI_COMM_WORLD, 42\): the job ends")
        self.assertEqual(code, 42, err)

    def test_death_of_a_rank_is_told_by_the_launcher_alone(self):
        code, _, err = finish(start(3, "3", "kill"))
        self.assertIn(code, KILLED, err)
        if LAUNCHER != "slurm_pmi2":  # where srun lets the others go on, and they say what they wait for
            self.assertNotIn("libmpi_offload:", err)

    def test_killed_launcher_leaves_nothing(self):
        if not LAUNCHER.startswith("slurm"):  # whose daemons live on, and end the job when they are told to
            process = start(3, "3", "wait")
            process.stdout.readline()
            process.kill()
            finish(process)

    def test_daemon_that_runs_is_used(self):
        with tempfile.TemporaryDirectory() as here:
            address = f"{here}/a.sock"
            up = subprocess.run([NOF, "up", "--socket", address], env=ENV, capture_output=True, text=True, timeout=PATIENCE_S,
                                check=False)
            self.assertEqual(up.returncode, 0, up.stderr)
            try:
                # A private one could not be started.
                env = {"NOF_SOCKET": address, "NOF_NOFD": "/nonexistent"}
                command = [NOF, "run"] if LAUNCHER == "nof" else COMMAND
                self.one_world(finish(start(4, "4", env=env, command=command)), 4)
            finally:
                subprocess.run([NOF, "down", "--control", address + ".ctl"], env=ENV, capture_output=True, timeout=PATIENCE_S,
                               check=False)

    def test_daemon_that_ends_as_a_rank_attaches(self):
        """It was none: the job starts its own; and one after the other is not waited for, for ever."""
        if LAUNCHER != "hydra":
            return
        if os.geteuid() == 0 and "NOF_TEST_APART" not in os.environ:
            # Other tests must not meet these daemons: /run/nof is this one's own.
            own_folder = 'install -d -m 755 /run/nof && mount -t tmpfs -o mode=755 tmpfs /run/nof && exec "$@"'
            again = [sys.executable, *sys.argv, self.id().removeprefix("__main__.")]
            apart = subprocess.run(["unshare", "--mount", "sh", "-c", own_folder, "sh", *again], env=ENV | {"NOF_TEST_APART": "1"},
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=4 * PATIENCE_S, check=False)
            self.assertEqual(apart.returncode, 0, apart.stdout)
            return
        for all_of_them in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                own = "/run/nof" if os.geteuid() == 0 else f"{folder}/nof"
                os.makedirs(own, mode=0o755, exist_ok=True)
                door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                door.bind(f"{own}/nofd.sock")
                door.listen()
                ending = threading.Thread(target=end_at_attach, args=(door, f"{own}/nofd.sock", all_of_them))
                ending.start()
                began = time.monotonic()
                result = finish(start(2, "2", env={"XDG_RUNTIME_DIR": folder}))
                took_s = time.monotonic() - began
                with contextlib.suppress(OSError):
                    door.shutdown(socket.SHUT_RDWR)
                ending.join()
                door.close()
                with contextlib.suppress(OSError):
                    os.unlink(f"{own}/nofd.sock")
            if all_of_them:
                self.assertNotEqual(result[0], 0)
                self.assertIn("hung up without an answer", result[2])
                self.assertLess(took_s, 10)
            else:
                self.one_world(result, 2)

    def test_daemon_that_cannot_be_started_is_one_sentence(self):
        if LAUNCHER == "nof":
            return
        code, out, err = finish(start(2, "2", env={"NOF_NOFD": "/nonexistent"}))
        self.assertNotEqual(code, 0)
        self.assertNotIn("rank", out)
        if LAUNCHER == "pmi2":
            return  # as above
        said = [line for line in err.splitlines() if line.startswith("libmpi_offload:")]
        self.assertEqual(len(said), 1, err)
        self.assertIn("set NOF_NOFD to its path, or start it with \"nof up\"", said[0])


if shutil.which(COMMAND[0]) is None:
    print(f"{COMMAND[0]} is missing: apt install {PACKAGES.get(COMMAND[0], 'mpich')}")
    sys.exit(77)
if root_has_a_daemon():
    print("root's NIC daemon runs: end it with \"nof down\"")
    sys.exit(77)
if LAUNCHER.startswith("slurm") and subprocess.run(["timeout", "5", *COMMAND, "-n", "1", "true"], env=ENV,
                                                   capture_output=True, check=False).returncode != 0:
    print("no Slurm answers (slurmctld, slurmd, SLURM_CONF)")
    sys.exit(77)
if LAUNCHER in ("openmpi", "slurm_pmix") and os.environ.get("NOF_TEST_PMIX") == "no":
    print("built without PMIx: apt install libpmix-dev")
    sys.exit(77)
unittest.main(argv=[sys.argv[0], *sys.argv[4:]])

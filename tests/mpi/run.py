#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `nof run` promises: output, exit codes, signals, one sentence about a death, nothing left behind.

usage: run.py NOF VICTIM"""
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
import leftovers  # noqa: E402

NOF, VICTIM = sys.argv[1:3]
NOFD = os.path.join(os.path.dirname(NOF), "nofd")
PATIENCE_S = 120  # a deadline that only a fault reaches, also on a slow machine
MARK = f"nof-run-test-{os.getpid()}"
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("NOF_", "PMI"))} | {leftovers.NAME: MARK}


def ours():
    return leftovers.marked(MARK)


def run(*args, **kw):
    return subprocess.run([NOF, "run", *args], env=ENV, capture_output=True, text=True, timeout=PATIENCE_S, check=False, **kw)


def start(*args, **kw):
    return subprocess.Popen([NOF, "run", *args], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)


def nobody_runs(program):
    """False where the build directory is closed to other users."""
    try:
        return subprocess.run([program, "--version"], user=65534, capture_output=True, check=False, timeout=PATIENCE_S).returncode == 0
    except OSError:
        return False


class Run(unittest.TestCase):
    def tearDown(self):
        self.gone()

    def gone(self):
        """Everything that the run started has ended."""
        end = time.monotonic() + PATIENCE_S
        while ours() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(ours(), {})

    def wait_for(self, process, word):
        for line in process.stdout:
            if word in line:
                return
        self.fail(f"'{word}' never came: {process.stderr.read()}")

    def took(self, began):
        """Within a second on an idle machine: a figure to look at (T_VERBOSE=1), not one to fail by."""
        if "T_VERBOSE" in os.environ:
            print(f"{self.id()}: the job had ended after {time.monotonic() - began:.3f} s")

    def died(self, result, rank, what):
        """One sentence of ours, that names the dead."""
        said = [line for line in result.stderr.splitlines() if line.startswith("nof run:")]
        self.assertEqual(len(said), 1, result.stderr)
        self.assertRegex(said[0], rf"rank {rank} \(host \d+, pid \d+\) {what}")

    def test_output_is_unchanged_and_lines_are_whole(self):
        out = run("-n", "4", "--", "sh", "-c", "seq 1 20000; printf end").stdout
        self.assertEqual(len(out), 4 * len("".join(f"{i}\n" for i in range(1, 20001)) + "end"))
        lines = re.sub("end", "end\n", out).splitlines()
        for i in (1, 777, 20000):
            self.assertEqual(lines.count(str(i)), 4)

    def test_output_streams_stay_apart(self):
        r = run("-n", "2", "--label", "--", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual(sorted(r.stdout.splitlines()), ["[0] out", "[1] out"])
        self.assertEqual(sorted(line for line in r.stderr.splitlines() if not line.startswith("nof run:")), ["[0] err", "[1] err"])

    def test_stdin_goes_to_rank_0(self):
        r = run("-n", "3", "--label", "cat", input="one\ntwo\n")
        self.assertEqual(r.stdout, "[0] one\n[0] two\n")

    def test_what_is_typed_and_not_read_does_not_make_it_deaf(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(NOF, [NOF, "run", "-n", "1", "sleep", "1000"], ENV)
        os.set_blocking(terminal, False)
        left, end = 70000, time.monotonic() + PATIENCE_S  # more than a pipe holds
        while left > 0 and time.monotonic() < end:
            try:
                left -= os.write(terminal, b"a line of some sixty characters that nobody will ever read..\n")
                os.read(terminal, 65536)
            except BlockingIOError:
                time.sleep(0.001)
        os.kill(pid, signal.SIGINT)
        ended, end = 0, time.monotonic() + PATIENCE_S
        while ended == 0 and time.monotonic() < end:
            time.sleep(0.02)
            ended, _ = os.waitpid(pid, os.WNOHANG)
        if ended == 0:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(terminal)
        self.assertEqual((left <= 0, ended), (True, pid))

    def test_what_a_script_has_ignored_in_the_background_ends_jobs_all_the_same(self):
        def background():
            for sig in (signal.SIGINT, signal.SIGQUIT):
                signal.signal(sig, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nohup

        with subprocess.Popen([NOF, "run", "-n", "1", "--", "sh", "-c", "grep SigIgn /proc/self/status; exec sleep 1000"], env=ENV,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              preexec_fn=background) as job:
            ignored = int(job.stdout.readline().split()[1], 16)
            job.send_signal(signal.SIGHUP)
            job.send_signal(signal.SIGINT)
            try:
                code = job.wait(timeout=PATIENCE_S)
            finally:
                job.kill()
        self.assertEqual(code, 128 + signal.SIGINT)
        self.assertEqual([ignored >> sig - 1 & 1 for sig in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)], [0, 0, 1])

    def test_environment_and_block_distribution(self):
        r = run("--hosts", "3", "-n", "8", "--", "sh", "-c", "echo $PMI_RANK:$NOF_NIC:$PMI_SIZE")
        self.assertEqual(sorted(r.stdout.split()), ["0:0:8", "1:0:8", "2:0:8", "3:1:8", "4:1:8", "5:1:8", "6:2:8", "7:2:8"])

    def test_exit_codes(self):
        self.assertEqual(run("-n", "2", VICTIM, "ok").returncode, 0)
        self.assertEqual(run("-n", "2", "--", "sh", "-c", "exit 42").returncode, 42)
        self.assertEqual(run("-n", "2", VICTIM, "late", "1").returncode, 5)
        self.assertEqual(run("no-such-program").returncode, 127)
        self.assertEqual(run("/etc/passwd").returncode, 126)
        self.assertEqual(run("--no-such-option").returncode, 2)
        self.assertEqual(run("--feature", "pacng=on", "true").returncode, 2)

    def test_source_is_to_be_compiled(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "a.c")
            with open(source, "w", encoding="utf-8") as file:
                file.write("int x;\n")
            r = run(source)
            self.assertEqual(r.returncode, 126)
            self.assertIn(f"'{source}' is source: compile it", r.stderr)
            r = subprocess.run([os.path.abspath(NOF), "run", "a.c"], cwd=folder, env=ENV, capture_output=True, text=True, check=False)
            self.assertEqual(r.returncode, 127)
            self.assertIn("'a.c' is source: compile it", r.stderr)

    def test_bad_values_are_refused_before_anything_starts(self):
        for args, said in ((("--loss", "2"), "--loss cannot be '2': it is a share from 0 to 1, such as --loss 0.02"),
                           (("--link", "0"), "--link cannot be '0'"), (("--buffer", "1"), "give --buffer 9014 or more"),
                           (("-np", "2"), "write -n N or --np N"), (("-np2",), "write -n N or --np N"),
                           (("--delay", "1h"), "--delay cannot be '1h'"), (("--mtu", "100"), "from 576 to 9216")):
            r = run(*args, "echo", "ran")
            self.assertEqual((r.returncode, r.stdout), (2, ""))
            self.assertIn(said, r.stderr)
        r = run("--stats=/nonexistent/x", "echo", "ran")
        self.assertEqual((r.returncode, r.stdout), (125, ""))
        self.assertIn("/nonexistent/x cannot be written", r.stderr)
        self.assertEqual(run("--feature", "eager_max_bytes=4k", "true").returncode, 0)

    def test_of_many_options_none_is_left_out(self):
        r = run("-n", "1", *["--feature", "idle=auto"] * 64, "true")
        self.assertEqual((r.returncode, "nofd" in r.stderr), (0, False), r.stderr)
        r = subprocess.run([NOF, "up", "--", *["--fabric"] * 600], env=ENV, capture_output=True, text=True, check=False)
        self.assertEqual(r.returncode, 2)
        self.assertIn("more than 512 words of options", r.stderr)

    def test_what_cannot_be_run_is_told(self):
        r = run("/tmp")
        self.assertEqual((r.returncode, "is a directory" in r.stderr), (126, True))
        r = run("/etc/passwd")
        self.assertEqual((r.returncode, "chmod +x /etc/passwd" in r.stderr), (126, True))

    def test_network_of_a_daemon_that_stays(self):
        """`nof up` takes the network as `nof run` does, and refuses what it refuses, before anything is started."""
        with tempfile.TemporaryDirectory() as here:
            socket = f"{here}/a.sock"

            def up(*options):
                return subprocess.run([NOF, "up", "--socket", socket, *options], env=ENV, capture_output=True, text=True, check=False,
                                      timeout=PATIENCE_S)
            for options, said in {("--loss", "3"): "--loss cannot be '3'", ("--buffer", "2000"): "holds no whole frame",
                                  ("--fabric", "x"): "--fabric cannot be 'x': it is a number from 1 to 1024",
                                  ("--mtu", "x"): "--mtu cannot be 'x'", ("--cores-per-nic", "0"): "--cores-per-nic cannot be '0'",
                                  ("--port", "lo", "--loss", "0.1"): "--loss is of a simulated link, and a --port has none: give "
                                                                     "--fabric N, too, or leave --loss away"}.items():
                r = up(*options)
                self.assertEqual((r.returncode, said in r.stderr), (2, True), r.stderr)
            r = up("--link", "100M", "--delay", "2ms", "--mtu", "1500", "--buffer", "2000", "--loss", "2%", "--multicast", "snoop")
            try:
                self.assertEqual((r.returncode, "nic1" in r.stdout), (0, True), r.stderr)
                self.assertIn("simulated links: rate 100 Mbit/s, delay 2 ms, buffer 2000 bytes, loss 0.02, multicast snoop\n", r.stdout)
                r = subprocess.run([NOF, "status", "--json", "--socket", socket], env=ENV, capture_output=True, text=True,
                                   check=False, timeout=PATIENCE_S)
                nics = json.loads(r.stdout)["nics"]
                self.assertEqual([nic["link_rate_bps"] for nic in nics], [100000000] * 2)
                self.assertEqual([nic["fabric"]["loss"] for nic in nics], [0.02] * 2)
            finally:
                subprocess.run([NOF, "down", "--control", socket + ".ctl"], env=ENV, capture_output=True, check=False,
                               timeout=PATIENCE_S)

    def test_daemon_that_stays(self):
        """Two start it at once, one does; its NICs are dealt in blocks; its log lies beside its socket."""
        with tempfile.TemporaryDirectory() as here:
            socket = f"{here}/a.sock"
            ups = [subprocess.Popen([NOF, "up", "--socket", socket], env=ENV, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True) for _ in range(2)]
            said = [up.communicate(timeout=PATIENCE_S) for up in ups]
            try:
                self.assertEqual(sorted(up.returncode for up in ups), [0, 1], said)
                self.assertEqual(sorted(os.listdir(here)), ["a.log", "a.sock", "a.sock.ctl"])
                r = run("--nofd", socket, "-n", "4", "--", "sh", "-c", "echo $PMI_RANK:$NOF_NIC")
                self.assertEqual(sorted(r.stdout.split()), ["0:0", "1:0", "2:1", "3:1"])
                r = subprocess.run([NOF, "set", "--json", "--control", socket + ".ctl", "early_bytes=1M", "dead_after_ms=2s"],
                                   env=ENV, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
                self.assertEqual(json.loads(r.stdout), {"rows": [{"name": "early_bytes", "value": "1048576"},
                                                                 {"name": "dead_after_ms", "value": "2000"}]})
                r = run("--nofd", socket, "--loss", "0.1", "true")
                self.assertIn("nof up --fabric HOSTS --loss 0.1", r.stderr)
                if os.geteuid() == 0 and nobody_runs(NOF):
                    os.chmod(here, 0o755)
                    down = [NOF, "down", "--control", socket + ".ctl"]
                    r = subprocess.run(down, env=ENV, user=65534, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
                    self.assertEqual((r.returncode, r.stdout), (1, ""))
            finally:
                r = subprocess.run([NOF, "down", "--control", socket + ".ctl"], env=ENV, capture_output=True, text=True,
                                   check=False, timeout=PATIENCE_S)
            self.assertEqual((r.returncode, os.listdir(here)), (0, ["a.log"]))

    def test_nearest_feature_is_named(self):
        self.assertIn("'pacing'", run("--feature", "pacng=on", "true").stderr)

    def test_killed_rank_ends_the_job_with_its_name(self):
        r = run("--hosts", "2", "-n", "4", VICTIM, "kill", "2")
        self.died(r, 2, r"was killed by signal 9 \(Killed\)")
        self.assertEqual(r.returncode, 137)

    def test_rank_that_leaves_is_named(self):
        r = run("--hosts", "2", "-n", "3", VICTIM, "exit", "1")
        self.died(r, 1, "left with exit code 3 and without MPI_Finalize")
        self.assertEqual(r.returncode, 3)

    def test_a_rank_that_begins_another_program_is_stopped(self):
        r = run("--hosts", "1", "-n", "1", VICTIM, "exec", "0")
        self.died(r, 0, "has left MPI without MPI_Finalize, but its process goes on")
        self.assertEqual(r.returncode, 1)

    def test_an_end_that_nobody_asked_for_is_no_abort(self):
        r = run("--hosts", "2", "-n", "3", VICTIM, "error", "1")
        self.died(r, 1, "ended by the error it told of with code")
        self.assertNotIn("called MPI_Abort", r.stderr)

    def test_a_program_that_does_not_attach_is_told(self):
        r = run("-n", "2", "--", "sh", "-c", "exit 0")
        self.assertEqual(r.returncode, 0)
        self.assertIn("no rank attached: sh has not called MPI_Init", r.stderr)
        self.assertNotIn("no rank attached", run("-n", "2", VICTIM, "ok").stderr)

    def test_a_program_of_another_mpi_is_told(self):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            self.skipTest("no C compiler")
        with tempfile.TemporaryDirectory() as here:
            for name, text in (("mpich.c", "int other(void){return 0;}"), ("main.c", "int other(void);int main(void){return other();}")):
                with open(f"{here}/{name}", "w", encoding="ascii") as f:
                    f.write(text)
            library = f"{here}/libmpich.so.12"
            subprocess.run([compiler, "-shared", "-fPIC", "-Wl,-soname,libmpich.so.12", "-o", library, f"{here}/mpich.c"], check=True)
            subprocess.run([compiler, "-o", f"{here}/other", f"{here}/main.c", library, f"-Wl,-rpath,{here}"], check=True)
            r = run("-n", "2", f"{here}/other")
            self.assertEqual(r.returncode, 0)
            self.assertRegex(r.stderr, r"no rank attached: \S+/other is linked to libmpich.so.12, another MPI; build it with \S*mpicc")

    def test_words_that_others_use_are_understood(self):
        def said(*args):
            r = subprocess.run([NOF, *args], env=ENV, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
            self.assertEqual(r.returncode, 0, r.stderr)
            return r.stdout

        self.assertEqual(said("-h"), said("--help"))
        self.assertEqual(said("-V"), said("--version"))
        for way in (("help", "run"), ("run", "-h")):
            self.assertEqual(said(*way), said("run", "--help"))
        self.assertEqual(said("help", "bench", "core"), said("bench", "core", "--help"))
        self.assertEqual(said("status", "-V"), said("-V"))
        r = run("-n", "1", "true", ":", "-n", "1", "false")
        self.assertEqual((r.returncode, "$PMI_RANK" in r.stderr), (2, True))
        self.assertEqual(run("-n", "1", "--", "echo", ":").stdout, ":\n")

    def test_a_limit_that_was_hit_is_named(self):
        r = run("-n", "2", VICTIM, "ok", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20)))
        self.assertEqual(r.returncode, 125)
        self.assertRegex(r.stderr, r"at most 20 open files \(ulimit -n\)")
        self.assertNotIn("PANIC", r.stderr)

    def test_too_few_descriptors_for_all_ranks_end_the_job(self):
        """The daemon starts, and some of the ranks: those end, and so does nof run."""
        r = run("-n", "40", VICTIM, "ok", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        self.assertEqual(r.returncode, 125)
        self.assertRegex(r.stderr, r"no descriptors for rank \d+: .*\(ulimit -n\)")

    def test_too_little_address_space_is_named(self):
        """Whatever fails first: DPDK, the fabric, a NIC, a rank's endpoint."""
        failed = 0
        for megabytes in (60, 97, 100, 110, 250, 400, 450, 500, 540, 4000):
            limit = megabytes << 20
            r = run("--hosts", "2", "-n", "2", VICTIM, "ok", preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_AS, (n, n)))
            failed += r.returncode != 0
            if r.returncode != 0:
                self.assertIn("ulimit -v", r.stderr, f"{megabytes} MB")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertGreaterEqual(failed, 2)

    def test_a_daemon_that_cannot_begin_needs_stacks(self):
        """DPDK ends a process for whose threads there is no room: so many that it would are refused before."""
        for stack_kib, kib, more in ((8192, 150000, ("--fabric", "4", "--cores", "8")), (65536, 200000, ("--fabric", "1")),
                                     (65536, 660000, ("--fabric", "1", "--cores", "8"))):
            def limit(stack=stack_kib << 10, addresses=kib << 10):
                resource.setrlimit(resource.RLIMIT_STACK, (stack, stack))
                resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
            r = subprocess.run([NOFD, "--private", *more], env=ENV, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                               preexec_fn=limit)
            self.assertEqual(r.returncode, 1, r.stderr)
            self.assertRegex(r.stderr, rf"at most {kib} KiB of address space \(ulimit -v\), and the daemon needs \d+ to begin")
            self.assertNotIn("PANIC", r.stderr)

    def test_too_little_network_memory_is_named(self):
        """A value of the daemon's, by its name, the least, and what decides that."""
        r = subprocess.run([NOF, "run", "-n", "2", VICTIM, "ok"], env=ENV | {"NOF_NETMEM": "1MiB"}, capture_output=True, text=True,
                           timeout=PATIENCE_S, check=False)
        self.assertEqual(r.returncode, 125)
        self.assertRegex(r.stderr, r"--netmem of 1048576 bytes: for 64 endpoints it is from 4096KiB")
        r = subprocess.run([NOF, "run", "-n", "2", VICTIM, "ok"], env=ENV | {"NOF_NETMEM": "4MiB"}, capture_output=True, text=True,
                           timeout=PATIENCE_S, check=False)
        self.assertEqual(r.returncode, 0, r.stderr)

    def test_a_port_that_is_no_interface_is_named(self):
        """And what else a port may be."""
        r = subprocess.run([NOF, "up", "--socket", f"@{MARK}-port", "--port", "nosuch0"], env=ENV, capture_output=True, text=True,
                           timeout=PATIENCE_S, check=False)
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stderr, r"there is no interface nosuch0 in this network namespace")
        self.assertRegex(r.stderr, r"docs/PORTS.md")

    def test_abort_is_named(self):
        r = run("--hosts", "2", "-n", "3", VICTIM, "abort", "1")
        self.died(r, 1, "called MPI_Abort with code 7")
        self.assertEqual(r.returncode, 7)

    def test_abort_on_a_communicator_without_a_name(self):
        r = run("-n", "2", VICTIM, "nameless", "1")
        self.died(r, 1, "called MPI_Abort with code 7")
        self.assertIn("MPI_Abort(a communicator without a name, 7)", r.stderr)

    def test_a_missing_program_is_asked_for_by_the_command_that_was_typed(self):
        for command in "run", "record":
            r = subprocess.run([NOF, command, "-n", "2"], env=ENV, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(r.returncode, 2)
            self.assertIn(f"which program? nof {command} [OPTION...]", r.stderr)

    def test_survivors_go_on_if_told_so(self):
        p = start("-n", "2", "--on-failure=continue", "--", "sh", "-c", "[ $PMI_RANK = 0 ] || exit 9; read _; echo here",
                  stdin=subprocess.PIPE)
        said = p.stderr.readline()
        while said and "the others go on" not in said:
            said = p.stderr.readline()
        self.assertIn("the others go on", said)
        out, _ = p.communicate("\n", timeout=PATIENCE_S)
        self.assertEqual((p.returncode, out), (9, "here\n"))

    def test_death_of_a_rank_ends_the_job(self):
        p = start("--hosts", "2", "-n", "4", VICTIM, "hang")
        self.wait_for(p, "waiting")
        victim = next(pid for pid, line in ours().items() if line.startswith(VICTIM))
        began = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        _, err = p.communicate(timeout=PATIENCE_S)
        self.took(began)
        self.assertIn(f"pid {victim}) was killed by signal 9", err)
        self.assertEqual(p.returncode, 137)

    def test_death_of_the_daemon_is_one_sentence(self):
        p = start("--hosts", "2", "-n", "4", VICTIM, "hang")
        self.wait_for(p, "waiting")
        daemon = next(pid for pid, line in ours().items() if line.startswith("nofd "))
        began = time.monotonic()
        os.kill(daemon, signal.SIGKILL)
        _, err = p.communicate(timeout=PATIENCE_S)
        self.took(began)
        said = [line for line in err.splitlines() if line.startswith("nof run:")]
        self.assertEqual(said, [f"nof run: the daemon nofd (pid {daemon}) was killed by signal 9 (Killed): "
                         "its NICs are gone, the job ends"])
        self.assertEqual(p.returncode, 125)

    def test_nothing_survives_sigkill_of_the_launcher(self):
        p = start("--hosts", "2", "-n", "3", "--", "sh", "-c", "sleep 1000 & echo waiting; exec sleep 1000")
        self.wait_for(p, "waiting")
        p.kill()
        p.communicate(timeout=PATIENCE_S)
        self.gone()

    def test_background_children_of_ranks_end_with_them(self):
        self.assertEqual(run("-n", "2", "--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & exit 0").returncode, 0)
        self.gone()

    def test_signals_are_forwarded(self):
        p = start("-n", "2", "--", "sh", "-c", "trap 'echo usr1; exit 0' USR1; echo waiting; while :; do sleep 0.05; done")
        self.wait_for(p, "waiting")
        self.wait_for(p, "waiting")
        p.send_signal(signal.SIGUSR1)
        out, _ = p.communicate(timeout=PATIENCE_S)
        self.assertEqual((p.returncode, out.count("usr1")), (0, 2))
        p = start("-n", "2", VICTIM, "hang")
        self.wait_for(p, "waiting")
        p.send_signal(signal.SIGTERM)
        _, err = p.communicate(timeout=PATIENCE_S)
        self.assertEqual((p.returncode, err), (143, ""))

    def test_ranks_that_catch_the_signal_are_named_and_killed(self):
        p = start("-n", "3", "--", "sh", "-c", "test $PMI_RANK = 2 || trap '' INT; echo waiting; while :; do sleep 0.05; done")
        for _ in range(3):
            self.wait_for(p, "waiting")
        p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=PATIENCE_S)
        self.assertRegex(err, r"^nof run: rank 0 \(host 0, pid \d+\) and 1 more still run 5 s after signal 2 \(Interrupt\) and are killed")
        self.assertEqual((p.returncode, err.count("\n")), (130, 1), err)

    def test_a_link_that_loses_all_is_named(self):
        r = run("--hosts", "2", "-n", "2", "--loss", "1", VICTIM, "ok")
        self.assertIn("its process or its NIC is gone\n", r.stderr)
        self.assertIn("warning: nic0 (fabric): no answer to the handshake: NIC gone, or the link loses all, peer", r.stderr)

    def test_a_misspelt_variable_is_told_once(self):
        """By rank 0 of a job, and by commands that run none, or many; what is somebody else's, or set to nothing, is not."""
        said = "NOF_CHANELS is set, which is no variable of nof's; did you mean NOF_CHANNELS?\n"
        more = {"NOF_CHANELS": "auto", "NOF_MY_PLACE": "x", "NOF_SOCKT": "", "NOF_DIR": "x", "NOF_JOB_ID": "1"}
        r = subprocess.run([NOF, "run", "--hosts", "2", "-n", "3", VICTIM], env=ENV | more, capture_output=True, text=True,
                           timeout=PATIENCE_S, check=False)
        self.assertEqual((r.returncode, r.stderr), (0, "libmpi_offload: " + said))
        r = subprocess.run([NOF, "bench", "pt2pt", "--hosts=2", "--ms=1", "--rounds=1", "--json"], env=ENV | more, capture_output=True,
                           text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual((r.stderr.count(said), "nof: " + said in r.stderr), (1, True), r.stderr)  # of many jobs
        for args in ([NOF, "status", "--socket", f"@{MARK}"], [NOFD, "--fabric", "1", "--socket", "/nowhere/at/all"]):
            r = subprocess.run(args, env=ENV | more, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(r.stderr.count("is set, which is no variable of nof's"), 1, r.stderr)
            self.assertIn(os.path.basename(args[0]) + ": " + said, r.stderr)

    def test_large_job_gives_a_sign_of_life_while_it_starts(self):
        late = 'test "$PMI_RANK" != 0 || sleep 3; exec "$0"'
        slow = run("-n", "64", "sh", "-c", late, VICTIM)
        self.assertEqual(slow.returncode, 0, slow.stderr)
        self.assertRegex(slow.stderr, r"nof run: starting, \d+ s: \d+ of 64 ranks ")
        small = run("-n", "2", "sh", "-c", late, VICTIM)
        self.assertEqual((small.returncode, small.stderr), (0, ""))

    def test_stopped_ranks_are_ended_too(self):
        p = start("-n", "2", "--", "sh", "-c", "echo waiting; kill -STOP $$")
        self.wait_for(p, "waiting")
        self.wait_for(p, "waiting")
        p.send_signal(signal.SIGTERM)
        p.communicate(timeout=PATIENCE_S)
        self.assertEqual(p.returncode, 143)

    def test_reader_that_leaves_ends_the_ranks(self):
        p = start("-n", "2", "yes")
        p.stdout.readline()
        p.stdout.close()
        self.assertNotEqual(p.wait(timeout=PATIENCE_S), 0)
        p.stderr.close()

    def test_output_that_cannot_be_written_is_told(self):
        with open("/dev/full", "wb") as full:
            r = subprocess.run([NOF, "run", "-n", "2", VICTIM, "ok"], env=ENV, stdout=full, stderr=subprocess.PIPE, text=True,
                               timeout=PATIENCE_S, check=False)
        self.assertEqual(r.returncode, 125)
        self.assertRegex(r.stderr, r"output of the ranks is lost.*No space left")

    def test_help_that_cannot_be_written_is_told(self):
        for args in (["--help"], ["--version"], ["run", "--help"], ["status", "--version"]):
            with open("/dev/full", "wb") as full:
                r = subprocess.run([NOF, *args], env=ENV, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual((r.returncode, "cannot be written: No space left" in r.stderr), (1, True), args)

    def test_what_the_system_lacks_is_told(self):
        for folder, says in (("/sys", "DPDK finds CPUs in /sys"), ("/proc", "cannot be told without /proc")):
            hide = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'mount -t tmpfs none {folder} && exec "$@"', "sh"]
            if subprocess.run([*hide, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
                self.skipTest(f"{folder} cannot be hidden here")
            r = subprocess.run([*hide, NOF, "run", "-n", "1", VICTIM, "ok"], env={**ENV, "PATH": "/usr/bin:/bin"}, stderr=subprocess.PIPE,
                               text=True, timeout=PATIENCE_S, check=False)
            self.assertNotEqual(r.returncode, 0)
            self.assertIn(says, r.stderr)
            self.assertLess(r.stderr.count("\n"), 4)

    def test_without_standard_descriptors_the_job_ends_all_the_same(self):
        for missing in ((1,), (2,), (1, 2), (0, 1, 2)):
            r = subprocess.run([NOF, "run", "-n", "2", VICTIM, "ok"], env=ENV, timeout=PATIENCE_S, check=False,
                               preexec_fn=lambda fds=missing: [os.close(fd) for fd in fds])
            self.assertEqual(r.returncode, 0, missing)

    def test_rank_that_breaks_the_launch_protocol_is_named(self):
        r = run("-n", "2", "--", "sh", "-c", "echo garbage >&$PMI_FD; sleep 1000")
        self.assertIn("broke the launch protocol", r.stderr)
        self.assertNotEqual(r.returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])

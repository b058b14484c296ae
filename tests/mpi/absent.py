#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Daemons that are stopped together, by a signal or with their machine, for longer than a dead peer is silent and than a collective is
waited for, go on with their jobs when they may: each knows that it was away itself, and says so. Who was away while its peer was not
has been given up, and says why.

usage: absent.py BUILD ABSENT_MPI"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

BUILD, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
ENV = {k: v for k, v in os.environ.items() if not k.startswith("NOF_")}
NAME = f"@nof-absent-{os.getpid()}"
# Late cores of a busy machine shall not be taken for dead ones here, nor its ranks for later than they are.
DEAD_MS, PATIENCE_MS = 3000, 4000
AWAY_S = 5.0
UNTIL_AWAY_S = 1.2  # when those who wait have looked at least once, and one rank has still to come


def fail(what):
    for log in sorted(work.glob("*.log")):
        print(f"--- {log.name}\n{log.read_text()[-3000:]}")
    sys.exit(f"not so: {what}")


def start_daemon(i):
    ready, write = os.pipe()
    with open(work / f"nofd{i}.log", "w", encoding="utf-8") as log:
        command = [BUILD / "nofd", "--port", f"udp:127.0.0.{i + 1}:0", "--socket", f"{NAME}-{i}", "--ready-fd", str(write)]
        daemons.append(subprocess.Popen(command, env=ENV, pass_fds=[write], stdin=subprocess.DEVNULL, stdout=log, stderr=log))
    os.close(write)
    if not os.read(ready, 100):
        fail(f"nofd {i} becomes ready")
    os.close(ready)


def choose(features):
    for i in range(2):
        subprocess.run([BUILD / "nof", "set", *features, "--control", f"{NAME}-{i}.ctl"], env=ENV, check=True, stdout=subprocess.DEVNULL)


def start_job():
    """Rank R at daemon R % 2, in a process group of its own."""
    rank = 'NOF_SOCKET=$1-$((PMI_RANK % 2)) && export NOF_SOCKET && exec "$2"'
    command = [BUILD / "nof", "run", "--nofd", f"{NAME}-0", "--hosts", "1", "-n", "4", "sh", "-c", rank, "sh", NAME, PROGRAM]
    job = subprocess.Popen(command, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    jobs.append(job)
    if job.stdout.readline().strip() != "talks":
        fail(f"the job starts; it said {job.communicate()[0]}")
    return job


def ranks_of(job):
    pids = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text(encoding="ascii").split()
    return [int(pid) for pid in pids]


def away(pids, seconds):
    for sig, pause in ((signal.SIGSTOP, seconds), (signal.SIGCONT, 0)):
        for pid in pids:
            os.kill(pid, sig)
        time.sleep(pause)


def ended(job):
    try:
        said = job.communicate(timeout=100)[0]
    except subprocess.TimeoutExpired:
        fail("the job ends")
    return job.returncode, said


work_folder = tempfile.TemporaryDirectory()
work = pathlib.Path(work_folder.name)
daemons, jobs = [], []
try:
    start_daemon(0)
    start_daemon(1)
    both = [daemon.pid for daemon in daemons]
    for who, ranks_too in (("nic", False), ("host", True), ("host", False)):
        choose([f"dead_after_ms={DEAD_MS}", f"coll_patience_ms={PATIENCE_MS}", f"collectives={who}"])
        job = start_job()
        time.sleep(UNTIL_AWAY_S)
        away([*ranks_of(job), *both] if ranks_too else both, AWAY_S)
        code, said = ended(job)
        if code != 0:
            fail(f"with collectives={who} the job goes on; it ended with {code}: {said}")
    logs = [work / f"nofd{i}.log" for i in range(2)]
    for log in logs:
        if "did not run for" not in log.read_text():
            fail(f"{log.name} says that its core was away")
    if any("given up" in log.read_text() for log in logs):
        fail("nobody gave anybody up")

    choose(["coll_patience_ms=0"])
    job = start_job()
    time.sleep(UNTIL_AWAY_S)
    away(both[1:], AWAY_S)
    code, said = ended(job)
    if code == 0 or "MPI_ERR_PROC_FAILED" not in said:
        fail(f"who waits for a daemon that is away has an error; the job ended with {code}: {said}")
    if "no sign of life, path given up" not in logs[0].read_text():
        fail("the daemon that was there says whom it has given up")
    if ended(start_job())[0] != 0:
        fail("the next job knows nothing of it")
    if "the peer has given the path up" not in logs[1].read_text():
        fail("the daemon that was away says that it was given up")
finally:
    for pid in (process.pid for process in daemons + jobs if process.poll() is None):
        os.kill(pid, signal.SIGCONT)
        os.kill(pid, signal.SIGTERM)
    for process in daemons + jobs:
        process.wait()
    work_folder.cleanup()

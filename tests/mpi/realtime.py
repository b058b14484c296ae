#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in a real-time class end, whoever shares a CPU: there nobody is ever taken from it for his peers, so whoever waits has to sleep.

usage: realtime.py NOF PROGRAM"""
import ctypes
import itertools
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

NOF, PROGRAM = sys.argv[1], sys.argv[2]
ENV = {k: v for k, v in os.environ.items() if not k.startswith("NOF_")}
PATIENCE_S = 60
SPIN_MOST_US = 5000000
OURS, THEIRS = 3, 1
PR_SET_CHILD_SUBREAPER = 36
POLICIES = {"fifo": os.SCHED_FIFO, "rr": os.SCHED_RR}


def descendants(pid):
    """Also those whose parents have ended, whom this process adopts."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in map(int, task.read_text().split()):
                found += [child, *descendants(child)]
        except OSError:
            continue
    return found


def end_all():
    """Who spins keeps the others from the CPU that they need to end: all are told first."""
    while left := descendants(os.getpid()):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            pass
        time.sleep(0.01)


def job(policy, cpus, args):
    def before():
        os.sched_setaffinity(0, cpus)
        resource.setrlimit(resource.RLIMIT_RTTIME, (SPIN_MOST_US, SPIN_MOST_US))  # the kernel ends who does not sleep, whatever befalls us
        os.sched_setscheduler(0, POLICIES[policy], os.sched_param(THEIRS))

    started = subprocess.Popen([NOF, "run", *args, PROGRAM], env=ENV, preexec_fn=before)
    what = f"{policy}, CPUs {sorted(cpus)}: nof run {' '.join(args)}"
    try:
        code = started.wait(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        sys.exit(f"{what}: has not ended after {PATIENCE_S} s")
    if code != 0:
        sys.exit(f"{what}: ended with {code}")


ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(OURS))
except OSError as error:
    print(f"SKIP: real-time classes: {error.strerror}")
    sys.exit(77)
try:
    every = os.sched_getaffinity(0)
    jobs = [["--hosts", "1", "-n", "2"], ["--hosts", "2", "-n", "4", "--cores-per-nic", "2"],
            ["--hosts", "1", "-n", "3", "--feature", "channels=auto"]]
    for policy, cpus, args in itertools.product(POLICIES, ({min(every)}, every), jobs):
        job(policy, cpus, args)
    for cpus in ({min(every)}, every):  # chrt -R: the ranks alone are of the class, and their NIC cores are not
        job("fifo", cpus, ["--hosts", "2", "-n", "2", "chrt", "-R", "-f", "1"])
finally:
    end_all()

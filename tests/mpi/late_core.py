#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A NIC core that gets no CPU for two seconds, twice what a dead peer is silent, is late and not dead: its ranks' job goes on.

usage: late_core.py NOF LATE_CORE_MPI"""
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import time

NOF, PROGRAM = sys.argv[1], sys.argv[2]
ENV = {k: v for k, v in os.environ.items() if not k.startswith("NOF_")}
TAKEN_S = 2.0
PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, thread):
    return libc.ptrace(request, thread, None, None) == 0


def second_core(launcher):
    """The thread of NIC core 1 of the launcher's private daemon."""
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            words = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            if int(words["PPid"]) != launcher or words["Name"].strip() != "nofd":
                continue
            for comm in status.parent.glob("task/*/comm"):
                if comm.read_text().strip() == "nofd-core-1":
                    return int(comm.parent.name)
        except OSError:
            continue
    sys.exit(f"no thread of a NIC core among the children of {launcher}")


job = subprocess.Popen([NOF, "run", "--hosts", "2", "-n", "4", "--cores-per-nic", "2", "--feature", "channels=nic", PROGRAM],
                       env=ENV, stdout=subprocess.PIPE, text=True)
try:
    if job.stdout.readline().strip() != "talks":
        sys.exit(f"the job did not start: {job.wait()}")
    thread = second_core(job.pid)
    if not ptrace(PTRACE_SEIZE, thread):
        print(f"SKIP: ptrace of the daemon: {os.strerror(ctypes.get_errno())}")
        sys.exit(77)
    if not ptrace(PTRACE_INTERRUPT, thread):
        sys.exit(f"ptrace: {os.strerror(ctypes.get_errno())}")
    os.waitpid(thread, WALL)
    time.sleep(TAKEN_S)
    if not ptrace(PTRACE_DETACH, thread):
        sys.exit(f"ptrace: {os.strerror(ctypes.get_errno())}")
    if job.wait(timeout=100) != 0:
        sys.exit(f"not so: the job goes on; it ended with {job.returncode}")
finally:
    if job.poll() is None:
        job.send_signal(signal.SIGTERM)
        job.wait()

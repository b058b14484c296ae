#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whoever may kill a DMA helper of a shared daemon (nofd-dma), again and again, slows his own ranks down and no more: what it was copying
is copied by the next one. The daemon says what it died of.

usage: helper_killed.py BUILD PROGRAM"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

BUILD, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
ENV = {k: v for k, v in os.environ.items() if not k.startswith("NOF_")}
NAME = f"@nof-helper-{os.getpid()}"
KILLS = 12
PATIENCE_S = 200


def children(pid):
    named = {}
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
        try:
            named[int(child)] = pathlib.Path(f"/proc/{child}/comm").read_text(encoding="ascii").strip()
        except (FileNotFoundError, ProcessLookupError):
            pass
    return [child for child, name in named.items() if name == "nofd-dma"]


def fail(what):
    print((work / "nofd.log").read_text()[-3000:])
    sys.exit(f"not so: {what}")


work_folder = tempfile.TemporaryDirectory()
work = pathlib.Path(work_folder.name)
processes = []
try:
    ready, write = os.pipe()
    with open(work / "nofd.log", "w", encoding="utf-8") as log:
        command = [BUILD / "nofd", "--fabric", "2", "--socket", NAME, "--ready-fd", str(write)]
        daemon = subprocess.Popen(command, env=ENV, pass_fds=[write], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    processes.append(daemon)
    os.close(write)
    if not os.read(ready, 100):
        fail("the daemon becomes ready")
    os.close(ready)
    command = [BUILD / "nof", "run", "--nofd", NAME, "-n", "4", PROGRAM, str(KILLS)]
    job = subprocess.Popen(command, env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    processes.append(job)
    if job.stdout.readline().strip() != "talks":
        fail(f"the job starts; it said {job.communicate()[0]}")
    killed, until = [], time.monotonic() + PATIENCE_S
    while job.poll() is None and len(killed) < KILLS and time.monotonic() < until:
        for pid in children(daemon.pid):
            if pid not in killed and len(killed) < KILLS:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
        time.sleep(0.01)
    if not killed:
        print("no helper copies here: ranks copy themselves")
        sys.exit(77)
    if job.poll() is not None or len(killed) < KILLS:
        fail(f"the job goes on; after {len(killed)} kills it ended with {job.poll()}: {job.communicate()[0]}")
    said = job.communicate("enough\n", timeout=PATIENCE_S)[0]
    if job.returncode != 0:
        fail(f"the job ends well; it ended with {job.returncode}: {said}")
    if "killed by somebody (signal 9, SIGKILL)" not in (work / "nofd.log").read_text():
        fail("the daemon says what its helpers have died of")
finally:
    for process in processes:
        if process.poll() is None:
            process.terminate()
        process.wait()
    work_folder.cleanup()

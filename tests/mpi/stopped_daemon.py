#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A command whose daemon takes no connection says so after its ten seconds, though it is stopped and goes on all the time. One whose
daemon does not answer says whether that has ended, or is stopped, and what to do.

usage: stopped_daemon.py NOF"""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

NOF = sys.argv[1]
PATIENCE_S = 100

with tempfile.TemporaryDirectory() as work:
    path = str(pathlib.Path(work) / "nofd.sock")
    daemon, first = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    daemon.bind(path)
    daemon.listen(0)
    first.connect(path)  # all that there is room for
    env = {k: v for k, v in os.environ.items() if not k.startswith("NOF_")}
    command = subprocess.Popen([NOF, "status", "--control", path], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        began = time.monotonic()
        while command.poll() is None and time.monotonic() - began < PATIENCE_S:
            time.sleep(0.5)
            command.send_signal(signal.SIGSTOP)
            command.send_signal(signal.SIGCONT)
        if command.poll() is None:
            sys.exit(f"not so: it ends; it runs after {PATIENCE_S} s")
        said = command.stderr.read()
        if command.returncode == 0 or "has taken no connection" not in said:
            sys.exit(f"not so: it says that nobody takes its connection; it said, with {command.returncode}: {said}")
    finally:
        if command.poll() is None:
            command.kill()

LISTENER = """import os, socket, sys, time
listens = socket.socket(socket.AF_UNIX)
listens.bind(sys.argv[1])
listens.listen(4)
print(flush=True)
talks = listens.accept()[0]
if sys.argv[2] == "end":
    talks.close()
    time.sleep(0.3)
    os._exit(0)
talks.recv(1)
os.kill(os.getpid(), 19)
"""


def ask(what, said):
    with tempfile.TemporaryDirectory() as work:
        path = str(pathlib.Path(work) / "nofd.sock")
        with subprocess.Popen([sys.executable, "-c", LISTENER, path, what], stdout=subprocess.PIPE) as listener:
            try:
                listener.stdout.readline()
                down = subprocess.run([NOF, "down", "--control", path], env=env, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
                if down.returncode != 1 or said.format(pid=listener.pid) not in down.stderr:
                    sys.exit(f"not so: of a daemon told to {what}, {down.returncode}: {down.stderr}")
            finally:
                listener.kill()


ask("stop", "is stopped (process {pid}, by a signal): `kill -CONT {pid}`")
ask("end", "the daemon has ended")

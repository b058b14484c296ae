# SPDX-License-Identifier: BSD-3-Clause
"""Which processes a test has started and not ended: all those that carry its mark in their environment."""
import os

NAME = "NOF_TEST_MARK"


def marked(mark):
    """pid -> command line. Zombies carry no mark; abstract sockets and memfds end with their processes."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                ours = f"{NAME}={mark}\0".encode() in f.read()
            if ours:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    found[int(pid)] = f.read().replace(b"\0", b" ").decode()
        except OSError:
            pass
    return found

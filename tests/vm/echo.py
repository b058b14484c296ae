#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: echo.py ADDRESS PORT: a datagram from each of 64 ports to it, until it came back; how many did, and the tries."""
import select
import socket
import sys
import time

PORTS, PATIENCE_S = 64, 120
waiting, tries, end = {}, 0, time.monotonic() + PATIENCE_S
for number in range(PORTS):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.connect((sys.argv[1], int(sys.argv[2])))
    waiting[one] = f"datagram {number}".encode()
while waiting and time.monotonic() < end:
    tries += 1
    for one, text in waiting.items():
        one.send(text)
    again = time.monotonic() + 2
    while waiting and time.monotonic() < again:
        for one in select.select(list(waiting), [], [], 0.2)[0]:
            if one.recv(1500) == waiting[one]:
                del waiting[one]
print(f"{PORTS - len(waiting)} of {PORTS} came back, tries {tries}")
sys.exit(1 if waiting else 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames of strangers. usage: strangers.py send DEVICE MAC ADDRESS ROUNDS | hold ADDRESS | hear ADDRESS |
say ADDRESS

send: ROUNDS times one of each kind below, to that host, from the device at the other end of its cable.
hold: has UDP port 48620 of that address until standard input ends, after a line that says so. hear: the same, and prints
"heard" at the first datagram. say ADDRESS: sends one as kernels do, by ARP."""
import os
import random
import socket
import struct
import sys
import time

PORT = 48620
VERSION = 3


def sum16(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def common(kind, body, conn=0, fields=0, version=VERSION, more=0):
    return struct.pack("<IBBHQIIHHBBH", random.getrandbits(32), version, kind, 32 + len(body) + more, conn,
                       1, 1, 0, 0, 0, fields, 0) + body


def packet(to, payload, options=b"", fragment=0, udp_more=0):
    """IPv4/UDP from an address that nobody has."""
    udp = struct.pack("!4H", random.randrange(49152, 65536), PORT, 8 + len(payload) + udp_more, 0) + payload
    head = struct.pack("!BBHHHBBH4s4s", 0x45 + len(options) // 4, 0, 20 + len(options) + len(udp), 0, fragment, 64, 17, 0,
                       socket.inet_aton(f"10.9.0.{random.randrange(200, 250)}"), socket.inet_aton(to)) + options
    return head[:10] + struct.pack("!H", sum16(head)) + head[12:] + udp


def stranger(kind):
    return common(kind, bytes(range(64)), conn=random.getrandbits(64) | 1, fields=16)


def kinds(to):
    """Of each verdict of ebpf/steer.h that drops, by the name of its counter."""
    hello = struct.pack("<QQQ", 1, 2, random.getrandbits(64)) + bytes(56)
    return {
        "conn": packet(to, stranger(random.choice((2, 3, 5, 22)))),
        "hello": packet(to, common(1, hello, fields=80)),
        "group": packet("239.192.112.128", stranger(7)),
        "version": packet(to, common(22, bytes(64), conn=7, version=VERSION + 1)),
        "length": packet(to, common(22, bytes(64), conn=7, more=1)),
        "short": packet(to, bytes(20)),
        "fragment": packet(to, stranger(22), fragment=0x2000),
        "options": packet(to, stranger(22), options=b"\1\1\1\1"),
    }


def send(device, mac, to, rounds):
    ether = bytes.fromhex(mac.replace(":", "")) + bytes((2, 0, 0, 0, 0, 0xee))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as link:
        link.bind((device, 0))
        for i in range(rounds):
            for data in kinds(to).values():
                tag = struct.pack("!HH", 0x8100, 7) if i % 2 else b""
                link.send(ether + tag + b"\x08\x00" + data)
            time.sleep(0.002)


def hold(to, hear):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind((to, PORT))
        print("held", flush=True)
        if hear:
            own.settimeout(60)
            own.recv(2048)
            print("heard", flush=True)
        else:
            os.read(0, 1)


def main(args):
    if args[0] == "send":
        send(args[1], args[2], args[3], int(args[4]))
    elif args[0] == "say":
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.sendto(b"for another", (args[1], PORT))
    else:
        hold(args[1], args[0] == "hear")


if __name__ == "__main__":
    main(sys.argv[1:])

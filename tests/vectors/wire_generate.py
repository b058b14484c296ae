#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Golden frames, written from docs/WIRE.md and from nothing else: CRC, checksum and SipHash are
here a second time, in plain Python. Usage: wire_generate.py > wire.txt

Each line: name, verdict, frame in hex. The verdict is "ok" or the counter under which a NIC with
MAC 02:00:00:00:00:01, address 10.0.0.2 and UDP port 48620 drops the frame. In lines whose name
begins with "hello" the key of the job is "0123456789abcdef"."""
import struct

MASK = (1 << 64) - 1


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def siphash128(key, data):
    def rotl(x, b):
        return (x << b | x >> (64 - b)) & MASK

    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE,
         k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rounds(n):
        for _ in range(n):
            v[0] = (v[0] + v[1]) & MASK; v[1] = rotl(v[1], 13) ^ v[0]; v[0] = rotl(v[0], 32)
            v[2] = (v[2] + v[3]) & MASK; v[3] = rotl(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & MASK; v[3] = rotl(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & MASK; v[1] = rotl(v[1], 17) ^ v[2]; v[2] = rotl(v[2], 32)

    padded = data + bytes((7 - len(data)) % 8) + bytes([len(data) & 255])
    for i in range(0, len(padded), 8):
        m = struct.unpack_from("<Q", padded, i)[0]
        v[3] ^= m; rounds(2); v[0] ^= m
    v[2] ^= 0xEE; rounds(4); first = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD; rounds(4)
    return struct.pack("<QQ", first, v[0] ^ v[1] ^ v[2] ^ v[3])


def ip_checksum(header):
    total = sum(struct.unpack(">10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def common(type_, fields=b"", payload=b"", conn=0x1122334455660000, pn=0, ack=0, src_ep=0, dst_ep=0,
           flags=0, delay=0, version=3, length=None, nfields=None):
    n = 32 + len(fields) + len(payload) if length is None else length
    body = struct.pack("<BBHQIIHHBBH", version, type_, n, conn, pn, ack, src_ep, dst_ep, flags,
                       len(fields) if nfields is None else nfields, delay) + fields + payload
    return struct.pack("<I", crc32c(body)) + body


def frame(datagram, vlan=b"", dst=b"\x02\0\0\0\0\x01", ethertype=0x0800, dst_ip=0x0A000002, sport=50000,
          dport=48620, frag=0x4000, proto=17, vihl=0x45, ip_len=None, udp_len=None, pad=b"", csum=0):
    udp = struct.pack(">HHHH", sport, dport, 8 + len(datagram) if udp_len is None else udp_len, 0)
    total = 28 + len(datagram) if ip_len is None else ip_len
    ip = struct.pack(">BBHHHBBHII", vihl, 0, total, 0, frag, 64, proto, 0, 0x0A000009, dst_ip)
    ip = ip[:10] + struct.pack(">H", ip_checksum(ip) ^ csum) + ip[12:]
    return dst + b"\x02\0\0\0\0\x09" + vlan + struct.pack(">H", ethertype) + ip + udp + datagram + pad


def hello(echo=0, mtu=1500, flags=8, size=1500, key=b"0123456789abcdef", dst_nic=100, job=77):
    f = struct.pack("<QQQQQQIIII", job, 900, dst_nic, 0xA1B2C3D4E5F60003, 0x0102030405060708, echo,
                    mtu, 0xFFFFFFF0, 7, 70000)
    f += siphash128(key, bytes([3, 1, flags]) + f)
    return common(1, f, bytes(size - 28 - 32 - 80), conn=0, flags=flags)


def flip(data, at, bit=1):
    out = bytearray(data)
    out[at] ^= bit
    return bytes(out)


def mdata(key=bytes(range(16)), payload=b"multicast"):
    """The last of 3 frames of 1376 bytes at most, of message 9 of a group."""
    rest = struct.pack("<QIIHHI", 2 * 1376 + len(payload), 9, 3, 0, 1376, 0)
    whole = common(7, bytes(8) + rest, payload, conn=0x1020304050607080, pn=2, src_ep=7)
    tag = siphash128(siphash128(key, whole[4:32]), whole[40:])[:8]
    return common(7, tag + rest, payload, conn=0x1020304050607080, pn=2, src_ep=7)


msg_fields = struct.pack("<IiQIBxxxQ", 1, 42, 8, 0, 3, 0)
msg = common(18, msg_fields, b"payload!", pn=5, ack=6, src_ep=7, dst_ep=8, delay=65535)
acks = common(2, struct.pack("<IIII", 12, 2, 0x80000005, 1), ack=1000)

cases = [
    ("msg", "ok", frame(msg)),
    ("msg_vlan", "ok", frame(msg, vlan=b"\x81\x00\x20\x07")),
    ("msg_ethernet_padding", "ok", frame(msg, pad=b"\xee" * 9)),
    ("data_ack_now", "ok", frame(common(22, bytes(16), b"x" * 100, pn=0xFFFFFFFF, ack=3, flags=0x80, delay=17))),
    ("acks_bitmap", "ok", frame(acks)),
    ("acks_plain", "ok", frame(common(2, struct.pack("<II", 3, 0), ack=5))),
    ("probe", "ok", frame(common(3, ack=5))),
    ("probe_ack", "ok", frame(common(4, ack=5))),
    ("probe_padded", "ok", frame(common(3, payload=bytes(200), ack=5))),
    ("probe_ack_of_padded", "ok", frame(common(4, struct.pack("<I", 260), ack=5))),
    ("close", "ok", frame(common(5, ack=5))),
    ("close_of_an_error", "ok", frame(common(5, ack=5, flags=1))),
    ("credit", "ok", frame(common(25, struct.pack("<IIQ", 256, 0, 1 << 20), pn=9, src_ep=1, dst_ep=2))),
    ("ep_down", "ok", frame(common(26, struct.pack("<Ii", 3, -30), pn=10, src_ep=1))),
    ("cancel", "ok", frame(common(27, struct.pack("<QQIi", 0x500000002, 0x4000000700000003, 1, 42), pn=11, src_ep=7, dst_ep=8))),
    ("cancel_parked", "ok", frame(common(27, struct.pack("<QQIi", 0x500000002, 99, 1, 42), pn=12, src_ep=7, dst_ep=8, flags=1))),
    ("cancelled", "ok", frame(common(28, struct.pack("<QiI", 0x500000002, 0, 0), pn=13, src_ep=8, dst_ep=7))),
    ("codec_ask", "ok", frame(common(29, struct.pack("<BBH", 2, 15, 0), pn=11, src_ep=1))),
    ("codec_grant", "ok", frame(common(30, struct.pack("<BBH", 3, 15, 7), pn=12, src_ep=1))),
    ("codec_refused", "ok", frame(common(30, bytes(4), pn=13, src_ep=1, flags=1))),
    ("codec_revoke", "ok", frame(common(31, struct.pack("<BBH", 3, 0, 7), pn=14, src_ep=1))),
    ("codec_end", "ok", frame(common(32, struct.pack("<BBH", 3, 0, 7), pn=15, src_ep=1))),
    ("coll_abort", "ok", frame(common(33, struct.pack("<IiIIiI", 0x10000005, 42, 7, 3, -30, 0), pn=17, src_ep=7, dst_ep=8))),
    ("gack", "ok", frame(common(6, struct.pack("<QIHHII", 0x1020304050607080, 9, 0, 3, 48, 0) + bytes(16), ack=5, flags=1))),
    ("gack_nack", "ok", frame(common(6, struct.pack("<QIHHIIQQ", 0x1020304050607080, 9, 0, 3, 48, 52, 6, 0), ack=5, flags=2))),
    ("mdata", "ok", frame(mdata(), dst=b"\x01\0\x5e\x40\x70\x80", dst_ip=0xEFC07080)),
    ("mrepair", "ok", frame(common(34, b"", mdata(), pn=18, src_ep=7))),
    ("gdone", "ok", frame(common(35, struct.pack("<QIHH", 0x1020304050607080, 9, 0, 3), pn=19, src_ep=7))),
    ("data_raw_chunk", "ok", frame(common(22, struct.pack("<QQ", 5, 0), struct.pack("<BBH", 3, 0x81, 7) + bytes(range(16)),
                                          pn=16, src_ep=1, flags=16))),
    ("hello", "ok", frame(hello(), sport=48620)),
    ("hello_echo_up", "ok", frame(hello(echo=99, flags=0x88), sport=48620)),
    ("hello_small", "ok", frame(hello(size=576), sport=48620)),
    ("hello_wrong_key", "drop.job", frame(hello(key=b"0123456789abcdeF"), sport=48620)),
    ("hello_other_nic", "drop.job", frame(hello(dst_nic=101), sport=48620)),
    ("hello_other_job", "drop.job", frame(hello(job=78), sport=48620)),
    ("hello_mtu_too_small", "drop.job", frame(hello(mtu=500), sport=48620)),
    ("hello_window_too_small", "drop.job", frame(hello(flags=4), sport=48620)),
    ("hello_window_too_large", "drop.job", frame(hello(flags=11), sport=48620)),
    ("hello_short_fields", "drop.length", frame(common(1, bytes(79), conn=0), sport=48620)),
    ("crc", "drop.crc", flip(frame(msg), len(frame(msg)) - 1)),
    ("crc_type", "drop.crc", flip(frame(msg), 47)),
    ("version_1", "drop.version", frame(common(18, msg_fields, b"payload!", version=1))),
    ("version_2", "drop.version", frame(common(18, msg_fields, b"payload!", version=2))),
    ("version_4", "drop.version", frame(common(18, msg_fields, b"payload!", version=4))),
    ("version_0", "drop.version", frame(common(18, msg_fields, b"payload!", version=0))),
    ("length_common", "drop.length", frame(common(18, msg_fields, b"payload!", length=71))),
    ("length_udp", "drop.length", frame(msg, udp_len=8 + len(msg) - 1)),
    ("length_ip_beyond_frame", "drop.length", frame(msg, ip_len=28 + len(msg) + 1)),
    ("length_no_common_header", "drop.length", frame(msg[:31])),
    ("length_fields_beyond_frame", "drop.length", frame(common(18, b"1234", nfields=5))),
    ("length_cut", "drop.length", frame(msg)[:40]),
    ("length_cut_ethernet", "drop.length", frame(msg)[:17]),
    ("length_empty", "drop.length", b""),
    ("length_ip_checksum", "drop.length", frame(msg, csum=1)),
    ("foreign_mac", "drop.foreign", frame(msg, dst=b"\x02\0\0\0\0\x02")),
    ("foreign_broadcast", "drop.foreign", frame(msg, dst=b"\xff" * 6)),
    ("foreign_arp", "drop.foreign", frame(msg, ethertype=0x0806)),
    ("foreign_two_vlan_tags", "drop.foreign", frame(msg, vlan=b"\x81\x00\x20\x07\x81\x00\x20\x07")),
    ("foreign_address", "drop.foreign", frame(msg, dst_ip=0x0A000003)),
    ("foreign_port", "drop.foreign", frame(msg, dport=48621)),
    ("foreign_tcp", "drop.foreign", frame(msg, proto=6)),
    ("foreign_fragment", "drop.foreign", frame(msg, frag=0x2000)),
    ("foreign_last_fragment", "drop.foreign", frame(msg, frag=0x0001)),
    ("foreign_ip_options", "drop.foreign", frame(msg, vihl=0x46)),
    ("foreign_ip6", "drop.foreign", frame(msg, vihl=0x65)),
    ("conn_unknown", "drop.conn", frame(common(18, msg_fields, b"payload!", conn=0x1122334455670000))),
    ("conn_zero", "drop.conn", frame(common(18, msg_fields, b"payload!", conn=0))),
    ("type_0", "drop.type", frame(common(0))),
    ("type_8", "drop.type", frame(common(8))),
    ("gack_short", "drop.length", frame(common(6, bytes(39)))),
    ("mdata_unicast", "drop.conn", frame(mdata())),
    ("mdata_wrong_mac", "drop.foreign", frame(mdata(), dst=b"\x01\0\x5e\0\x70\x81", dst_ip=0xEFC07080)),
    ("type_15", "drop.type", frame(common(15))),
    ("type_63", "drop.type", frame(common(63, bytes(16)))),
    ("type_255", "drop.type", frame(common(255))),
    ("acks_count_and_fields_differ", "drop.length", frame(common(2, struct.pack("<III", 1, 2, 3), ack=5))),
    ("acks_too_many_words", "drop.length", frame(common(2, struct.pack("<II", 1, 33) + bytes(132), ack=5))),
    ("acks_no_fields", "drop.length", frame(common(2, ack=5))),
]

for name, verdict, data in cases:
    print(name, verdict, data.hex() or "-")

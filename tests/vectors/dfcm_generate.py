#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Golden chunks, written from docs/DFCM_FORMAT.md and from nothing else. Usage: dfcm_generate.py > dfcm.txt

Each line: name, format, elem, kind, bytes of the message in hex, chunk in hex. Lines with one name are the chunks of one
epoch, in order. kind is "coded" (the chunk decodes to the bytes; an encoder that takes these values makes it), "raw" (the
predictor sees the bytes; "-" for the chunk), "proto" or "version" (the chunk is refused so; "-" for the bytes)."""
import struct

MASK = (1 << 64) - 1
PAPER, FAST = 1, 2
WORD = {1: 8, 2: 4, 3: 8, 4: 4, 5: 8, 6: 4}
STRIDE = {1: 1, 2: 1, 3: 1, 4: 1, 5: 2, 6: 2}
SHIFT = {1: 50, 2: 50, 3: 0, 4: 32, 5: 50, 6: 50}
LINES = 1 << 15


class Predictor:
    def __init__(self, delay):
        self.delay, self.lines, self.d, self.v = delay, {}, [0] * 8, [0] * 2

    def residual(self, value, elem):
        t = [d >> SHIFT[elem] for d in self.d]
        k = self.delay
        line = (t[-1 - k] ^ t[-2 - k] << 5 ^ t[-3 - k] << 10) % LINES
        newest, older = self.lines.get(line, (0, 0))
        foretold = newest
        if newest >> SHIFT[elem] == older >> SHIFT[elem]:
            foretold += newest - older
        base = self.v[-STRIDE[elem]]
        d = value - base & MASK
        self.lines[line] = (d, newest)
        self.d = self.d[1:] + [d]
        self.v = [self.v[1], value]
        return value ^ (base + foretold & MASK)


def residuals(p, elem, data):
    size = WORD[elem]
    for at in range(0, len(data) // size * size, size):
        word = int.from_bytes(data[at:at + size], "little")
        yield p.residual(word << 64 - 8 * size, elem) >> 64 - 8 * size


def zeros_and_kept(residual, nibbles):
    kept = (residual.bit_length() + 3) // 4
    zeros = min(nibbles - kept, 15)
    return zeros, nibbles - zeros


def paper(all_residuals, nibbles):
    stream = []
    for r in all_residuals:
        zeros, kept = zeros_and_kept(r, nibbles)
        stream += [zeros] + [r >> 4 * i & 15 for i in reversed(range(kept))]
    stream += [0] * (len(stream) % 2)
    return bytes(high << 4 | low for high, low in zip(stream[::2], stream[1::2]))


def low_first(stream):
    stream = stream + [0] * (len(stream) % 2)
    return bytes(low | high << 4 for low, high in zip(stream[::2], stream[1::2]))


def fast(all_residuals, nibbles):
    out = b""
    for at in range(0, len(all_residuals), 64):
        block = [(r, *zeros_and_kept(r, nibbles)) for r in all_residuals[at:at + 64]]
        out += low_first([zeros for _, zeros, _ in block])
        out += low_first([r >> 4 * (kept - 1) & 15 for r, _, kept in block if kept % 2])
        out += b"".join((r & (1 << 8 * (kept // 2)) - 1).to_bytes(kept // 2, "little") for r, _, kept in block)
    return out


def coded(p, fmt, elem, data):
    size = WORD[elem]
    tail = len(data) % size
    rs = list(residuals(p, elem, data))
    body = (paper if fmt == PAPER else fast)(rs, 2 * size)
    chunk = struct.pack("<BBH", fmt | elem << 4, tail, len(rs)) + body + data[len(data) - tail:]
    assert len(chunk) < len(data)
    return chunk


def lcg(n):
    state = 12345
    for _ in range(n):
        state = (state * 6364136223846793005 + 1442695040888963407) & MASK
        yield state


def smooth(code, n):
    """Numbers on a line with a little noise, in the struct code."""
    number = {
        "d": lambda i, noise: 1.0 + i / 1000 + noise / 10**9,
        "f": lambda i, noise: 300 + i / 16,
        "i": lambda i, noise: 1000 + 3 * i + noise,
        "q": lambda i, noise: 10**12 + 40 * i + noise,
    }[code]
    return b"".join(struct.pack("<" + code, number(i, noise % 7)) for i, noise in enumerate(lcg(n)))


SPECIAL = b"".join(struct.pack("<Q", v) for v in (
    0x7FF8000000000000, 0x7FF4000000000001, 0xFFF80000DEADBEEF, 0x7FF0000000000000, 0xFFF0000000000000,
    0x8000000000000000, 1, 0x000FFFFFFFFFFFFF, 0x8000000000000001, 0x0010000000000000))
CODES = {1: "d", 2: "f", 3: "q", 4: "i", 5: "d", 6: "f"}


def emit(name, fmt, elem, kind, data, chunk):
    print(name, fmt, elem, kind, data.hex() or "-", chunk.hex() or "-")


def epochs():
    for fmt, word in ((PAPER, "paper"), (FAST, "fast")):
        delay = {PAPER: 0, FAST: 4}[fmt]
        for elem, code in CODES.items():
            p = Predictor(delay)
            data = smooth(code, 130)
            for at, end in ((0, 65), (65, 129), (129, 130)):
                piece = data[at * WORD[elem]:end * WORD[elem]]
                if end - at == 1:
                    list(residuals(p, elem, piece))
                    emit(f"{word}_type{elem}", fmt, elem, "raw", piece, b"")
                else:
                    emit(f"{word}_type{elem}", fmt, elem, "coded", piece, coded(p, fmt, elem, piece))
            piece = data[:40 * WORD[elem]] + b"abc"
            emit(f"{word}_type{elem}", fmt, elem, "coded", piece, coded(p, fmt, elem, piece))
        p = Predictor(delay)
        emit(f"{word}_zeros", fmt, 1, "coded", bytes(8 * 127), coded(p, fmt, 1, bytes(8 * 127)))
        emit(f"{word}_zeros", fmt, 2, "coded", bytes(4 * 63), coded(p, fmt, 2, bytes(4 * 63)))
        p = Predictor(delay)
        for _ in range(2):
            list(residuals(p, 1, SPECIAL))
            emit(f"{word}_special", fmt, 1, "raw", SPECIAL, b"")
        emit(f"{word}_special", fmt, 1, "coded", SPECIAL * 6, coded(p, fmt, 1, SPECIAL * 6))


def refused():
    for fmt, word in ((PAPER, "paper"), (FAST, "fast")):
        delay = {PAPER: 0, FAST: 4}[fmt]
        good = coded(Predictor(delay), fmt, 1, smooth("d", 70) + b"xy")
        head, body = good[:4], good[4:]

        def bad(name, chunk, kind="proto", elem=1):
            emit(f"{word}_{name}", fmt, elem, kind, b"", chunk)

        bad("empty", b"")
        bad("header_alone", head)
        bad("cut", good[:-1])
        bad("cut_to_five", good[:5])
        bad("one_byte_more", good + b"\0")
        bad("no_values", head[:2] + b"\0\0" + body)
        bad("a_value_less", head[:2] + struct.pack("<H", 69) + body)
        bad("a_value_more", head[:2] + struct.pack("<H", 71) + body)
        bad("too_many_values", head[:2] + struct.pack("<H", 8193) + body)
        bad("tail_of_a_word", head[:1] + b"\x08" + head[2:] + body)
        bad("tail_longer_than_it_is", head[:1] + b"\x07" + head[2:] + body)
        bad("another_format", bytes([head[0] ^ 3]) + head[1:] + body, "version")
        bad("unknown_format", bytes([head[0] | 15]) + head[1:] + body, "version")
        bad("another_type", bytes([fmt | 3 << 4]) + head[1:] + body)
        bad("unknown_type", bytes([fmt | 7 << 4]) + head[1:] + body)
        bad("not_smaller", struct.pack("<BBH", fmt | 1 << 4, 0, 1) + bytes([0xF0, 0, 0, 0]))
        # 9 and 11 zeros of 8 nibbles
        bad("zeros_above_word", struct.pack("<BBH", fmt | 2 << 4, 0, 2) + b"\x9b", elem=2)
        # three zero values of four bytes: the last half byte is set
        padding = b"\x88\x8f" if fmt == PAPER else b"\x88\xf8"
        bad("set_padding", struct.pack("<BBH", fmt | 2 << 4, 0, 3) + padding, elem=2)
    # one value that keeps an odd number, in a block of two
    bad_odd = struct.pack("<BBH", FAST | 1 << 4, 0, 2) + b"\x0f" + b"\x11" + bytes(8)
    emit("fast_set_odd_padding", FAST, 1, "proto", b"", bad_odd)


epochs()
refused()

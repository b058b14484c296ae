#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who owns state has a unit test of its name: each module of the core, the transport and nofd that writes fields of a struct,
or has a variable of its own that can be written."""
import pathlib
import re

import tree

PREFIX = {"firmware/nofd/": "nofd_"}
# Other kinds of modules: ports have port_NAME where they can be tested alone; kernels and kinds are tested through their engines.
ELSEWHERE = ("firmware/port/", "firmware/codec/", "firmware/predict/")

# Halves of one noun, and those whose test is named after what they do: what tests/unit calls it.
UNDER = {
    "firmware/compress/chunk.c": "hostile_chunks", "firmware/compress/defer.c": "hostile_chunks",
    "firmware/compress/grant_rx.c": "grant", "firmware/compress/grant_tx.c": "grant",
    "firmware/compress/pack.c": "grant", "firmware/msg/granted.c": "early", "firmware/msg/question.c": "cancel",
    "firmware/msg/direct_rx.h": "direct", "firmware/match/match_last.h": "match",
    "firmware/transport/state.h": "transport",
    "firmware/nofd/core/wire_dpdk.c": "nofd_wire_ops", "firmware/nofd/core/wire_fabric.c": "nofd_wire_ops",
    "firmware/nofd/core/wire_udp.c": "nofd_wire_ops",
    "firmware/nofd/dma/dma.h": "nofd_dma_helper",
}
# What they write is not theirs.
OWN_NOTHING = {
    "firmware/dispatch.c": "lends a frame for the length of a call",
    "firmware/nofd/main.c": "the order of start and end: tests/ipc/life.c, tests/mpi/run.py",
    "firmware/nofd/sys/eal.c": "arguments of DPDK, once: tests/mpi/run.py starts it in all ways",
}

COMMENT = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
# p->field = ..., p->field[i].other++, --p->field; not ==.
WRITES = re.compile(r"\w+->[\w.\[\]>\s+*()-]*?\s*(?:=(?!=)|(?:\+|-|\||&|\^|<<|>>)=|\+\+|--)|(?:\+\+|--)\w+->")
VARIABLE = re.compile(r"^static (?!const\b|inline\b|_Thread_local const\b)[^()=;{}]*?(?:\[[^]]*\]\s*)*(?:;|=(?!=))", re.MULTILINE)


def writes(path):
    code = COMMENT.sub("", "\n".join(tree.lines_of(path)))
    variables = [v for v in VARIABLE.findall(code) if " const " not in v and "*const" not in v]
    return bool(WRITES.search(code) or variables)


def name_of(path):
    for folder, prefix in PREFIX.items():
        if path.as_posix().startswith(folder):
            return prefix + path.stem
    return path.stem


def modules():
    """Sources, and headers that are all there is of a module."""
    for path in tree.files({".c", ".h"}):
        place = path.as_posix()
        if not place.startswith("firmware/") or place.startswith(ELSEWHERE):
            continue
        if path.suffix == ".c" or not (tree.root() / path.with_suffix(".c")).exists():
            yield path


def main():
    built = (tree.root() / "tests/unit/meson.build").read_text(encoding="utf-8")
    tests = {path.stem for path in tree.files({".c"}) if path.parent == pathlib.PurePath("tests/unit")}
    complaints, looked_at, seen = [], 0, set()
    for path in modules():
        looked_at += 1
        place, name = path.as_posix(), UNDER.get(path.as_posix(), name_of(path))
        seen.add(place)
        tested = name in tests and f"'{name}'" in built
        if place in OWN_NOTHING:
            if tested:
                complaints.append(f"{place}: has a test: take it off tests/lint/owners.py")
        elif writes(path) and not tested:
            complaints.append(f"{place}: owns state, and tests/unit/{name}.c is not there, or not in its meson.build")
    if looked_at > 1:  # not in a tree that tests/lint/catches.sh made
        for place in sorted({*UNDER, *OWN_NOTHING} - seen):
            complaints.append(f"tests/lint/owners.py: there is no {place}")
    tree.finish("owners", complaints, looked_at)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who may include what: the table of docs/ARCHITECTURE.md, followed through the project's own headers."""
import dataclasses
import functools
import re

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
# Where the build looks, after the including file's own folder.
SEARCH = ("include", "host", "host/libmpi_offload/include", "firmware", "firmware/port/fabric",
          "firmware/port/dpdk", "firmware/port/udp", "tests", "host/libmpi_offload", ".")

DPDK = re.compile(r"^(rte_|bus_|ethdev_)")
# What rte_ring's inline functions pull in themselves is DPDK's business; these are the ones we may name.
RING_ONLY = re.compile(r"^rte_(ring\w*|config|branch_prediction|common)\.h$")
MPI = re.compile(r"^(mpi|mpi_offload|mpio|pmi\d?|pmix)\.h$")
# Headers without an operating system behind them, and ISA-L's CRC.
BARE = re.compile(r"^(stdint|stddef|stdbool|stdalign|stdatomic|limits|inttypes|string|float|assert)\.h$"
                  r"|^(isa-l/)?crc\.h$|^isa-l\.h$|^[a-z]?mmintrin\.h$|^immintrin\.h$|^cpuid\.h$|^x86intrin\.h$|^arm_\w+\.h$")
# The same, and memory.
PURE = re.compile(BARE.pattern + r"|^stdlib\.h$")
CONTRACT = ("include/nof/", "include/nof_private/")
CORE = tuple(f"firmware/{folder}/" for folder in
             ("base", "codec", "predict", "transport", "flow", "match", "payload", "msg", "compress", "ahead", "mcast", "coll"))


@dataclasses.dataclass
class Law:
    """May a file of this part reach a header? `own`: folders of the project; others: kinds from outside."""
    name: str
    own: tuple = ()
    dpdk: object = None
    mpi: bool = False
    outside: object = None  # None: any that is neither DPDK nor MPI
    beside: bool = True  # may know all of its own folder

# Inside the core too. The engines are values that know no NIC; they and their kernels know each other.
ENGINES = ("coll_engine", "dfcm_engine", "recv_predictor", "stage_cache")
VALUES = ("firmware/base/", "firmware/codec/", "firmware/predict/") + tuple(f"firmware/{name}.h" for name in ENGINES)
# struct nof_nic holds what it is made of by value; so does its header. These have types, and no function of those above.
STATE = ("firmware/nic.h", "firmware/coll/drive_state.h", "firmware/match/match_state.h",
         "firmware/compress/grant_state.h", "firmware/compress/adaptive.h", "firmware/mcast/mcast_state.h", "firmware/mcast/mcast_msg.h")
BELOW_MSG = CONTRACT + VALUES + STATE + ("firmware/transport/", "firmware/flow/")
BELOW_TOP = BELOW_MSG + ("firmware/match/", "firmware/payload/", "firmware/msg/")
INSIDE_CORE = (
    ("base/", CONTRACT + ("firmware/base/",)),
    (r"(codec/|predict/|(%s)\.)" % "|".join(ENGINES), CONTRACT + VALUES),
    ("transport/", CONTRACT + VALUES + ("firmware/transport/",)),
    ("flow/", BELOW_MSG),
    ("match/", BELOW_MSG + ("firmware/match/",)),
    ("payload/", BELOW_MSG + ("firmware/payload/",)),
    ("msg/", BELOW_TOP),
    ("compress/", BELOW_TOP + ("firmware/compress/",)),
    ("ahead/", BELOW_TOP + ("firmware/ahead/",)),
    (r"mcast/mcast_msg\.", CONTRACT + ("firmware/mcast/mcast_msg.h",)),
    ("mcast/", BELOW_TOP + ("firmware/mcast/",)),
    (r"coll/reduce\.", CONTRACT + ("firmware/base/", "firmware/coll/reduce.h")),
    ("coll/", BELOW_TOP + ("firmware/coll/",)),
    # What is in these headers is in everybody's.
    (r"nic\.h", CONTRACT + VALUES + STATE + ("firmware/transport/",)),
)

# Inside the daemon each folder knows those before it.
NOFD_BELOW = CONTRACT + ("firmware/base/", "firmware/port/", "ebpf/")
NOFD_FOLDERS = ("sys", "dma", "door", "core", "control")
NOFD = tuple((folder, tuple(f"firmware/nofd/{below}/" for below in NOFD_FOLDERS[:at]))
             for at, folder in enumerate(NOFD_FOLDERS))

# Inside the MPI library too. Entry points may know all.
LIB = "host/libmpi_offload/"
LIB_FOLDERS = ("base", "launch", "type", "comm", "delta", "chan", "p2p", "coll", "make", "rma", "tool")
# What a section of a Fortran array looks like is told by the bindings' door, which knows nobody.
LIB_BELOW = CONTRACT + ("host/*", LIB + "include/", LIB + "api/fortran_hooks.h")
LIBRARY = tuple((folder, tuple(f"{LIB}{below}/" for below in LIB_FOLDERS[:at + 1]))
                for at, folder in enumerate(LIB_FOLDERS))

LAWS = (
    (re.compile(r"^include/nof/"), Law("installed contract", ("include/nof/",), outside=BARE)),
    (re.compile(r"^include/nof_private/"), Law("private contract", CONTRACT, dpdk=RING_ONLY)),
    *((re.compile(rf"^firmware/{part}"), Law(f"core, {part.strip('/')}", own, outside=BARE, beside=False))
      for part, own in INSIDE_CORE),
    (re.compile(r"^firmware/(?!port/|nofd/)"),
     Law("firmware core", CONTRACT + CORE + ("firmware/*",), outside=BARE)),
    (re.compile(r"^common/"), Law("tables and text of all programs", CONTRACT)),
    (re.compile(r"^firmware/port/interface_link\.h$"), Law("what ports ask the kernel", CONTRACT)),
    (re.compile(r"^firmware/port/[^/]+$"), Law("what ports share", CONTRACT, outside=BARE)),
    (re.compile(r"^firmware/port/fabric/"),
     Law("fabric port", CONTRACT + CORE + ("firmware/*", "firmware/port/handover.h", "firmware/port/fabric/"))),
    (re.compile(r"^firmware/port/dpdk/"),
     Law("DPDK port", CONTRACT + CORE + ("firmware/*", "firmware/port/", "ebpf/"), dpdk=re.compile("."))),
    (re.compile(r"^firmware/port/udp/"),
     Law("UDP port", CONTRACT + CORE + ("firmware/*", "firmware/port/interface_link.h", "firmware/port/udp/"))),
    *((re.compile(rf"^firmware/nofd/{folder}/"), Law(f"nofd/{folder}", NOFD_BELOW + below, dpdk=re.compile(".")))
      for folder, below in NOFD),
    (re.compile(r"^firmware/nofd/"), Law("daemon", NOFD_BELOW + ("firmware/nofd/",), dpdk=re.compile("."))),
    (re.compile(r"^host/phases"), Law("schedulers of phases", ("include/nof/status.h", "host/phases"), outside=PURE, beside=False)),
    (re.compile(r"^host/[^/]+$"), Law("host driver", CONTRACT + ("host/*",), dpdk=RING_ONLY)),
    (re.compile(r"^host/record/"),
     Law("recorder", ("include/nof_private/recording.h", "host/libmpi_offload/include/", "host/record/"), mpi=True)),
    (re.compile(r"^host/libmpi_offload/fortran/"),
     Law("Fortran bindings", ("host/libmpi_offload/fortran/", "host/libmpi_offload/include/",
                              "host/libmpi_offload/api/fortran_hooks.h"), mpi=True)),
    *((re.compile(rf"^{LIB}{folder}/"), Law(f"MPI library, {folder}", LIB_BELOW + below, mpi=True))
      for folder, below in LIBRARY),
    (re.compile(r"^host/libmpi_offload/"),
     Law("MPI library", CONTRACT + ("host/*", "host/libmpi_offload/"), mpi=True)),
    (re.compile(r"^ebpf/"), Law("eBPF", CONTRACT + ("ebpf/",))),
    # The bench and sim commands look inside; the rest of the tools sees what a user sees, and where the daemon is.
    (re.compile(r"^tools/(?!.*(bench|sim))"),
     Law("tools", ("include/nof/", "include/nof_private/board.h", "include/nof_private/chan_counts.h", "include/nof_private/coll_counts.h",
                   "include/nof_private/delta_counts.h", "include/nof_private/env.h",
                   "include/nof_private/known_env.h", "include/nof_private/library_counts.h", "include/nof_private/nearest.h",
                   "include/nof_private/poll_counts.h",
                   "include/nof_private/recording.h", "include/nof_private/rundir.h", "include/nof_private/units.h", "host/phases.h",
                   "tools/"))),
    (re.compile(r"^examples/embed\.c$"), Law("examples of the core", ("include/nof/", "firmware/port/fabric/fabric.h"))),
    (re.compile(r"^examples/"), Law("examples", ("host/libmpi_offload/include/",), mpi=True)),
)


@functools.lru_cache(maxsize=None)
def resolve(folder_of_includer, header):
    """The project's file behind an #include, or None when it comes from outside."""
    for folder in (folder_of_includer,) + SEARCH:
        candidate = tree.root() / folder / header
        if candidate.is_file() and candidate.resolve().is_relative_to(tree.root()):
            return candidate.resolve().relative_to(tree.root())
    return None


def inside(header, own):
    """Does one of `own` cover the header? 'x/*' is the folder alone, 'x/' with all below it."""
    for part in own:
        if part.endswith("/*"):
            if header.parent.as_posix() == part[:-2]:
                return True
        elif header.as_posix().startswith(part):
            return True
    return False


def outside_allowed(law, header):
    if MPI.match(header):
        return law.mpi
    if DPDK.match(header):
        return law.dpdk is not None and law.dpdk.match(header)
    return law.outside is None or law.outside.match(header)


def judge(law, start):
    """Complaints about everything that `start` reaches."""
    todo, seen = [(start, ())], {start}
    while todo:
        path, via = todo.pop()
        through = f" (through {' -> '.join(via)})" if via else ""
        for number, line in enumerate(tree.lines_of(path), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            header = resolve(path.parent.as_posix(), match.group(1))
            if header is None:
                if not outside_allowed(law, match.group(1)):
                    yield f"{start}: {law.name} must not know <{match.group(1)}>{through} [{path}:{number}]"
            elif not inside(header, law.own) and not (law.beside and header.parent == start.parent):
                yield f"{start}: {law.name} must not know {header}{through} [{path}:{number}]"
            elif header not in seen:
                seen.add(header)
                todo.append((header, via + (header.as_posix(),)))


def main():
    complaints, looked_at = [], 0
    for path in tree.files({".c", ".h"}):
        for pattern, law in LAWS:
            if pattern.match(path.as_posix()):
                looked_at += 1
                complaints += judge(law, path)
                break
    tree.finish("include_law", complaints, looked_at)


main()

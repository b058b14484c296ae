#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files that call each other in a ring, from the symbols of what was built.

usage: rings.py BUILD [--root ROOT] [--json] [--why] [--tighten] [--table FILE]
  --why      also who uses what of whom inside each ring
  --tighten  write today's counts into the table, where they are smaller than its limits
  --table    limits and upcalls; otherwise rings.txt beside this program

A file uses another when an object of its source leaves a symbol undefined that the other's defines (nm), function or data.
A call through a function pointer counts as one where the tree outside tests/ and bench/ knows one target of it
(pointers.py), unless the table lists it as an upcall: one that goes up to a layer which the lower must not know. Pointers of
several targets are families (ports, launchers, channels), and bind nobody.

Counted are the files in strongly connected components of each part: core (libnof_core without transport; a ring over the
border counts on both sides), transport (firmware/transport), nofd (with nofd-dma), libmpi_offload. The count of a part must
be its limit in the table: a larger one is a new ring, a smaller one wants --tighten, so that it stays won (but where a build
left a source out, as without PMIx, a smaller one means nothing)."""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

import pointers

UPCALLS_MAX = 12
# Objects of a part: folders of the build that hold its targets' objects.
PROGRAMS = {
    "core": r"(libnof_core\.a|firmware/(.*/)?lib\w+\.a)\.p/",
    "nofd": r"nofd(-dma)?\.p/",
    "libmpi_offload": r"libmpi_offload\.so[\d.]*\.p/",
}
PARTS = ("core", "transport", "nofd", "libmpi_offload")
# Where a part's sources are, and where they are not.
FOLDERS = {
    "core": ("firmware", ("firmware/nofd", "firmware/port", "firmware/transport")),
    "transport": ("firmware/transport", ()),
    "nofd": ("firmware/nofd", ()),
    "libmpi_offload": ("host/libmpi_offload", ("host/libmpi_offload/fortran",)),
}
SOURCES = ("include", "firmware", "host", "ebpf", "tools", "common")
# Whose arguments come from whoever uses the library, too.
INSTALLED = re.compile(r"P?MPIX?_|nof_nic_|nofd_dma$")


def read_table(path):
    limits, upcalls = {}, {}
    for line in path.read_text().split("\n"):
        if found := re.fullmatch(r"limit (\S+) (\d+)", line):
            limits[found[1]] = int(found[2])
        elif found := re.fullmatch(r"upcall (\S+): (\S.*)", line):
            upcalls[found[1]] = found[2]
        elif line and not line.startswith("#"):
            sys.exit(f"{path}: neither a limit nor an upcall with its reason: {line}")
    return limits, upcalls


def tighten(path, counts):
    def smaller(found):
        return f"limit {found[1]} {min(int(found[2]), counts.get(found[1], int(found[2])))}"
    path.write_text(re.sub(r"^limit (\S+) (\d+)$", smaller, path.read_text(), flags=re.M))


def objects(build, root):
    """program -> {target folder: {object: source relative to the root}}"""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = os.path.relpath(os.path.join(entry["directory"], entry["file"]), root)
        for program, pattern in PROGRAMS.items():
            if re.match(pattern, entry["output"]) and entry["output"].endswith(".o"):
                # Archives that are linked whole into a library are of it; programs stand alone.
                target = program if program == "core" else entry["output"].split("/")[0]
                found[program][target][pathlib.Path(entry["directory"], entry["output"])] = source
    return found


def symbols(paths):
    """object -> (defined, undefined) global symbols"""
    said = subprocess.run(["nm", "-g", "-A", "-P", *map(str, paths)], capture_output=True, text=True, check=True).stdout
    found = {path: (set(), set()) for path in paths}
    for line in said.split("\n"):
        if line:
            path, rest = line.split(": ", 1)
            name, kind = rest.split()[:2]
            found[pathlib.Path(path)][kind in "Uwv"].add(name)
    return found


def symbol_uses(sources):
    """{(file, file): {symbol}} of one target."""
    found, definer, uses = symbols(sources), {}, collections.defaultdict(set)
    for path, (defined, _) in found.items():
        for name in defined:
            definer.setdefault(name, sources[path])
    for path, (_, wanted) in found.items():
        for name in wanted:
            if definer.get(name, sources[path]) != sources[path]:
                uses[sources[path], definer[name]].add(name)
    return uses


def pointer_uses(root, upcalls):
    """{(file, file): {slot}}, and the upcalls that are in use."""
    paths = [path.relative_to(root).as_posix() for top in SOURCES for suffix in ("c", "h")
             for path in sorted((root / top).rglob(f"*.{suffix}"))]
    known = pointers.Tree(root, paths, lambda function: not function.static and INSTALLED.match(function.name))
    uses, used = collections.defaultdict(set), set()
    for path, _, slot in known.calls():
        targets = known.targets(slot)
        if len(targets) == 1:
            target = next(iter(targets))[0]
            if slot in upcalls:
                used.add(slot)
            elif target not in ("", path):
                uses[path, target].add(slot)
    return uses, used


def rings(files, uses):
    """Strongly connected components of more than one file (Tarjan)."""
    order, low, stack, found = {}, {}, [], []
    after = collections.defaultdict(list)
    for user, used in sorted(uses):
        after[user].append(used)

    def visit(file):
        order[file] = low[file] = len(order)
        stack.append(file)
        for other in after[file]:
            if other not in order:
                visit(other)
            if other in stack:
                low[file] = min(low[file], low[other])
        if low[file] == order[file]:
            ring = stack[stack.index(file):]
            del stack[stack.index(file):]
            if len(ring) > 1:
                found.append(sorted(ring))

    for file in sorted(files):
        if file not in order:
            visit(file)
    return sorted(found, key=lambda ring: (-len(ring), ring))


def part_of(program, file):
    return "transport" if program == "core" and file.startswith("firmware/transport/") else program


def left_out(root, part, built):
    """Sources of the part that this build does without."""
    top, foreign = FOLDERS[part]
    for path in sorted((root / top).rglob("*.c")):
        name = path.relative_to(root)
        if not any(name.is_relative_to(other) for other in foreign) and name.as_posix() not in built:
            yield name.as_posix()


def survey(build, root, upcalls):
    """part -> {files, count, rings: [{files, uses}]}, and upcalls in use"""
    through, used = pointer_uses(root, upcalls)
    parts = {}
    for program, targets in objects(build, root).items():
        uses, files = collections.defaultdict(set), set()
        for sources in targets.values():
            missing = [path for path in sources if not path.exists()]
            if missing:
                sys.exit(f"{missing[0]} is not built")
            files |= set(sources.values())
            for pair, names in symbol_uses(sources).items():
                uses[pair] |= names
        for pair, slots in through.items():
            if set(pair) <= files:
                uses[pair] |= {f"through {slot}" for slot in slots}
        for file in files:
            part = parts.setdefault(part_of(program, file), {"files": 0, "in_rings": 0, "rings": []})
            part["files"] += 1
        for ring in rings(files, uses):
            inside = {f"{a} -> {b}": sorted(names) for (a, b), names in sorted(uses.items()) if {a, b} <= set(ring)}
            for name in {part_of(program, file) for file in ring}:
                parts[name]["in_rings"] += sum(part_of(program, file) == name for file in ring)
                parts[name]["rings"].append({"files": ring, "uses": inside})
        for name in {part_of(program, file) for file in files}:
            parts[name]["left_out"] = list(left_out(root, name, files))
    return parts, used


def complaints(parts, used, limits, upcalls):
    if not parts:
        yield "no object of core, nofd or libmpi_offload was found"
    for name in filter(parts.get, PARTS):
        part = parts[name]
        count, limit = part["in_rings"], limits.get(name)
        if limit is None:
            yield f"{name}: no limit in the table"
        elif count > limit:
            yield f"{name}: {count} files call each other in rings, at most {limit}; --why shows what each uses of the others"
        elif count < limit and not part["left_out"]:
            yield f"{name}: {count} files in rings, the limit is still {limit}: run tests/lint/rings.py BUILD --tighten"
    if len(upcalls) > UPCALLS_MAX:
        yield f"{len(upcalls)} upcalls, at most {UPCALLS_MAX}"
    for slot in sorted(set(upcalls) - used):
        yield f"upcall {slot}: nothing calls through it to one target; take it off the list"


def show(parts, why):
    for name in PARTS:
        if name not in parts:
            print(f"{name}: not built")
            continue
        part = parts[name]
        print(f"{name}: {part['in_rings']} of {part['files']} files in {len(part['rings'])} rings")
        if part["left_out"]:
            print(f"  this build leaves out {' '.join(part['left_out'])}")
        for ring in part["rings"]:
            print(f"  {len(ring['files'])}: {' '.join(ring['files'])}")
            for pair, names in ring["uses"].items() if why else ():
                print(f"    {pair}: {' '.join(names)}")


def main():
    here = pathlib.Path(__file__).resolve().parent
    ask = argparse.ArgumentParser()
    ask.add_argument("build", type=pathlib.Path)
    ask.add_argument("--root", type=pathlib.Path, default=here.parent.parent)
    ask.add_argument("--table", type=pathlib.Path, default=here / "rings.txt")
    for option in ("--json", "--why", "--tighten"):
        ask.add_argument(option, action="store_true")
    given = ask.parse_args()
    limits, upcalls = read_table(given.table)
    parts, used = survey(given.build.resolve(), given.root.resolve(), upcalls)
    if given.tighten:
        tighten(given.table, {name: part["in_rings"] for name, part in parts.items() if not part["left_out"]})
        limits, upcalls = read_table(given.table)
    wrong = list(complaints(parts, used, limits, upcalls))
    if given.json:
        for name, part in parts.items():
            part["limit"] = limits.get(name)
        print(json.dumps({"parts": parts, "upcalls": upcalls, "complaints": wrong}, indent=1))
    else:
        show(parts, given.why)
        print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


main()

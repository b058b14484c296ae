#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: rings_catches.py CC...
rings.py finds rings of every kind, in small trees that are compiled for it, and nothing where there is none."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

RINGS = pathlib.Path(__file__).resolve().parent / "rings.py"
CALLS_B = "void b(void);\nvoid a(void);\nvoid a(void) { b(); }\n"
CALLS_A = "void a(void);\nvoid b(void);\nvoid b(void) { a(); }\n"
LEAF_B = "void b(void);\nvoid b(void) {}\n"
OPS = "struct ops { int size; void (*up)(int x); };\n"
# The lower one calls through the field, the upper one hands its function in.
LOWER = OPS + "void low(const struct ops *o);\nvoid low(const struct ops *o) { o->up(1); }\n"
UPPER = OPS + "void low(const struct ops *o);\nstatic void mine(int x) { (void)x; }\nvoid go(void);\n"
TABLE = UPPER + "static const struct ops table = {.up = mine};\nvoid go(void) { low(&table); }\n"
BY_PLACE = UPPER + "void go(void) { low(&(const struct ops){4, mine}); }\n"
ASSIGNED = UPPER + "void go(void) { struct ops o; o.up = mine; low(&o); }\n"
# A function that is an argument, kept in a struct of another file.
KEEPER = ("struct watch { struct { void (*fn)(int x); } by[2]; };\nstatic struct watch w;\n"
          "void keep(void (*fn)(int x));\nvoid keep(void (*fn)(int x)) { w.by[0].fn = fn; }\n"
          "void run(void);\nvoid run(void) { w.by[0].fn(1); }\n")
GIVER = "void keep(void (*fn)(int x));\nvoid give(void);\nstatic void mine(int x) { (void)x; }\nvoid give(void) { keep(mine); }\n"
UP = "upcall ops.up: the lower one must not know"


def many(text):
    """The same for eleven structs and their functions."""
    return "".join(re.sub(r"\b(ops|low|mine|go|table)\b", rf"\g<1>{i}", text) for i in range(13))


# what it shows, files, lines of the table, [(part, count)] or None where the table is refused
CASES = (
    ("a call one way", {"a.c": CALLS_B, "b.c": LEAF_B}, [], {"core": 0}),
    ("two that call each other", {"a.c": CALLS_B, "b.c": CALLS_A}, [], {"core": 2}),
    ("variables of each other", {"a.c": "extern int j; int *i = &j;", "b.c": "extern int *i; int j; int **k = &i;"}, [],
     {"core": 2}),
    ("a call up through a table", {"a.c": LOWER, "b.c": TABLE}, [], {"core": 2}),
    ("a call up through a literal", {"a.c": LOWER, "b.c": BY_PLACE}, [], {"core": 2}),
    ("a call up through a field that is set", {"a.c": LOWER, "b.c": ASSIGNED}, [], {"core": 2}),
    ("a function that is handed in", {"a.c": KEEPER, "b.c": GIVER}, [], {"core": 2}),
    ("a call in a header", {"a.c": '#include "o.h"\n' + LOWER.replace(OPS, "").replace("o->up(1)", "raise_up(o)"),
                            "o.h": OPS + "static inline void raise_up(const struct ops *o) { o->up(1); }\n", "b.c": TABLE},
     [], {"core": 2}),
    ("a listed upcall", {"a.c": LOWER, "b.c": TABLE}, [UP], {"core": 0}),
    ("a family of two", {"a.c": LOWER, "b.c": TABLE, "c.c": TABLE.replace("go", "other")}, [], {"core": 0}),
    ("one target, and one of a test", {"a.c": LOWER, "b.c": TABLE, "../tests/t.c": TABLE}, [], {"core": 2}),
    ("an upcall that is none", {"a.c": CALLS_B, "b.c": LEAF_B}, [UP], None),
    ("an upcall without its reason", {"a.c": LOWER, "b.c": TABLE}, ["upcall ops.up"], None),
    ("too many upcalls", {"a.c": many(LOWER), "b.c": many(TABLE)}, [f"upcall ops{i}.up: because" for i in range(13)], None),
    ("a ring over the border", {"a.c": CALLS_B, "transport/b.c": CALLS_A}, [], {"core": 1, "transport": 1}),
    ("a ring in the daemon", {"nofd/a.c": CALLS_B, "nofd/b.c": CALLS_A}, [], {"nofd": 2}),
)


def build(folder, files, compiler):
    """Writes and compiles the files below folder/firmware; what a build knows of them."""
    commands, paths = [], {}
    for name, text in files.items():
        path = paths[name] = (folder / "firmware" / name).resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, path in paths.items():
        if path.suffix == ".c" and path.is_relative_to(folder.resolve() / "firmware"):
            output = ("nofd.p/" if name.startswith("nofd/") else "libnof_core.a.p/") + path.name + ".o"
            (folder / "build" / output).parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([*compiler, "-c", path, "-o", folder / "build" / output], check=True)
            commands.append({"directory": str(folder / "build"), "file": str(path), "output": output})
    (folder / "build/compile_commands.json").write_text(json.dumps(commands))


def run(folder, limits, lines, *options):
    table = folder / "table"
    if limits is not None:
        table.write_text("\n".join([f"limit {part} {limits.get(part, 0)}" for part in ("core", "transport", "nofd")] + lines))
    return subprocess.run([sys.executable, "-B", RINGS, folder / "build", "--root", folder, "--table", table, *options],
                          capture_output=True, text=True)


def judge(folder, lines, counts, limits_too):
    """What is wrong with rings.py's answers about a tree in which `counts` files are in rings."""
    exact = run(folder, counts or {}, lines, "--json")
    if counts is None:
        return None if exact.returncode else "the table is not refused"
    found = {name: part["in_rings"] for name, part in json.loads(exact.stdout)["parts"].items() if part["in_rings"]}
    if found != {part: count for part, count in counts.items() if count}:
        return f"counts {found}, should be {counts}"
    if exact.returncode:
        return "limits that are met are refused:\n" + exact.stdout
    part = next(iter(counts))
    if not limits_too:
        return None
    if run(folder, counts | {part: counts[part] - 1}, lines).returncode != 1:
        return "a count over its limit passes"
    if run(folder, counts | {part: counts[part] + 1}, lines).returncode != 1:
        return "a limit that could be smaller passes"
    if run(folder, counts | {part: counts[part] + 1}, lines, "--tighten").returncode or run(folder, None, lines).returncode:
        return "--tighten does not draw the limit in"
    return None


def main():
    wrong = 0
    for what, files, lines, counts in CASES:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            build(folder, files, sys.argv[1:])
            if said := judge(folder, lines, counts, what == "two that call each other"):
                print(f"{what}: {said}")
                wrong = 1
    sys.exit(wrong)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: writers_catches.py CC...
writers.py finds writes of every kind where they do not belong, and nothing where they do."""
import pathlib
import subprocess
import sys
import tempfile

WRITERS = pathlib.Path(__file__).resolve().parent / "writers.py"
HEADER = """#include <stddef.h>
#include <stdint.h>
struct inner { int a, b[2]; };
struct thing {
    uint32_t one, two;
    union {
        struct inner in;
        uint8_t bytes[8];
    };
    struct thing *next;
    unsigned bit : 1;
};
void push(uint32_t *to);
void look(const uint32_t *at);
"""
OWNER = '#include "owner.h"\n\nvoid begin(struct thing *t)\n{\n    *t = (struct thing){.one = 1};\n}\n'
OWNER_H = '#include "s.h"\nvoid begin(struct thing *t);\nvoid step(uint32_t *one);\n' \
          "static inline void grow(struct thing *t)\n{\n    t->one++;\n}\n"
TABLE = "thing * one two in bytes next bit: owner\n"

# what it shows, a statement of a file that owns nothing, the field that it is caught for or None
WRITES = (
    ("an assignment", "t->one = 1;", "one"),
    ("one with an operator", "t->two |= 4;", "two"),
    ("a step", "t->one++;", "one"),
    ("a step before", "--t->one;", "one"),
    ("in the middle of a line", "if (t->two) t->one = t->two;", "one"),
    ("a field of a field", "t->in.a = 1;", "in"),
    ("an element", "t->in.b[t->two] = 1;", "in"),
    ("through another", "t->next->one = 1;", "one"),
    ("where a pointer leads", "t->next = 0;", "next"),
    ("a bit", "t->bit = 1;", "bit"),
    ("the whole", "*t = (struct thing){.one = 1};", "*"),
    ("by its address", "push(&t->two);", "two"),
    ("by a pointer that is kept", "uint32_t *p = &t->two; *p = 1;", "two"),
    ("by a pointer that is chosen", "uint32_t i = 0, *p; p = t->one ? &t->two : &i; *p = 1;", "two"),
    ("one of another's", "push(t->next ? &t->next->two : NULL);", "two"),
    ("an array, by its beginning", "uint8_t *p = t->bytes; *p = 1;", "bytes"),
    ("by its place", "*(uint32_t *)((char *)t + offsetof(struct thing, two)) = 1;", "two"),
    ("reading", "if (t->one == 1 && t->two <= 2 && t->in.a) look(&t->one);", None),
    ("a function of the owner", "grow(t);", None),
    ("an address for the owner", "step(&t->one);", None),
    ("another struct", "struct inner in = {0}; in.a = 1; push(&(uint32_t){1});", None),
)
# what it shows, a table, what is said of it
TABLES = (
    ("a field without owner", "thing * one two in bytes next: owner\n", "thing.bit has no owner"),
    ("a field that is not there", TABLE + "thing three: owner\n", "there is no thing.three"),
    ("two owners", TABLE + "thing one: owner\n", "has an owner already"),
    ("several modules without a reason", TABLE.replace(": owner", ": owner other"), "no reason"),
    ("one of several that does not write", "thing * two in bytes next bit: owner\nthing one: owner other -- so\n",
     "take it off"),
    ("no row at all", TABLE + "thing one\n", "neither"),
)


def run(files, table):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path, text in {**files, "tests/lint/writers.txt": table}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return subprocess.run([sys.executable, "-B", WRITERS, folder, *sys.argv[1:]], capture_output=True, text=True)


def judge(said, wanted, once):
    """What is wrong with an answer that should say `wanted`, or nothing."""
    if wanted is None:
        return f"refused: {said.stdout}{said.stderr}" if said.returncode else None
    if said.returncode != 1 or wanted not in said.stdout or once and said.stdout.count("\n") != 1:
        return f"should say `{wanted}`, says: {said.stdout}{said.stderr}"
    return None


def main():
    wrong = 0
    tree = {"firmware/s.h": HEADER, "firmware/owner.h": OWNER_H, "firmware/owner.c": OWNER}
    for what, statement, field in WRITES:
        text = f'#include "owner.h"\nvoid f(struct thing *t);\nvoid f(struct thing *t)\n{{\n    {statement}\n}}\n'
        said = run({**tree, "firmware/other.c": text}, TABLE)
        if complaint := judge(said, field and f"firmware/other.c:5: writes thing.{field}, which is owner's", True):
            print(f"{what}: {complaint}")
            wrong = 1
    for what, table, wanted in TABLES:
        if complaint := judge(run(tree, table), wanted, False):
            print(f"{what}: {complaint}")
            wrong = 1
    sys.exit(wrong)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every loop of the firmware core says how long it can be and who pays for it.

usage: loops.py ROOT [--write]    (--write: docs/LOOPS.md anew)

The mark stands on the line above the loop, or above one that it holds for with those inside ("..., here and inside; paid by"):

    /* bound: frames of one turn; paid by the endpoint's share of the link */

A loop with a constant end of at most 256 (a literal, a #define, an array's length) needs none. A file whose loops are all
of one kind has one mark before its first function: "bound of all loops here: ...; paid by ..."."""
import pathlib
import re
import sys

CONSTANT_MAX = 256
LOOP = re.compile(r"^\s*(?:\}\s*)?(for|while|do)\b\s*([({])")
MARK = re.compile(r"/\* bound: (.*?); paid by (.*?) \*/", re.S)
FILE_MARK = re.compile(r"/\* bound of all loops here: (.*?); paid by (.*?) \*/", re.S)
DEFINE = re.compile(r"^#define (\w+)\s+\(?(\d+|0x[0-9a-fA-F]+)[uUlL]*\)?\s*(?:/\*.*)?$", re.M)
FUNCTION = re.compile(r"^(?!static_assert|typedef|struct \w+ \{|enum|union)[A-Za-z_].*?\b(\w+)\([^;]*$")


def sources(root):
    core = root / "firmware"
    for path in sorted([*core.rglob("*.c"), *core.rglob("*.h")]):
        if path.relative_to(core).parts[0] not in ("nofd", "port"):
            yield path


def constants(root):
    found = {}
    for path in [*sources(root), *sorted((root / "include/nof").glob("*.h"))]:
        found |= {name: int(value, 0) for name, value in DEFINE.findall(path.read_text())}
    return found


def is_constant(head, known):
    """A for loop whose condition holds its variable below a small constant."""
    parts = head.split(";")
    if len(parts) != 3:
        return False
    for end in re.findall(r"\b\w+ (?:<|<=) (\w+|sizeof[^&|]*?/ ?sizeof[^&|]*?)(?= &&|$)", parts[1].strip()):
        if end.startswith("sizeof"):
            return True
        value = int(end.rstrip("uUlL"), 0) if re.fullmatch(r"\d+[uUlL]*", end) else known.get(end)
        if value is not None and value <= CONSTANT_MAX:
            return True
    return False


def loop_head(lines, at):
    """What stands in the parentheses, which may go over several lines."""
    text = " ".join(line.strip() for line in lines[at:at + 4])
    begin = text.index("(")
    depth = 0
    for i in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return text[begin + 1:i]
    return text[begin + 1:]


def comment_above(lines, at):
    end = at - 1
    if end < 0 or not lines[end].rstrip().endswith("*/"):
        return ""
    begin = end
    while begin > 0 and "/*" not in lines[begin]:
        begin -= 1
    return re.sub(r"\n\s*\*(?!/)\s*", " ", "\n".join(lines[begin:end + 1]))


def scan(root):
    """Rows (file, function, bound, payer) in order, and complaints."""
    rows, errors = [], []
    known = constants(root)
    for path in sources(root):
        name = str(path.relative_to(root / "firmware"))
        text = path.read_text()
        lines = text.split("\n")
        whole = FILE_MARK.search(re.sub(r"\n \*(?!/)\s*", " ", text))
        if whole:
            rows.append((name, "all", whole[1], whole[2]))
        function, depth_of_do, inside = "", [], None
        for at, line in enumerate(lines):
            if line.endswith("\\") or line.startswith("#"):
                continue
            if line[:1].isalpha() and (found := FUNCTION.match(line)):
                function = found[1]
            indent = len(line) - len(line.lstrip())
            if inside is not None and line.strip() and indent <= inside and not line.strip().startswith("/*"):
                inside = None
            loop = LOOP.match(line)
            if not loop or (line.strip().startswith("}") and loop[1] == "while"):
                continue
            mark = MARK.search(comment_above(lines, at))
            if mark:
                rows.append((name, function, mark[1].removesuffix(", here and inside"), mark[2]))
                if mark[1].endswith(", here and inside"):
                    inside = indent
            elif whole or inside is not None:
                continue
            elif not (loop[1] == "for" and is_constant(loop_head(lines, at), known)):
                errors.append(f"firmware/{name}:{at + 1}: this loop does not say how long it can be: put "
                              '"/* bound: WHAT; paid by WHOM */" above it, then tests/lint/loops.py . --write')
    return rows, errors


def page(rows):
    out = ["<!-- SPDX-License-Identifier: BSD-3-Clause -->",
           "# Loops of the firmware core",
           "",
           "How long each can be, and who pays for it, from the marks at the loops (`tests/lint/loops.py . --write` writes this",
           "page; lint checks that it is current, and that no loop is without a mark unless its end is a constant of at most",
           f"{CONSTANT_MAX}). What one rank can make long is done in pieces: `NOF_TURN_STEPS` of an endpoint in a turn",
           "(`firmware/flow/chores.h`); the unit test `turns` counts.",
           "",
           "| file | function | bound | paid by |",
           "|---|---|---|---|"]
    out += [f"| {file} | {function} | {bound} | {payer} |" for file, function, bound, payer in rows]
    return "\n".join(out) + "\n"


def main():
    root = pathlib.Path(sys.argv[1])
    rows, errors = scan(root)
    if not any(sources(root)):
        errors.append(f"loops: no file found under {root}/firmware")
    target = root / "docs/LOOPS.md"
    if "--write" in sys.argv:
        target.write_text(page(rows))
    elif not errors and (not target.exists() or target.read_text() != page(rows)):
        errors.append("docs/LOOPS.md is not what the marks say: run tests/lint/loops.py . --write")
    print("\n".join(errors) if errors else f"{len(rows)} marks")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()

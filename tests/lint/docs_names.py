#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: docs_names.py ROOT
What README.md, CONTRIBUTING.md and docs/ name is there: paths of the tree, counters, features, commands, options;
no two decisions have one number, and docs/decisions/README.md has a row of each."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1])
TOPS = ("common", "firmware", "host", "ebpf", "tests", "tools", "bench", "docs", "examples", "include")
# Words with a dot that are no counters: files, soname parts, fields of C and of JSON.
SUFFIXES = {"c", "h", "md", "py", "sh", "so", "a", "pc", "mod", "json", "txt", "tbl", "build", "in", "msg", "recv", "f90", "cc", "o"}


def tracked():
    """Files of the tree and their folders; where there is no git, what lies there."""
    try:
        names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        names = [str(p.relative_to(ROOT)) for top in TOPS for p in (ROOT / top).rglob("*")]
    there = {n for n in names if n}
    for name in list(there):
        there.update(str(p) for p in pathlib.PurePath(name).parents)
    return there


def table(header, pattern):
    return set(re.findall(pattern, (ROOT / header).read_text(), re.S))


def sources():
    """Text of what defines commands and options."""
    tops = ("tools", "bench", "ebpf", "firmware/nofd", "tests/sim", "tests/lint")
    files = [p for top in tops for p in (ROOT / top).rglob("*") if p.is_file()]
    files += [ROOT / "meson_options.txt", ROOT / ".ci/run"]
    return "\n".join(p.read_text(errors="replace") for p in files)


def pages():
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md"))
    yield from sorted((ROOT / "docs").rglob("*.md"))


def code(text):
    """Inline code and indented or fenced blocks, with line numbers."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("    "):
            yield number, line.split("#")[0]
        for piece in re.findall(r"`([^`]+)`", line):
            yield number, piece


def known_path(word, there, base):
    word = word.rstrip("/.,:")
    if word in there or any(ch in word for ch in "*{<$"):
        return True
    if (base / word).resolve().is_relative_to(ROOT.resolve()) and (base / word).exists():
        return True
    return re.search(r"NAME|FILE|NNNN|\.libfuzzer$", word) is not None


def check_paths(text, there, base):
    for number, piece in code(text):
        for word in re.findall(r"(?<![\w/.-])(?:%s)/[\w./*{<$-]+" % "|".join(TOPS), piece):
            if not known_path(word, there, base):
                yield number, f"no file {word}"
    for number, line in enumerate(text.split("\n"), 1):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", line):
            if "://" not in target and not known_path(target, there, base):
                yield number, f"a link to {target}, which is not there"


def check_counters(text, counters):
    groups = {name.split(".")[0] for name in counters}
    for number, line in enumerate(text.split("\n"), 1):
        for piece in re.findall(r"`([a-z]+\.[a-z0-9_]+)`", line):
            group, rest = piece.split(".")
            if group in groups and rest not in SUFFIXES and piece not in counters:
                yield number, f"no counter {piece}"


def check_features(text, features, settings):
    for number, piece in code(text):
        for word in re.findall(r"(?:--feature |nof set )(?:--\S+ )*([a-z_]+)=", piece):
            if word not in features | settings:
                yield number, f"no feature {word}"


def check_commands(text, words):
    for number, piece in code(text):
        for word in re.findall(r"(?:^|[\s/`])nof ((?!-)[a-z]+)\b", piece):
            if f'"{word}"' not in words:
                yield number, f"no command nof {word}"


def check_options(text, words):
    for number, piece in code(text):
        if not re.search(r"\bnof|tools/", piece) and not piece.startswith("--"):
            continue
        for word in re.findall(r"(?<![\w-])--([a-z][a-z-]+[a-z])", piece):
            if f'"{word}"' not in words and f"--{word}" not in words:
                yield number, f"no option --{word}"


def check_decisions():
    """A number of two decisions names neither; one that the list lacks is not found."""
    seen = {}
    folder = ROOT / "docs/decisions"
    rows = (folder / "README.md").read_text() if (folder / "README.md").exists() else ""
    for page in sorted(folder.glob("[0-9]*.md")):
        if f"| [{page.name[:4]}]({page.name}) |" not in rows:
            yield f"docs/decisions/README.md: no row begins with | [{page.name[:4]}]({page.name}) |"
        other = seen.setdefault(page.name[:4], page)
        if other != page:
            yield f"{page.relative_to(ROOT)}: its number is that of {other.name}"


def main():
    there, words = tracked(), sources()
    counters = table("include/nof/counters.h", r'X\(\w+,\s*(?:\\\s*)?"([a-z0-9_.]+)"') | set(re.findall(r'"(xdp\.[a-z_]+)"', words))
    features = table("include/nof/features.h", r'X\(\w+,\s*(?:\\\s*)?"([a-z0-9_]+)"')
    settings = {"log_level", "log"}
    wrong = 0
    if len(counters) < 20 or len(features) < 10:
        sys.exit("docs_names.py: the tables of counters and features are not read any more")
    for page in pages():
        text = page.read_text()
        found = [*check_paths(text, there, page.parent), *check_counters(text, counters),
                 *check_features(text, features, settings), *check_commands(text, words), *check_options(text, words)]
        for number, what in sorted(set(found)):
            print(f"{page.relative_to(ROOT)}:{number}: {what}")
            wrong += 1
    for what in check_decisions():
        print(what)
        wrong += 1
    sys.exit(1 if wrong else 0)


main()

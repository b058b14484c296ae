#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""common/known_env.c lists each variable NOF_... that a program reads, and none that nobody does: one that is missing there would be
called misspelt where it is near another."""
import re

import tree

LIST = "common/known_env.c"
OPTIONS = "firmware/nofd/sys/options.c"
PLACES = ("common", "include", "firmware", "host", "tools", "bench", "tests")


def main():
    complaints, read, looked_at = [], {}, 0
    for path in tree.files({".c", ".h", ".py", ".sh"}, ("meson.build",)):
        if path.parts[0] not in PLACES or str(path) == LIST or "unit" in path.parts:
            continue
        looked_at += 1
        text = "\n".join(tree.lines_of(path))
        how = r'"NOF_([A-Z0-9_]+)"' if path.suffix in (".c", ".h") else r"""(?:environ(?:\.get\(|\[)|\$\{?)["']?NOF_([A-Z0-9_]+)"""
        if path.suffix in (".c", ".h") or path.parts[0] == "tests":
            for name in re.findall(how, text):
                read.setdefault(name, path)
        if str(path) == OPTIONS:
            for option in re.findall(r"""^    \{"([a-z-]+)", (?:KEY_|')""", text, re.MULTILINE):
                read.setdefault(option.upper().replace("-", "_"), path)
    text = "\n".join(tree.lines_of(LIST))
    listed = re.findall(r'"([A-Z0-9_]+)"', text.replace('"NOF_"', ""))
    families = tuple(name for name in listed if name.endswith("_"))
    for name, path in sorted(read.items()):
        if name not in listed and not name.startswith(families):
            complaints.append(f"{path}: reads NOF_{name}, which {LIST} does not list")
    for name in sorted(set(listed) - set(read) - set(families)):
        complaints.append(f"{LIST}: nobody reads NOF_{name}")
    tree.finish("known_env", complaints, looked_at)


main()

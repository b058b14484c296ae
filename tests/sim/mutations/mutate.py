#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: mutate.py LIST NAME ROOT OUT: writes the source file of mutation NAME, mutated, to OUT.

LIST holds one mutation per paragraph:

    [name]
    file = firmware/...
    line = the text to replace; must stand exactly once in the file, within one line
    with = what to put there, on further lines that are indented, too
    breaks = what goes wrong, in a few words
"""
import configparser
import pathlib
import sys


def main():
    list_file, name, root, out = sys.argv[1:]
    mutations = configparser.RawConfigParser(delimiters=(" = ",), comment_prefixes=("#",), empty_lines_in_values=False)
    mutations.read(list_file, encoding="utf-8")
    mutation = mutations[name]
    source = pathlib.Path(root) / mutation["file"]
    text = source.read_text(encoding="utf-8")
    found = text.count(mutation["line"])
    if found != 1:
        sys.exit(f"{list_file}: [{name}]: its line stands {found} times in {mutation['file']}; "
                 "mend the list, it must name exactly one place of the present source")
    # The copy lies elsewhere, but its includes are found beside the original.
    mutated = text.replace(mutation["line"], mutation["with"])
    pathlib.Path(out).write_text(f'#line 1 "{source}"\n{mutated}', encoding="utf-8")


main()

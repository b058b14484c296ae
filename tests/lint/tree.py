# SPDX-License-Identifier: BSD-3-Clause
"""The files of the tree, for the lint programs. Walks the folder: a source archive has no git."""
import functools
import os
import pathlib
import sys

# Folders that are not ours: builds (also tools/check's), caches, version control.
FOREIGN = (".git", ".cache", "__pycache__", ".venv")


@functools.lru_cache(maxsize=None)
def root():
    return pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()


def is_build(path):
    return (path / "build.ninja").exists() or (path / "meson-private").exists()


def files(suffixes=None, names=()):
    """Paths relative to the root whose suffix or name is asked for; all when nothing is."""
    top = root()
    for folder, subfolders, found in os.walk(top):
        here = pathlib.Path(folder)
        subfolders[:] = sorted(s for s in subfolders if s not in FOREIGN and not is_build(here / s))
        for name in sorted(found):
            path = here / name
            if suffixes is None or path.suffix in suffixes or name in names:
                yield path.relative_to(top)


@functools.lru_cache(maxsize=None)
def lines_of(path):
    return (root() / path).read_text(encoding="utf-8", errors="replace").split("\n")


def finish(what, complaints, looked_at):
    """Prints the complaints and exits: 1 if there are any, 0 otherwise; looking at nothing is a failure."""
    for complaint in complaints:
        print(complaint)
    if not looked_at:
        print(f"{what}: no file found under {root()}")
    sys.exit(1 if complaints or not looked_at else 0)

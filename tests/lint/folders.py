#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A stranger finds the place by its name: small folders, and no two sources or two headers of one name. tests/ may be as it is."""
import collections

import tree

FILES_MAX = 40
# One file per family of the standard's functions; one page per decision.
LARGE = ("host/libmpi_offload/api", "docs/decisions")
FIRMWARE_SOURCES_MAX = 12  # on top of all folders


def main():
    folders, names, looked_at = collections.Counter(), {}, 0
    firmware_sources = 0
    complaints = []
    for path in tree.files():
        looked_at += 1
        if path.parts[0] == "tests":
            continue
        folder = path.parent.as_posix()
        folders[folder] += 1
        firmware_sources += folder == "firmware" and path.suffix == ".c"
        if path.suffix in (".c", ".h"):
            if path.name in names:
                complaints.append(f"{path.as_posix()}: {names[path.name]} has that name")
            names.setdefault(path.name, path.as_posix())
    for folder, count in folders.items():
        if count > FILES_MAX and folder not in LARGE:
            complaints.append(f"{folder}: {count} files, at most {FILES_MAX}")
    if firmware_sources > FIRMWARE_SOURCES_MAX:
        complaints.append(f"firmware: {firmware_sources} sources beside its folders, at most {FIRMWARE_SOURCES_MAX}")
    tree.finish("folders", complaints, looked_at)


if __name__ == "__main__":
    main()

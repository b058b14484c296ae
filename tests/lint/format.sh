#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: format.sh ROOT [--fix]
# Every C and C++ file is as clang-format 14 with our .clang-format leaves it; other versions differ in details.
set -eu
cd "$1"
formatter=
for candidate in clang-format-14 clang-format; do
    if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q 'version 14\.'; then
        formatter=$candidate
        break
    fi
done
[ -n "$formatter" ] || { echo "skipped: clang-format 14 is missing; apt install clang-format-14"; exit 77; }
how='--dry-run --Werror'
[ "${2:-}" != --fix ] || how=-i
# shellcheck disable=SC2086  # two words on purpose
find common include firmware host ebpf tools tests bench examples \
    \( -name '*.[ch]' -o -name '*.cc' -o -name '*.hh' \) ! -name vmlinux.h -print0 |
    xargs -0 "$formatter" $how --style=file || {
    echo "to mend it: tests/lint/format.sh . --fix"
    exit 1
}

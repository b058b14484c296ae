#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: core_purity.sh libnof_core.a
# The core asks nothing of an operating system: all that its archive leaves undefined are the memory functions
# that compilers call by themselves, ISA-L's CRC, what the compiler knows of the processor, and what hardening, wide
# arithmetic and numbers of 128 bits (__float128 of a reduction) insert.
set -eu
archive=$1
command -v nm >/dev/null || { echo "skipped: nm is missing; apt install binutils"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nm -u "$archive" 2>/dev/null | awk 'NF == 2 { print $2 }' | sort -u >"$work/asked"
nm --defined-only "$archive" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >"$work/given"
if grep -qE '^__(asan|ubsan|tsan|msan)_' "$work/asked"; then
    echo "skipped: built with a sanitizer, which calls its own functions"
    exit 77
fi
[ -s "$work/given" ] || { echo "$archive defines nothing"; exit 1; }

allowed='^(mem(cpy|move|set|cmp|chr)|__mem(cpy|move|set)_chk|crc32_iscsi|__cpu_model|__stack_chk_fail(_local)?'
allowed="$allowed"'|__u?(div|mod|mul|divmod)[sdt]i[34]|__popcount[sd]i2|_GLOBAL_OFFSET_TABLE_'
allowed="$allowed"'|__(add|sub|mul)tf3|__floatsitf|__(eq|ne|lt|le|gt|ge|unord)tf2)$'
if comm -23 "$work/asked" "$work/given" | grep -vE "$allowed" >"$work/foreign"; then
    while read -r symbol; do
        echo "the core calls $symbol:" "$(nm -uA "$archive" 2>/dev/null | awk -v s="$symbol" '$NF == s { print $1 }' | tr '\n' ' ')"
    done <"$work/foreign"
    echo "The core gets memory, time and everything else through its port (include/nof/port.h)."
    exit 1
fi

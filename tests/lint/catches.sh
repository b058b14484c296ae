#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: catches.sh ROOT CC
# The lint programs find what they are for: each gets a small tree with one fault, and one without.
set -eu
lint=$1/tests/lint
cc=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
spdx='/* SPDX-License-Identifier: BSD-3-Clause */'
status=0

# expect 0|1 CHECK: what CHECK must say about the tree of this moment.
expect() {
    code=0
    python3 -B "$lint/$2.py" "$work/tree" >"$work/said" || code=$?
    if [ "$code" != "$1" ]; then
        echo "$2 ended with $code, should be $1, on: $3"
        cat "$work/said"
        status=1
    fi
}

# file PATH LINE...: a source file in a fresh tree that holds nothing else.
file() {
    path=$work/tree/$1
    rm -rf "$work/tree"
    mkdir -p "$(dirname "$path")"
    echo "$spdx" >"$path"
    shift
    printf '%s\n' "$@" >>"$path"
}

file firmware/good.c '#include <stdint.h>' 'int x;'
expect 0 include_law 'a core file of the allowed kind'
expect 0 text 'a clean file'
expect 0 sizes 'a short file'
file firmware/clock.c '#include <time.h>'
expect 1 include_law 'a clock in the core'
file include/nof/x.h '#include <rte_ring.h>'
expect 1 include_law 'DPDK in the installed contract'
file host/x.c '#include <rte_eal.h>'
expect 1 include_law 'EAL in the host driver'
file host/x.c '#include <rte_ring_elem.h>'
expect 0 include_law 'the inline ring in the host driver'
file host/libmpi_offload/x.c '#include "../x.h"'
echo '#include <rte_ring.h>' >"$work/tree/host/x.h"
expect 1 include_law 'DPDK in the MPI library, through a header'
file tools/x.c '#include "nof_private/y.h"'
mkdir -p "$work/tree/include/nof_private"
echo >"$work/tree/include/nof_private/y.h"
expect 1 include_law 'a private header in a tool'
file firmware/x.c 'int x; '
expect 1 text 'a trailing blank'
file firmware/x.c '/* TO''DO: more */'
expect 1 text 'a loose end'
file firmware/x.c 'int x;'
sed -i 1d "$work/tree/firmware/x.c"
expect 1 text 'no licence'
file firmware/x.c 'int f(void)' '{' "$(yes ';' | head -n 70)" '}'
expect 1 sizes 'a long function'

printf '%s\n' '#include <stdlib.h>' 'void *f(void);' 'void *f(void) { return malloc(1); }' >"$work/heap.c"
"$cc" -c "$work/heap.c" -o "$work/heap.o"
ar rcs "$work/heap.a" "$work/heap.o"
if sh "$lint/core_purity.sh" "$work/heap.a" >"$work/said"; then
    echo 'core_purity lets malloc pass'
    status=1
fi
exit $status

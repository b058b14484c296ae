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
file firmware/flow/x.c '#include "msg/y.h"'
mkdir "$work/tree/firmware/msg"
echo >"$work/tree/firmware/msg/y.h"
expect 1 include_law 'a folder of the core that knows one above it'
file firmware/stage_cache.c '#include "nic.h"'
echo >"$work/tree/firmware/nic.h"
expect 1 include_law 'an engine that knows the NIC'
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
file firmware/x.c '/* ---''- life --''-- */'
expect 1 text 'a banner'
file firmware/x.c '/* POSTED --''----> complete */' '/* a' ' *   +--''----+' ' */'
expect 0 text 'a drawing'
file firmware/x.c '__atomic_thread_fence(__ATOMIC_SEQ_''CST);'
expect 1 text 'a bare full fence'
file firmware/x.c "/* $(yes words | head -n 24 | tr '\n' ' ')*/"
expect 1 lines 'a line of 150 characters'
file firmware/x.c "/* $(yes words | head -n 20 | tr '\n' ' ')*/"
expect 0 lines 'a line of 126 characters'
file firmware/x.c 'int x;'
sed -i 1d "$work/tree/firmware/x.c"
expect 1 text 'no licence'
file firmware/x.c 'int f(void)' '{' "$(yes ';' | head -n 70)" '}'
expect 1 sizes 'a long function'

file firmware/x.c 'int f(int n)' '{' '    while (n > 0)' '        n--;' '    return n;' '}'
expect 1 loops 'a loop of the core without a mark'
file firmware/x.c 'int f(int n)' '{' '    for (int i = 0; i < n; i++)' '        g();' '}'
expect 1 loops 'a loop to a count that is given'
file firmware/x.c 'int f(int n)' '{' '    /* bound: n; paid by the caller */' '    while (n > 0)' '        n--;' \
    '    for (int i = 0; i < 8; i++)' '        g();' '}'
mkdir "$work/tree/docs"
expect 1 loops 'a mark that the page does not show'
python3 -B "$lint/loops.py" "$work/tree" --write >"$work/said"
expect 0 loops 'a mark that the page shows, and a loop with a constant end'

file firmware/flow/wait.c 'int x;'
mkdir "$work/tree/host"
echo "$spdx" >"$work/tree/host/wait.c"
expect 1 folders 'two sources of one name'
mv "$work/tree/host/wait.c" "$work/tree/host/wait.h"
expect 0 folders 'a source and a header of one name'
# 40 files of firmware/flow beside wait.c; 13 sources on top of firmware/.
for i in 1 2 3 4; do for j in 0 1 2 3 4 5 6 7 8 9; do echo "$spdx" >"$work/tree/firmware/flow/x$i$j.h"; done; done
expect 1 folders 'a crowded folder'
file firmware/a.c 'int x;'
for i in b c d e f g h i j k l m; do echo "$spdx" >"$work/tree/firmware/$i.c"; done
expect 1 folders 'a crowded top'
rm "$work/tree/firmware/m.c"
expect 0 folders 'a full top'

# A module beside tests/unit/meson.build, which lists the test "tested".
unit() {
    file "$@"
    mkdir -p "$work/tree/tests/unit"
    echo "test('tested')" >"$work/tree/tests/unit/meson.build"
    echo "$spdx" >"$work/tree/tests/unit/tested.c"
    echo "$spdx" >"$work/tree/tests/unit/unlisted.c"
}
unit firmware/x.c 'void f(struct s *s)' '{' '    s->n++;' '}'
expect 1 owners 'an owner of state without a test'
unit firmware/unlisted.c 'void f(struct s *s)' '{' '    s->n++;' '}'
expect 1 owners 'an owner whose test is not built'
unit firmware/nofd/tested.c 'static int n;'
expect 1 owners 'a variable in the daemon, whose tests begin with nofd_'
unit firmware/tested.c 'static int n;' 'void f(struct s *s)' '{' '    s->n = 1;' '}'
expect 0 owners 'an owner with its test'
unit firmware/x.c 'static const int n = 1;' 'int f(const struct s *s)' '{' '    return s->n == n;' '}'
expect 0 owners 'a module that writes nothing'

# named WORD...: whether docs_names finds nothing wrong with a README of these lines, in a tree with our tables.
named() {
    printf '%s\n' "$@" >"$work/named/README.md"
    python3 -B "$lint/docs_names.py" "$work/named" >"$work/said"
}
mkdir -p "$work/named/include/nof" "$work/named/.ci" "$work/named/tools" "$work/named/docs"
cp "$1"/include/nof/counters.h "$1"/include/nof/features.h "$work/named/include/nof"
cp "$1/meson_options.txt" "$work/named"
cp "$1/.ci/run" "$work/named/.ci"
echo '{"stats", run}, {"set", run}, {"json", 1}' >"$work/named/tools/x.c"
: >"$work/named/CONTRIBUTING.md"
named '`tools/x.c`, `match.spilled`, `nof set eager_max_bytes=1`, `nof stats --json`' ||
    { echo 'docs_names refuses what is there:'; cat "$work/said"; status=1; }
for lie in '`tools/y.c`' '[x](tools/y.c)' '`match.spoiled`' '`nof set eager_min=1`' '`nof stat`' '`nof stats --jason`'; do
    named "$lie" && { echo "docs_names lets pass: $lie"; status=1; }
done
mkdir "$work/named/docs/decisions"
: >"$work/named/docs/decisions/0001-x.md"
named 'x' && { echo 'docs_names lets pass: a decision without a row'; status=1; }
echo '| [0001](0001-x.md) | x | |' >"$work/named/docs/decisions/README.md"
named 'x' || { echo 'docs_names refuses a decision with its row:'; cat "$work/said"; status=1; }

printf '%s\n' '#include <stdlib.h>' 'void *f(void);' 'void *f(void) { return malloc(1); }' >"$work/heap.c"
"$cc" -c "$work/heap.c" -o "$work/heap.o"
ar rcs "$work/heap.a" "$work/heap.o"
if sh "$lint/core_purity.sh" "$work/heap.a" >"$work/said"; then
    echo 'core_purity lets malloc pass'
    status=1
fi
exit $status

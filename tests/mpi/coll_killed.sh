#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: coll_killed.sh NOF COLL_KILLED
# A rank is killed in mid-collective: ring, tree and all-to-all, small and large blocks, whoever goes through the steps.
set -eu
nof=$1 killed=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# one DRIVER SHAPE BYTES
one() {
    out=$work/$1-$2-$3 code=0
    timeout -k 5 120 "$nof" run --hosts 6 -n 6 --on-failure=continue "$killed" "$2" "$3" "$1" \
        >"$out" 2>"$out.err" </dev/null || code=$?
    if [ "$(grep -c survived "$out")" -ne 5 ] || [ "$code" -ne 137 ]; then
        echo "$2 of $3 bytes, driver $1: exit code $code instead of 137, and these survived:" >&2
        cat "$out" "$out.err" >&2
        return 1
    fi
    [ -z "${T_VERBOSE:-}" ] || grep ' told ' "$out"
}

for driver in nic host mixed; do
    pids=
    for case in ring:100 ring:100000 tree:1000 tree:400000 alltoall:1000 alltoall:50000; do
        one "$driver" "${case%:*}" "${case#*:}" &
        pids="$pids $!"
    done
    for pid in $pids; do wait "$pid" || exit 1; done
done

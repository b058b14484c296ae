#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: coll_killed.sh NOF COLL_KILLED
# A rank is killed in mid-collective: ring, tree and all-to-all, small and large blocks, whoever goes through the steps; with one rank
# on each NIC, and with two, that reach each other by memory.
set -eu
nof=$1 killed=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# one DRIVER SHAPE BYTES RANKS_OF_EACH_NIC
one() {
    out=$work/$1-$2-$3-$4 code=0
    NOF_CHANNELS=auto timeout -k 5 120 "$nof" run --hosts $((6 / $4)) -n 6 --on-failure=continue "$killed" "$2" "$3" "$1" "$4" \
        >"$out" 2>"$out.err" </dev/null || code=$?
    if [ "$(grep -c survived "$out")" -ne 5 ] || [ "$code" -ne 137 ]; then
        echo "$2 of $3 bytes, driver $1, $4 ranks of a NIC: exit code $code instead of 137, and these survived:" >&2
        cat "$out" "$out.err" >&2
        return 1
    fi
    [ -z "${T_VERBOSE:-}" ] || grep ' told ' "$out"
}

for each in 1 2; do
    for driver in nic host mixed; do
        pids=
        for case in ring:100 ring:100000 tree:1000 tree:400000 alltoall:1000 alltoall:50000; do
            one "$driver" "${case%:*}" "${case#*:}" "$each" &
            pids="$pids $!"
        done
        for pid in $pids; do wait "$pid" || exit 1; done
    done
done

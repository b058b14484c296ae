#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: coll_killed.sh NOF COLL_KILLED
# A rank is killed in mid-collective: ring, tree and all-to-all, small and large blocks, whoever goes through the steps.
set -eu
nof=$1 killed=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for driver in nic host mixed; do
    for case in ring:100 ring:100000 tree:1000 tree:400000 alltoall:1000 alltoall:50000; do
        timeout -k 5 60 "$nof" run --hosts 6 -n 6 --on-failure=continue "$killed" "${case%:*}" "${case#*:}" "$driver" \
            >"$work/out" 2>"$work/err" </dev/null && code=0 || code=$?
        if [ "$(grep -c survived "$work/out")" -ne 5 ] || [ "$code" -ne 137 ]; then
            echo "$case, driver $driver: exit code $code instead of 137, and these survived:" >&2
            cat "$work/out" "$work/err" >&2
            exit 1
        fi
        [ -z "${T_VERBOSE:-}" ] || grep ' told ' "$work/out"
    done
done

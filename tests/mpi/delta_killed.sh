#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: delta_killed.sh NOF DELTA_KILLED
set -eu
nof=$1 killed=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for who in sender receiver; do
    for how in "1 explicit" "2 explicit" "1 os" "2 os"; do
        hosts=${how% *}
        NOF_DELTA=${how#* } timeout -k 5 60 "$nof" run --hosts "$hosts" -n 2 --on-failure=continue "$killed" "$who" \
            >"$work/out" 2>"$work/err" \
            </dev/null && code=0 || code=$?
        if ! grep -q 'rank 0 survived' "$work/out" || [ "$code" -ne 137 ]; then
            echo "the $who was killed, $hosts hosts, NOF_DELTA=${how#* }: exit code $code instead of 137" >&2
            cat "$work/out" "$work/err" >&2
            exit 1
        fi
    done
done

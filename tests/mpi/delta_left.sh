#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: delta_left.sh NOF DELTA_LEFT
set -eu
nof=$1 left=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for what in kept given_up unmapped given_up_unmapped cancelled_unmapped freed replaced unmatched unmatched_unmapped; do
    for how in explicit os; do
        NOF_DELTA=$how timeout -k 5 120 "$nof" run --hosts 2 -n 2 --timeout 100s "$left" "$what" >"$work/out" 2>&1 </dev/null && code=0 ||
            code=$?
        case $what in
        unmapped | given_up_unmapped | cancelled_unmapped | freed) lines=1 ;;
        *) lines=0 ;;
        esac
        told=$(grep -c 'which was begun and never waited for, has failed: MPI_ERR_BUFFER' "$work/out") || :
        if [ "$code" -ne 0 ] || [ "$told" -ne "$lines" ]; then
            echo "$what, NOF_DELTA=$how: exit code $code, told of $told sends instead of $lines" >&2
            cat "$work/out" >&2
            exit 1
        fi
    done
done

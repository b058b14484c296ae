#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: killed_shm.sh NOF KILLED HOSTS RANKS CALL...
# As killed.sh, where ranks of a host reach each other by memory (NOF_CHANNELS, or auto): the last rank is killed while the others are in
# each of these calls. OPTIONS: more words for `nof run`.
set -eu
nof=$1 killed=$2 hosts=$3 ranks=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for call in "$@"; do
    # shellcheck disable=SC2086 # words
    NOF_CHANNELS="${NOF_CHANNELS:-auto}" timeout -k 5 100 "$nof" run --hosts "$hosts" -n "$ranks" ${OPTIONS:-} --on-failure=continue \
        "$killed" "$call" >"$work/out" 2>"$work/err" </dev/null && code=0 || code=$?
    if [ "$(grep -c survived "$work/out")" -ne "$((ranks - 1))" ] || [ "$code" -ne 137 ]; then
        echo "waiting in $call: exit code $code instead of 137, and these survived:" >&2
        cat "$work/out" "$work/err" >&2
        exit 1
    fi
done

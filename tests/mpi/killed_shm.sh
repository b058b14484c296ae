#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: killed_shm.sh NOF KILLED HOSTS
# As killed.sh, where ranks of a host reach each other by memory.
set -eu
nof=$1 killed=$2 hosts=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for call in recv irecv any send sends ssend probe collective icollective strangers lock fence; do
    NOF_CHANNELS=auto timeout -k 5 60 "$nof" run --hosts "$hosts" -n 5 --on-failure=continue "$killed" "$call" \
        >"$work/out" 2>"$work/err" </dev/null && code=0 || code=$?
    if [ "$(grep -c survived "$work/out")" -ne 4 ] || [ "$code" -ne 137 ]; then
        echo "waiting in $call: exit code $code instead of 137, and these survived:" >&2
        cat "$work/out" "$work/err" >&2
        exit 1
    fi
done

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: killed.sh NOF KILLED
# A rank is killed while the others wait for it in every kind of call: each of them gets the error that names
# it and goes on. In the default mode of `nof run` the whole job ends, at once. The same, within a second, where
# a NIC is unplugged.
set -eu
nof=$1 killed=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for call in recv irecv any send sends ssend probe collective icollective collective/nic icollective/nic strangers \
    lock fence; do
    driver=${call#*collective/} # of collectives
    [ "$driver" != "$call" ] || driver=host
    timeout -k 5 60 "$nof" run --hosts 2 -n 5 --on-failure=continue --feature "collectives=$driver" "$killed" \
        "${call%/*}" >"$work/out" 2>"$work/err" </dev/null && code=0 || code=$?
    if [ "$(grep -c survived "$work/out")" -ne 4 ] || [ "$code" -ne 137 ]; then
        echo "waiting in $call: exit code $code instead of 137, and these survived:" >&2
        cat "$work/out" "$work/err" >&2
        exit 1
    fi
    [ -z "${T_VERBOSE:-}" ] || grep ' took ' "$work/out"
done

timeout -k 5 60 "$nof" run --hosts 2 -n 3 "$killed" recv >"$work/out" 2>&1 </dev/null && code=0 || code=$?
if [ "$code" -ne 137 ] || ! grep -q 'rank 2 .*was killed by signal 9' "$work/out"; then
    echo "a killed rank did not end the job with its sentence (exit code $code):" >&2
    cat "$work/out" >&2
    exit 1
fi

for call in recv ssend collective collective/nic; do
    driver=${call#*collective/}
    [ "$driver" != "$call" ] || driver=host
    timeout -k 5 60 "$nof" run --hosts 3 -n 3 --on-failure=continue --feature "collectives=$driver" "$killed" \
        "${call%/*}" unplug >"$work/out" 2>"$work/err" </dev/null && code=0 || code=$?
    if [ "$(grep -c survived "$work/out")" -ne 2 ] || ! grep -q 'is alone' "$work/out" || [ "$code" -ne 0 ]; then
        echo "waiting in $call for a NIC that is unplugged: exit code $code, and these survived:" >&2
        cat "$work/out" "$work/err" >&2
        exit 1
    fi
    [ -z "${T_VERBOSE:-}" ] || grep ' took ' "$work/out"
done

timeout -k 5 60 "$nof" run --hosts 3 -n 3 "$killed" recv unplug fatal >"$work/out" 2>&1 </dev/null && code=0 || code=$?
ended=$(date +%s%3N)
unplugged=$(sed -n 's/^.*unplugged \([0-9]*\)$/\1/p' "$work/out")
if [ "$code" -eq 0 ] || [ "$code" -ge 124 ] || [ -z "$unplugged" ] ||
    ! grep -Eq 'rank [0-9].*(dead|cannot be reached)' "$work/out"; then
    echo "a NIC was unplugged at ${unplugged:-no time}, the job ended at $ended with code $code:" >&2
    cat "$work/out" >&2
    exit 1
fi
[ -z "${T_VERBOSE:-}" ] || echo "unplugged: the job had ended after $((ended - unplugged)) ms"

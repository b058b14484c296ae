#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: found.sh MUTANT SEEDS model|mpi [SEED]
# MUTANT is the simulator with one line of the core, or of the MPI library, changed: within SEEDS seeds it must find out.
# SEED, one of them, found it when it was looked for last, and is tried first.
set -u

# finds ARG...: the simulator finds the fault in these seeds.
finds() {
    report=$("$mutant" "$kind" "$@" --fail-fast 2>&1)
    code=$?
    printf '%s\n' "$report"
    [ "$code" -gt 128 ] && return 0 # one seed has no process of its own: its crash is the simulator's
    [ "$code" -eq 1 ] && printf '%s\n' "$report" | grep -q '^seed [0-9]*: '
}

mutant=$1 seeds=$2 kind=$3 likely=${4:-}
if [ -n "$likely" ]; then
    [ "$likely" -le "$seeds" ] && finds --seed "$likely" && exit 0
    echo "seed $likely finds it no longer: put the one that does into tests/sim/meson.build"
fi
finds --seeds "$seeds" && exit 0
echo "the simulator did not find this mutation within $seeds seeds (exit code $code)"
exit 1

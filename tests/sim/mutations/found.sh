#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: found.sh MUTANT SEEDS [model|mpi]
# MUTANT is the simulator with one line of the core, or of the MPI library, changed: within SEEDS seeds it must find out.
set -u
report=$("$1" ${3:-} --seeds "$2" --fail-fast 2>&1)
code=$?
printf '%s\n' "$report"
if [ "$code" -eq 1 ] && printf '%s\n' "$report" | grep -q '^seed [0-9]*: '; then
    exit 0
fi
echo "the simulator did not find this mutation within $2 seeds (exit code $code)"
exit 1

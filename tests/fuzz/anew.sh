#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: anew.sh FUZZER CORPUS SECONDS [ARG...]
# Fuzzes anew for SECONDS ($NOF_FUZZ_SECONDS goes first), from a copy of the corpus. What it finds is left beside the
# fuzzer, as NAME-found-*, and named.
set -eu
fuzzer=$1 corpus=$2 seconds=${NOF_FUZZ_SECONDS:-$3}
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$corpus" "$work/corpus"
found=$(dirname "$fuzzer")/$(basename "$fuzzer" .libfuzzer)-found-
"$fuzzer" -max_total_time="$seconds" -timeout=60 -print_final_stats=1 -artifact_prefix="$found" "$@" "$work/corpus" \
    >"$work/log" 2>&1 || {
    tail -n 60 "$work/log"
    echo "one input without libFuzzer: $(dirname "$fuzzer")/$(basename "$fuzzer" .libfuzzer) FILE"
    exit 1
}
grep -E '^stat::(number_of_executed_units|average_exec_per_sec|new_units_added)' "$work/log"

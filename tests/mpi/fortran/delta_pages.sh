#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: delta_pages.sh MPIFORT NOF SOURCE
# NOF_DELTA=os takes increments from the pages of a Fortran program, also where its linker leaves out of a program what only
# libmpi_offload_fortran asks for, so that libc is looked up before libmpi_offload.
set -eu
mpifort=$(realpath "$1") nof=$(realpath "$2") source=$(realpath "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$mpifort" -O2 -g -Wall -Werror "$source" -o plain
"$mpifort" -O2 -g -c "$source" -o late.o
# shellcheck disable=SC2046 # words are wanted
$("$mpifort" -showme:command) late.o -o late $("$mpifort" -showme:link | sed 's/--no-as-needed/--as-needed/')

for program in plain late; do
    NOF_DELTA=os timeout 60 "$nof" run --hosts 2 -n 2 --stats "$program.json" "./$program" </dev/null
    python3 - "$program" <<'EOF'
import json
import sys

counters = json.load(open(sys.argv[1] + ".json", encoding="utf-8"))["library"]["counters"]
told = {name: n for name, n in counters.items() if name.startswith("delta_")}
print(sys.argv[1], told)
if told["delta_sends"] != 1 or told["delta_receives"] != 1 or told["delta_sends_plain"] != 0:
    sys.exit("not one message in increments")
if told["delta_faults"] < 8 or told["delta_increments"] < 4:
    sys.exit("pages told of no increments")
EOF
done
# Who is looked up first.
readelf -d plain | grep NEEDED | grep -n 'mpi_offload\.' >/dev/null || {
    echo "mpifort leaves libmpi_offload out of a program" >&2
    exit 1
}

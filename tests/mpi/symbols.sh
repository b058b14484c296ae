#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: symbols.sh SOURCE_ROOT LIBRARY
# Every function of the one table is exported as MPI_X (weak) and PMPI_X, nothing else is, and mpi.h is the one
# that the table gives.
set -eu
folder=$1/host/libmpi_offload library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 "$folder/gen_mpi_h.py" "$folder/functions.tbl" "$folder/mpi.h.in" "$work/mpi.h"
if ! cmp -s "$work/mpi.h" "$folder/include/mpi.h"; then
    echo "include/mpi.h is not what functions.tbl and mpi.h.in give: run" >&2
    echo "  cd host/libmpi_offload && python3 gen_mpi_h.py functions.tbl mpi.h.in include/mpi.h" >&2
    exit 1
fi

nm -D --defined-only "$library" | sed 's/@.*//' | awk '{print $3, $2}' | sort >"$work/exported"
sed -n 's/^\(int\|double\|MPI_Aint\) \(P\{0,1\}MPI_[A-Za-z_]*\)(.*/\2/p' "$folder/include/mpi.h" |
    sed 's/^MPI_.*/& W/; s/^PMPI_.*/& T/' >"$work/wanted"
printf 'MPIX_Nic_counters W\nPMPIX_Nic_counters T\nnof_fortran_hooks D\n' >>"$work/wanted"
sort -o "$work/wanted" "$work/wanted"
if ! diff "$work/wanted" "$work/exported" >"$work/diff"; then
    echo "exported symbols differ from the table (< wanted, > exported):" >&2
    cat "$work/diff" >&2
    exit 1
fi
[ "$(wc -l <"$work/wanted")" -gt 250 ]

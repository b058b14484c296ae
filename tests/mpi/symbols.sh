#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: symbols.sh SOURCE_ROOT LIBRARY
# Every function of the one table is exported as MPI_X (weak, the same address) and PMPI_X, nothing else is, and mpi.h
# is the one that the table gives.
set -eu
folder=$1/host/libmpi_offload library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 "$folder/gen_mpi.py" header "$folder/functions.tbl" "$folder/mpi.h.in" "$work/mpi.h"
if ! cmp -s "$work/mpi.h" "$folder/include/mpi.h"; then
    echo "include/mpi.h is not what functions.tbl and mpi.h.in give: run" >&2
    echo "  cd host/libmpi_offload && python3 gen_mpi.py header functions.tbl mpi.h.in include/mpi.h" >&2
    exit 1
fi

nm -D --defined-only "$library" | sed 's/@.*//' | sort >"$work/nm"
awk '{print $3, $2}' "$work/nm" | sort >"$work/exported"
sed -n 's/^[A-Za-z_]* \(P\{0,1\}MPI_[A-Za-z0-9_]*\)(.*);$/\1/p' "$folder/include/mpi.h" |
    sed 's/^MPI_.*/& W/; s/^PMPI_.*/& T/' >"$work/wanted"
for name in Alltoallv_control1 Alltoallv_control1_told Alltoallv_control2 Alltoallv_data_trans1 Alltoallv_data_trans2 Alltoallv_load \
    Coll_c2f Coll_f2c Coll_free Delta_recv Delta_recv_wait Delta_send_begin Delta_send_data Delta_send_end Delta_send_end_count \
    Delta_wait Delta_wait_data Nic_counters Pre_receive Recv_staged Release Scatterv_close_group Scatterv_data_movement \
    Scatterv_dynamic Scatterv_open_group; do
    printf 'MPIX_%s W\nPMPIX_%s T\n' "$name" "$name"
done >>"$work/wanted"
for name in recv recv_wait send_begin send_data send_end send_end_count wait wait_data; do
    printf 'MPI_Delta_%s W\n' "$name" # the paper's names
done >>"$work/wanted"
printf 'nof_fortran_hooks D\n' >>"$work/wanted"
# Those of the C library that show a program its own handlers (delta_signal.h).
printf "%s T\n" __sysv_signal bsd_signal pthread_sigmask sigaction signal sigprocmask ssignal sysv_signal >>"$work/wanted"
sort -o "$work/wanted" "$work/wanted"
if ! diff "$work/wanted" "$work/exported" >"$work/diff"; then
    echo "exported symbols differ from the table (< wanted, > exported):" >&2
    cat "$work/diff" >&2
    exit 1
fi
awk '$3 ~ /^P?MPI/ {sub(/^P/, "", $3); print $3, $1}' "$work/nm" | sort -u >"$work/addresses"
if awk '{print $1}' "$work/addresses" | uniq -d | grep . >&2; then
    echo "the names above: MPI_X and PMPI_X are two functions" >&2
    exit 1
fi
[ "$(wc -l <"$work/wanted")" -gt 1380 ]

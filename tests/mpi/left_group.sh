#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: left_group.sh NOF SCATTERV_GROUP
# A group that a program leaves open is closed by MPI_Finalize, which says so in one line, of the root; the NICs have none left.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" run --hosts 4 -n 4 --feature multicast=on "$2" left 2>"$work/said"
cat "$work/said"
[ "$(wc -l <"$work/said")" = 1 ]
grep -q 'rank 1 .* 1 group of MPIX_Scatterv_open_group left open: closed' "$work/said"
"$1" run --hosts 4 -n 4 --feature multicast=on "$2" 2>"$work/said"
[ ! -s "$work/said" ]

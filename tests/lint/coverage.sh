#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: coverage.sh SOURCE_ROOT
# docs/MPI_COVERAGE.md says what functions.tbl and the sources say. Every new function changes the page, so that
# only tools/check asks.
set -eu
cd "$1"
if [ -z "${NOF_CHECK:-}" ]; then
    echo "skipped: tools/check compares docs/MPI_COVERAGE.md with the sources, or NOF_CHECK=1 in the environment"
    exit 77
fi
page=$(mktemp)
trap 'rm -f "$page"' EXIT
find host/libmpi_offload -name '*.c' -exec \
    python3 host/libmpi_offload/gen_mpi.py coverage host/libmpi_offload/functions.tbl "$page" {} +
if ! cmp -s "$page" docs/MPI_COVERAGE.md; then
    echo "docs/MPI_COVERAGE.md is out of date: run ninja -C build mpi-coverage" >&2
    exit 1
fi

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: memcheck.sh NOF MEMCHECK
set -eu
if ! command -v valgrind >/dev/null || [ ! -e /usr/include/valgrind/memcheck.h ]; then
    echo "skipped: valgrind, or its header, is not installed"
    exit 77
fi
exec "$1" run --hosts 2 -n 2 valgrind -q --error-exitcode=9 "$2"

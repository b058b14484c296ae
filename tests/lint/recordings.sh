#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: recordings.sh ROOT
# What was recorded from public programs is what docs/TESTING.md says, byte by byte: figures rest on it.
set -eu
cd "$1"
for folder in tests/vectors/messages tests/vectors/receives tests/vectors/collectives examples/data; do
    sum=$(find "$folder" -type f ! -name '*.md' | LC_ALL=C sort | xargs cat | sha256sum | cut -d ' ' -f 1)
    if ! grep -q "$sum" docs/TESTING.md; then
        echo "$folder: its files, in the order of their names, have sha256 $sum, which docs/TESTING.md does not name:" \
            "get the recordings back, or record anew and say so there"
        exit 1
    fi
done

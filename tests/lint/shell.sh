#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: shell.sh ROOT
# Every shell script parses.
set -eu
cd "$1"
status=0
for script in .ci/run tools/quickstart tools/check $(find tests tools bench -name '*.sh'); do
    shell='sh'
    head -n 1 "$script" | grep -q bash && shell=bash
    command -v $shell >/dev/null || continue
    $shell -n "$script" || { echo "$script does not parse"; status=1; }
done
exit $status

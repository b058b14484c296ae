#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: headers.sh ROOT CC
# Every header of the installed contract compiles by itself, and every one is on the list that is installed.
set -eu
cd "$1/include"
status=0
for header in nof/*.h; do
    echo "#include \"$header\"" |
        "$2" -std=c17 -pedantic -Wall -Wextra -Werror -fsyntax-only -I. -x c - || {
        echo "include/$header does not compile by itself"
        status=1
    }
    grep -q "'$header'" meson.build || {
        echo "include/$header is not installed; list it in include/meson.build"
        status=1
    }
done
exit $status

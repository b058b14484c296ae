#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: run.sh MPIFORT NOF SOURCE
# A Fortran program, built as a user builds it, on two ranks of two hosts.
set -eu
mpifort=$(realpath "$1") nof=$(realpath "$2") source=$(realpath "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# Without interfaces the compiler cannot know that buffers of several types are meant.
case $source in *.f) quiet=-w ;; *) quiet='-Wall -Werror -Wno-unused-dummy-argument' ;; esac
# shellcheck disable=SC2086 # words are wanted
"$mpifort" -g $quiet "$source" -o program
timeout 60 "$nof" run --hosts 2 -n 2 ./program </dev/null

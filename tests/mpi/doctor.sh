#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: doctor.sh NOF
# `nof doctor` has a line for every check, says plainly what the wire does not protect, and fails only where a line
# does.
set -u
status=0
text=$("$1" doctor) || status=$?
echo "$text"
wrong() {
    echo "wrong: $1" >&2
    exit 1
}
echo "$text" | grep -q '^note  *privacy .*in clear.*not against a man in the middle' || wrong 'nothing is said of the wire'
if echo "$text" | grep -q '^FAILS'; then
    [ $status = 1 ] || wrong "a check fails and the exit status is $status"
else
    [ $status = 0 ] || wrong "no check fails and the exit status is $status"
fi
echo "$text" | grep -vqE '^(ok|costs|FAILS|note) ' && wrong 'a line without a verdict'
"$1" doctor more >/dev/null 2>&1 && wrong 'an argument too many is taken'
# Folders may be entered, and are no daemons.
NOF_NOFD=/ "$1" doctor 2>/dev/null | grep -q '^FAILS  *daemon' || wrong 'a folder is taken for nofd'
exit 0

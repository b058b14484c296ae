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
machine=$(mktemp -d)
trap 'rm -rf "$machine"' EXIT
mkdir -p "$machine/proc/sys/kernel/yama"
for scope in 2:sysctl 3:boot; do
    echo "${scope%:*}" >"$machine/proc/sys/kernel/yama/ptrace_scope"
    NOF_BIND_ROOT=$machine "$1" doctor 2>/dev/null | grep -q "^costs  *direct copies .* is ${scope%:*}: .*${scope#*:}" ||
        wrong "what to do about ptrace_scope ${scope%:*}"
done
# Folders may be entered, and are no daemons.
NOF_NOFD=/ "$1" doctor 2>/dev/null | grep -q '^FAILS  *daemon' || wrong 'a folder is taken for nofd'
exit 0

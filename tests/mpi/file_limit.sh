#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: file_limit.sh NOF PROGRAM
# Files, those in memory too, may have few bytes (ulimit -f, in blocks of 512). Enough for what each rank needs, too few for the memory that
# ranks of a host share: they send by their NIC, which is said once. Too few for a rank: it is told what to raise.
set -u
nof=$1
program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

(ulimit -f 5000 && NOF_CHANNELS=auto "$nof" run --hosts 1 -n 16 --stats "$work/stats" "$program") > "$work/said" 2>&1 || {
    cat "$work/said"
    echo "16 ranks whose memory is no file end ill"
    exit 1
}
if [ "$(grep -c 'these send by their NIC: no memory .*raise ulimit -f' "$work/said")" != 1 ] ||
    ! grep -q '"memory_sends": 0[,}]' "$work/stats"; then
    cat "$work/said"
    grep -o '"memory_sends": [0-9]*' "$work/stats"
    echo "it should be said once that ranks send by their NIC, and they should"
    exit 1
fi
if (ulimit -f 1200 && "$nof" run --hosts 1 -n 2 "$program") > "$work/said" 2>&1 ||
    ! grep -q 'File too large) (raise ulimit -f)' "$work/said"; then
    cat "$work/said"
    echo "a rank that cannot have its endpoint should be told of ulimit -f"
    exit 1
fi
(ulimit -f 0 && "$nof" run --hosts 1 -n 2 "$program" 2>&1; echo "exit code $?") | cat > "$work/said"
if ! grep -q '(raise ulimit -f)' "$work/said" || grep -q 'exit code \(0\|153\)$' "$work/said"; then
    cat "$work/said"
    echo "where no file may have any bytes it should be said, too"
    exit 1
fi
# A rank begins with that signal as it was, ignored or not (bit 24): the program may handle the error itself.
for trapped in '' XFSZ; do
    (
        [ -z "$trapped" ] || trap '' "$trapped"
        grep SigIgn /proc/self/status > "$work/wanted"
        "$nof" run --hosts 1 -n 1 grep SigIgn /proc/self/status > "$work/said" 2> "$work/log"
    )
    if [ $((0x$(cut -f 2 "$work/wanted") >> 24 & 1)) != $((0x$(cut -f 2 "$work/said") >> 24 & 1)) ]; then
        cat "$work/wanted" "$work/said" "$work/log"
        echo "a rank should begin with SIGXFSZ as it was (trapped: '$trapped')"
        exit 1
    fi
done

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: delta_assist.sh NOF DELTA_MANY DELTA_RETURNED
# Hundreds of delta messages at once, ended from the last to the first, where the ranks copy what the NIC brings; and
# such as wait for one rank's room beside such as do not.
set -eu
nof=$1 many=$2 returned=$3
work=$(mktemp -d)
end() {
    "$nof" down --nofd "$work/nofd" >/dev/null 2>&1 || :
    rm -rf "$work"
}
trap end EXIT

"$nof" up --socket "$work/nofd" --fabric 2 -- --dma=assist >"$work/up" 2>&1 || {
    cat "$work/up" >&2
    exit 1
}
"$nof" run --nofd "$work/nofd" -n 2 --timeout 100s "$many" 65 300
for ranks in 4 8; do # several of a NIC
    "$nof" run --nofd "$work/nofd" -n "$ranks" --timeout 60s "$many" 65
done
"$nof" run --nofd "$work/nofd" -n 4 --timeout 40s "$returned"

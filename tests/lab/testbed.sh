#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by tests of this folder that start daemons in network namespaces. They set `build` (the build's folder), `me` (what their
# namespaces' names begin with) and define down(), which ends and removes what they started; its part here: stop_nofds.
socket=@nof-lab-test
work=$(mktemp -d)
nofds=()

skip() {
    echo "SKIP: $1"
    exit 77
}

fail() {
    echo "FAILED: $1"
    for log in "$work"/*.log; do
        echo "--- $(basename "$log")"
        tail -n 20 "$log"
    done
    exit 1
}

# From here on down() is called, however the test ends.
down_at_exit() {
    trap down EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# start_nofd HOST PORT: with that port, in the host's namespace; back when it is ready.
start_nofd() {
    mkfifo "$work/ready$1"
    ip netns exec "$me-h$1" "$build/nofd" --port "$2" --socket "$socket" --ready-fd 3 \
        3>"$work/ready$1" >"$work/nofd$1.log" 2>&1 </dev/null &
    nofds+=($!)
    read -r -t 60 _ <"$work/ready$1" || fail "nofd on host $1 does not become ready"
}

stop_nofds() {
    for pid in "${nofds[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${nofds[@]}"; do wait "$pid" 2>/dev/null || true; done
}

# What heat3d prints that does not depend on when.
answer() { grep -E '^ *(residual|checksum) '; }

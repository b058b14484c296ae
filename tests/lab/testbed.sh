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

# start_nofd HOST PORT [OPTION...]: with that port, in the host's namespace; back when it is ready.
start_nofd() {
    local host=$1
    mkfifo "$work/ready$host"
    ip netns exec "$me-h$host" "$build/nofd" --port "${@:2}" --socket "$socket" --ready-fd 3 \
        3>"$work/ready$host" >"$work/nofd$host.log" 2>&1 </dev/null &
    nofds+=($!)
    read -r -t 60 _ <"$work/ready$host" || fail "nofd on host $host does not become ready"
}

stop_nofds() {
    for pid in "${nofds[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${nofds[@]}"; do wait "$pid" 2>/dev/null || true; done
}

# add_switch [OPTION...]: a bridge of its own, $me-sw, with these options.
add_switch() {
    ip netns add "$me-sw" || skip "no network namespaces here"
    ip -n "$me-sw" link add br0 type bridge "$@" || skip "no such bridge here: $*"
    ip -n "$me-sw" link set br0 up
}

# add_host N [MTU [QUEUES]]: 10.9.0.N+1 on eth0, which can have so many queues, plugged into the switch.
add_host() {
    ip netns add "$me-h$1"
    local many=()
    [ "${3:-1}" = 1 ] || many=(numtxqueues "$3" numrxqueues "$3")
    ip link add "p$1" netns "$me-sw" "${many[@]}" type veth peer name eth0 netns "$me-h$1" "${many[@]}"
    ip -n "$me-sw" link set "p$1" mtu "${2:-1500}" master br0 up
    ip -n "$me-h$1" addr add "10.9.0.$(($1 + 1))/24" dev eth0
    ip -n "$me-h$1" link set eth0 mtu "${2:-1500}" up
    ip -n "$me-h$1" link set lo up
}

# What a veth would pass on in one piece, and no wire does.
offloads_off() {
    ip netns exec "$me-sw" ethtool -K "p$1" tso off gso off gro off tx off rx off >/dev/null 2>&1 || true
    ip netns exec "$me-h$1" ethtool -K eth0 tso off gso off gro off tx off rx off >/dev/null 2>&1 || true
}

# run N PROGRAM...: rank R on host R % hosts, and to each its NIC 0 (--hosts 1). PMI's descriptor is inherited; the daemon's abstract
# socket is the one of the namespace that the rank steps into.
run() {
    local n=$1
    shift
    # shellcheck disable=SC2016  # for the rank's shell
    timeout -k 5 120 "$build/nof" run --nofd "$socket" --hosts 1 -n "$n" \
        sh -c 'h=$(($PMI_RANK % $1)); ns=$2-h$h; shift 2; exec ip netns exec "$ns" "$@"' sh "$hosts" "$me" "$@" </dev/null
}

# nothing_left WHAT: left(), which the test defines, names the processes that are there still, and soon none.
nothing_left() {
    for ((i = 0; i < 200; i++)); do
        [ -n "$(left)" ] || return 0
        sleep 0.05
    done
    left >"$work/left.log"
    fail "$1: processes are left"
}

# What heat3d prints that does not depend on when.
answer() { grep -E '^ *(residual|checksum) '; }

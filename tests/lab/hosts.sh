#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: hosts.sh BUILD DRIVER HOSTS RATE [MTU [OFFLOADS]]
# heat3d and replay between HOSTS network namespaces on one bridge, one nofd with a port of DRIVER in each ("A+B": of A on
# hosts 0, 2, ..., of B on the others), the links limited to RATE ("none": not), of MTU 1500, their offloads off unless "on".
# heat3d must print the answer that it prints alone, replay verifies every byte; afterwards no XDP program, pin, process or
# namespace of ours is left.
set -eu
build=$1 driver=$2 hosts=$3 rate=$4 mtu=${5:-1500} offloads=${6:-off}
me=noflab$$-t
. "$(dirname "$0")/testbed.sh"

down() {
    stop_nofds
    for ((i = 0; i < hosts; i++)); do ip netns del "$me-h$i" 2>/dev/null || true; done
    ip netns del "$me-sw" 2>/dev/null || true
    rm -rf "$work"
}

plug_host() {
    add_host "$1" "$mtu"
    [ "$offloads" = on ] || offloads_off "$1"
    if [ "$rate" != none ]; then
        ip netns exec "$me-sw" tc qdisc add dev "p$1" root tbf rate "$rate" burst 32kb limit 60kb
        ip netns exec "$me-h$1" tc qdisc add dev eth0 root tbf rate "$rate" burst 32kb limit 1mb
    fi
}

start_host() {
    local i=$1 port
    case $((i % 2)) in 0) port=${driver%+*} ;; *) port=${driver#*+} ;; esac
    case $port in udp) port=udp:eth0 ;; *) port=$port,iface=eth0 ;; esac
    [ "$rate" = none ] || port="$port,rate=$rate"
    start_nofd "$i" "$port"
    ip netns exec "$me-h$i" "$build/nof" status --control "$socket.ctl" --json >"$work/status$i.log" ||
        fail "host $i has no status"
    grep -Eq "\"mtu\": *$mtu\b" "$work/status$i.log" || fail "host $i does not have MTU $mtu"
}

[ "$(id -u)" = 0 ] || skip "network namespaces and AF_XDP need root"
for tool in ip tc ethtool; do
    command -v $tool >/dev/null || skip "$tool is missing: apt install iproute2 ethtool"
done
down_at_exit
add_switch
for ((i = 0; i < hosts; i++)); do plug_host "$i"; done
for ((i = 0; i < hosts; i++)); do start_host "$i"; done


heat=(--size 32 --steps 40)
expected=$("$build/nof" run --hosts 1 -n 1 "$build/examples/heat3d" "${heat[@]}" </dev/null | answer)
[ -n "$expected" ] || fail "heat3d alone prints no answer"
for n in "$hosts" $((2 * hosts)); do
    run "$n" "$build/examples/heat3d" "${heat[@]}" >"$work/heat3d.log" 2>&1 || fail "heat3d, $n ranks"
    [ "$(answer <"$work/heat3d.log")" = "$expected" ] || fail "heat3d prints another answer with $n ranks"
done
run 4 "$build/examples/replay" >"$work/replay.log" 2>&1 || fail "replay"
tail -n 5 "$work/replay.log"

for pid in "${nofds[@]}"; do kill -TERM "$pid"; done
for pid in "${nofds[@]}"; do wait "$pid" || fail "nofd ended with code $?"; done
nofds=()
for ((i = 0; i < hosts; i++)); do
    if ip -n "$me-h$i" -d link show eth0 | grep -q 'prog/xdp'; then fail "host $i still has an XDP program"; fi
done
echo "$hosts hosts, $driver, links $rate, MTU $mtu, offloads $offloads: same answer, every byte"

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

add_host() {
    local i=$1 end ns dev
    ip netns add "$me-h$i"
    ip link add "p$i" netns "$me-sw" type veth peer name eth0 netns "$me-h$i"
    ip -n "$me-sw" link set "p$i" mtu "$mtu" master br0 up
    ip -n "$me-h$i" addr add "10.9.0.$((i + 1))/24" dev eth0
    ip -n "$me-h$i" link set eth0 mtu "$mtu" up
    ip -n "$me-h$i" link set lo up
    for end in "$me-sw p$i" "$me-h$i eth0"; do
        read -r ns dev <<<"$end"
        [ "$offloads" = on ] ||
            ip netns exec "$ns" ethtool -K "$dev" tso off gso off gro off tx off rx off >/dev/null 2>&1 || true
    done
    if [ "$rate" != none ]; then
        ip netns exec "$me-sw" tc qdisc add dev "p$i" root tbf rate "$rate" burst 32kb limit 60kb
        ip netns exec "$me-h$i" tc qdisc add dev eth0 root tbf rate "$rate" burst 32kb limit 1mb
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

# run N PROGRAM...: rank R on host R % HOSTS, and to each its NIC 0 (--hosts 1). PMI's descriptor is inherited; the daemon's abstract socket
# is
# the one of the namespace that the rank steps into.
run() {
    local n=$1
    shift
    # shellcheck disable=SC2016  # for the rank's shell
    timeout -k 5 120 "$build/nof" run --nofd "$socket" --hosts 1 -n "$n" \
        sh -c 'h=$(($PMI_RANK % $1)); ns=$2-h$h; shift 2; exec ip netns exec "$ns" "$@"' sh "$hosts" "$me" "$@" </dev/null
}

[ "$(id -u)" = 0 ] || skip "network namespaces and AF_XDP need root"
for tool in ip tc ethtool; do
    command -v $tool >/dev/null || skip "$tool is missing: apt install iproute2 ethtool"
done
down_at_exit
ip netns add "$me-sw" || skip "no network namespaces here"
ip -n "$me-sw" link add br0 type bridge || skip "no bridges here"
ip -n "$me-sw" link set br0 up
for ((i = 0; i < hosts; i++)); do add_host "$i"; done
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

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: hosts.sh BUILD DRIVER HOSTS RATE [MTU [OFFLOADS [CORES [QUEUES]]]]
# heat3d and replay between HOSTS network namespaces on one bridge, one nofd with a port of DRIVER in each ("A+B": of A on
# hosts 0, 2, ..., of B on the others), the links limited to RATE ("none": not), of MTU 1500, their offloads off unless "on".
# Each NIC has one core, or CORES, and one queue, or QUEUES: of veths, and of the driver. With several of them, cores meet in
# the NIC and by the device, and hand over what came to another one.
# heat3d must print the answer that it prints alone, replay verifies every byte; afterwards no XDP program, pin, process or
# namespace of ours is left.
set -eu
build=$1 driver=$2 hosts=$3 rate=$4 mtu=${5:-1500} offloads=${6:-off} cores=${7:-1} queues=${8:-1}
me=noflab$$-t
. "$(dirname "$0")/testbed.sh"

down() {
    stop_nofds
    for ((i = 0; i < hosts; i++)); do ip netns del "$me-h$i" 2>/dev/null || true; done
    ip netns del "$me-sw" 2>/dev/null || true
    rm -rf "$work"
}

plug_host() {
    add_host "$1" "$mtu" "$queues"
    [ "$offloads" = on ] || offloads_off "$1"
    [ "$queues" = 1 ] || ip netns exec "$me-h$1" ethtool -L eth0 combined "$queues" 2>/dev/null ||
        ip netns exec "$me-h$1" ethtool -L eth0 rx "$queues" tx "$queues" || skip "veth has no queues here"
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
    case $port in net_af_packet*) [ "$cores" = 1 ] || port=$port,qpairs=$queues ;; esac
    start_nofd "$i" "$port" --cores-per-nic "$cores"
    ip netns exec "$me-h$i" "$build/nof" status --control "$socket.ctl" --json >"$work/status$i.log" ||
        fail "host $i has no status"
    grep -Eq "\"mtu\": *$mtu\b" "$work/status$i.log" || fail "host $i does not have MTU $mtu"
}

# Each core has had its ranks' frames, and what came to another one has been handed over.
check_cores() {
    ip netns exec "$me-h$1" "$build/nof" status --control "$socket.ctl" --json >"$work/status$1.log" || fail "host $1 has no status"
    ip netns exec "$me-h$1" "$build/nof" stats --control "$socket.ctl" --json >"$work/stats$1.log" || fail "host $1 has no stats"
    python3 - "$work/status$1.log" "$work/stats$1.log" "$cores" "$queues" >"$work/cores$1.log" <<'END' || fail "host $1: cores"
import json, sys
status, stats = (json.load(open(path)) for path in sys.argv[1:3])
cores, queues = int(sys.argv[3]), int(sys.argv[4])
nic, row = status["nics"][0], stats["rows"][0]
print(nic["queues"])
for c in row["cores"]:
    print({k: v for k, v in c["counters"].items() if k.startswith("cores.") or k in ("port.rx_frames", "port.tx_frames")})
assert len(nic["cores"]) == len(row["cores"]) == cores
assert nic["queues"]["device"] == queues, nic["queues"]
assert nic["queues"]["spread"] == ("first" if queues == 1 else "kernel"), nic["queues"]
assert [c["udp_port"] for c in nic["cores"]] == [48620 + i for i in range(cores)]
counted = [c["counters"] for c in row["cores"]]
assert all(c["port.rx_frames"] > 0 and c["port.tx_frames"] > 0 for c in counted)
assert row["counters"]["cores.handed"] == sum(c["cores.handed"] for c in counted) > 0
assert all((c["cores.sent_by_other"] > 0) == (i >= queues) for i, c in enumerate(counted))
END
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
counts=("$hosts" $((2 * hosts)))
[ "$cores" -le 2 ] || counts+=($((cores * hosts))) # one for each core
for n in "${counts[@]}"; do
    run "$n" "$build/examples/heat3d" "${heat[@]}" >"$work/heat3d.log" 2>&1 || fail "heat3d, $n ranks"
    [ "$(answer <"$work/heat3d.log")" = "$expected" ] || fail "heat3d prints another answer with $n ranks"
done
run 4 "$build/examples/replay" >"$work/replay.log" 2>&1 || fail "replay"
tail -n 5 "$work/replay.log"

if [ "$cores" -gt 1 ]; then
    for ((i = 0; i < hosts; i++)); do check_cores "$i"; done
fi
for pid in "${nofds[@]}"; do kill -TERM "$pid"; done
for pid in "${nofds[@]}"; do wait "$pid" || fail "nofd ended with code $?"; done
nofds=()
for ((i = 0; i < hosts; i++)); do
    if ip -n "$me-h$i" -d link show eth0 | grep -q 'prog/xdp'; then fail "host $i still has an XDP program"; fi
done
echo "$hosts hosts, $driver, links $rate, MTU $mtu, offloads $offloads, $cores core(s), $queues queue(s): same answer, every byte"

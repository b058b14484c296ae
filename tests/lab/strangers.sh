#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: strangers.sh BUILD
# Two hosts on net_af_xdp, and a stranger on the cable of the first who sends frames of every kind that the XDP program drops,
# with and without VLAN tag, while a job runs: each kind is counted, none reaches the NIC core, and every byte of the job is right,
# by multicast as well. What is for another address of the host goes to the kernel, as ARP does. Who has the UDP port of the
# address already is not robbed of its datagrams: the daemon does not start, and says why.
set -eu
build=$1
here=$(dirname "$0")
me=noflab$$-x
hosts=3
. "$here/testbed.sh"
talker=

down() {
    [ -z "$talker" ] || { kill "$talker" 2>/dev/null && wait "$talker" 2>/dev/null; } || true
    stop_nofds
    for ((i = 0; i < hosts; i++)); do ip netns del "$me-h$i" 2>/dev/null || true; done
    ip netns del "$me-sw" 2>/dev/null || true
    rm -rf "$work"
}

# Of host 0, into a file of names and values.
take_counters() {
    ip netns exec "$me-h0" "$build/nof" stats --all --json --control "$socket.ctl" >"$work/stats.json" || fail "no counters"
    python3 -c 'import json, sys
for row in json.load(sys.stdin)["rows"][0]["counters"].items(): print(*row)' <"$work/stats.json" >"$work/counters"
}

counter() { sed -n "s/^$1 //p" "$work/counters"; }

[ "$(id -u)" = 0 ] || skip "network namespaces and AF_XDP need root"
for tool in ip ethtool python3; do
    command -v $tool >/dev/null || skip "$tool is missing: apt install iproute2 ethtool python3"
done
down_at_exit
add_switch
for ((i = 0; i < hosts; i++)); do add_host "$i" && offloads_off "$i"; done

# Somebody has the port.
coproc holder { exec ip netns exec "$me-h0" python3 "$here/strangers.py" hold 10.9.0.1; }
read -r -t 60 _ <&"${holder[0]}" || fail "nobody holds the port"
ip netns exec "$me-h0" "$build/nofd" --port net_af_xdp,iface=eth0 --socket "$socket" >"$work/refused.log" 2>&1 </dev/null &&
    fail "a daemon takes another one's datagrams"
grep -q "another program has UDP port 48620 of 10.9.0.1" "$work/refused.log" || fail "no sentence for a port that is taken"
pid=$holder_PID
echo >&"${holder[1]}"
wait "$pid" || true

for ((i = 0; i < hosts; i++)); do start_nofd "$i" net_af_xdp,iface=eth0; done
for ((i = 0; i < hosts; i++)); do
    ip netns exec "$me-h$i" "$build/nof" set multicast=on --control "$socket.ctl" >/dev/null || fail "no multicast on host $i"
done
mac=$(ip netns exec "$me-h0" cat /sys/class/net/eth0/address)
rounds=400
ip netns exec "$me-sw" python3 "$here/strangers.py" send p0 "$mac" 10.9.0.1 $rounds &
talker=$!
run 6 "$build/examples/replay" >"$work/replay.log" 2>&1 || fail "replay beside strangers"
export NOF_COLL_TABLE="$here/../mpi/tables/multicast.table"
run 3 "$build/tests/mpi/mpi_coll_multicast" asked >"$work/multicast.log" 2>&1 || fail "broadcasts by multicast beside strangers"
wait "$talker" || fail "the stranger"
talker=
take_counters
for kind in conn hello group version length short fragment options; do
    n=$(counter "xdp.drop_$kind")
    [ "$n" -ge $rounds ] || fail "xdp.drop_$kind is $n, and $rounds were sent"
done
for kind in job version length foreign; do
    n=$(counter "drop.$kind")
    [ "$n" = 0 ] || fail "$n frames reached the NIC core: drop.$kind"
done
# Of the job's own: late ones of a path that was closed are answered, not dropped in front.
[ "$(counter drop.conn)" -lt 50 ] || fail "strangers reached the NIC core: drop.conn is $(counter drop.conn)"
[ "$(counter mcast.tx_frames)" -gt 0 ] || fail "nothing was multicast"
[ "$(counter port.rx_frames)" -gt 1000 ] || fail "the job did not go by this NIC"

# What is for others.
ip -n "$me-h0" addr add 10.9.0.101/24 dev eth0
coproc hearer { exec ip netns exec "$me-h0" python3 "$here/strangers.py" hear 10.9.0.101; }
exec {ear}<&"${hearer[0]}"
read -r -t 60 _ <&"$ear" || fail "nobody listens"
ip netns exec "$me-h1" python3 "$here/strangers.py" say 10.9.0.101 || fail "nobody speaks"
read -r -t 60 heard <&"$ear" || fail "a datagram for another address of the host was taken away"
[ "$heard" = heard ] || fail "no datagram for another address"
ip netns exec "$me-h0" "$build/nof" stats --control "$socket.ctl" >&2
echo "$rounds of each kind were dropped and counted, every byte of the job is right"

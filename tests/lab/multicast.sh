#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: multicast.sh BUILD DRIVER snoop|drop
# Broadcasts and scatters by multicast between four hosts, namespaces on one bridge, beside their kernels. snoop: the bridge snoops
# IGMP and has a querier; all go by multicast, and the link of a fifth host, which joins nothing, does not carry what the four
# multicast. drop: the bridge forwards no multicast; all go by unicast. The bytes are right, both times.
set -eu
build=$1 driver=$2 switch=$3
hosts=4 bystander=4
here=$(dirname "$0")
me=noflab$$-m
. "$here/testbed.sh"

down() {
    stop_nofds
    for ((i = 0; i <= bystander; i++)); do ip netns del "$me-h$i" 2>/dev/null || true; done
    ip netns del "$me-sw" 2>/dev/null || true
    rm -rf "$work"
}

# A bridge that has become a querier floods until members have had the time to answer: a tenth of a second, and not ten.
plug_all() {
    add_switch mcast_snooping 0
    for ((i = 0; i <= bystander; i++)); do add_host "$i" && offloads_off "$i"; done
    if [ "$switch" = snoop ]; then
        ip -n "$me-sw" link set br0 type bridge mcast_query_response_interval 10
        ip -n "$me-sw" link set br0 type bridge mcast_snooping 1
        ip -n "$me-sw" link set br0 type bridge mcast_querier 1
    else
        for ((i = 0; i <= bystander; i++)); do
            bridge -n "$me-sw" link set dev "p$i" mcast_flood off || skip "no bridge here that drops multicast"
        done
    fi
}

# Bytes that the switch has sent to a host.
sent_to() { ip netns exec "$me-sw" cat "/sys/class/net/p$1/statistics/tx_bytes"; }

counter() {
    ip netns exec "$me-h0" "$build/nof" stats --json --control "$socket.ctl" | tr ',{' '\n\n' |
        sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" | head -n 1
}

# run_all PROGRAM WORD: a rank on each host.
run_all() { run "$hosts" "$@" >"$work/job.log" 2>&1 || fail "$1 $2, switch: $switch"; }

[ "$(id -u)" = 0 ] || skip "network namespaces and AF_XDP need root"
for tool in ip bridge ethtool; do
    command -v $tool >/dev/null || skip "$tool is missing: apt install iproute2 ethtool"
done
down_at_exit
plug_all
for ((i = 0; i < hosts; i++)); do
    start_nofd "$i" "$driver,iface=eth0"
    ip netns exec "$me-h$i" "$build/nof" set multicast=on --control "$socket.ctl" >/dev/null || fail "no multicast on host $i"
done

export NOF_COLL_TABLE="$here/../mpi/tables/multicast.table"
case $switch in snoop) way=asked ;; *) way=unicast ;; esac
before=$(sent_to $bystander)
run_all "$build/tests/mpi/mpi_coll_multicast" $way
run_all "$build/tests/mpi/mpi_scatter_multicast" $way
member=$(sent_to 1) beside=$(($(sent_to $bystander) - before))
if [ "$switch" = snoop ]; then
    [ "$(counter mcast.tx_frames)" -gt 1000 ] || fail "hardly anything was multicast"
    # All that is flooded is for everybody: queries, ARP, and groups' first frames before the switch has heard who is in.
    [ $((beside * 20)) -lt "$member" ] || fail "the switch sent $beside bytes to a host that is in no group, $member to one that is"
fi
echo "multicast over a switch that says $switch, $driver: right, $member bytes to a member, $beside to a bystander"

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: interface.sh BUILD
# `nof up --port eth0` takes a network interface by its name alone: by AF_XDP, and where that does not serve by
# AF_PACKET, which the log says. It carries the interface's MTU; where it carries less, the log says that.
set -eu
build=$1
me=noflab$$-i
work=$(mktemp -d)

down() { ip netns exec "$me" "$build/nof" down --control "$work/a.sock.ctl" >/dev/null 2>&1 || true; }
trap 'down; ip netns del "$me" 2>/dev/null || true; rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $1"
    for file in status a.log; do
        [ -s "$work/$file" ] && echo "--- $file" && tail -n 20 "$work/$file"
    done
    exit 1
}

up() {
    down
    rm -f "$work/a.log"
    timeout 60 ip netns exec "$me" "$build/nof" up --socket "$work/a.sock" "$@" >"$work/status" 2>&1
}

# status DRIVER MTU
status() {
    grep -Eq "net_af_$1.* 10\.9\.7\.1 +$2 " "$work/status" || fail "not net_af_$1 at MTU $2"
}

said() { grep -q "$1" "$work/a.log" || fail "the log does not say: $1"; }

mtu() { ip -n "$me" link set eth0 mtu "$1" && ip -n "$me" link set peer0 mtu "$1"; }

if [ "$(id -u)" != 0 ] || ! ip netns add "$me" 2>/dev/null || ! ip -n "$me" link add eth0 type veth peer name peer0; then
    echo "SKIP: needs root, network namespaces and veth"
    exit 77
fi
ip netns exec "$me" true 2>/dev/null || { echo "SKIP: no mounts in a network namespace here (a container or a chroot?)"; exit 77; }
ip -n "$me" addr add 10.9.7.1/24 dev eth0
ip -n "$me" link set eth0 up
ip -n "$me" link set peer0 up

up --port eth0 || fail "not up"
status '(xdp|packet)' 1500
xdp=packet
grep -q net_af_xdp "$work/status" && xdp=xdp

# veth takes no XDP at such an MTU.
mtu 9000
up --port eth0 || fail "not up at MTU 9000"
status packet 9000
said "eth0: AF_PACKET, for AF_XDP does not serve: "
up --port eth0 --mtu 9000 || fail "not up with --mtu 9000"
status packet 9000
up --port net_af_packet,iface=eth0 --mtu 3000 || fail "not up with --mtu 3000"
status packet 3000
said "eth0: MTU 3000 of the interface's 9000, as asked for"
# Without --memory it counted enough; with too little it says how much that is.
up --port net_af_packet,iface=eth0 -- --memory 64 && fail "up with too little memory"
least=$(sed -n 's/.*--memory MB, at least \([0-9]*\) per NIC core.*/\1/p' "$work/status")
up --port net_af_packet,iface=eth0 -- --memory "${least:-0}" || fail "the memory that was named does not suffice"
status packet 9000
mtu 9500
up --port net_af_packet,iface=eth0 || fail "not up at MTU 9500"
status packet 9216
said "eth0: MTU 9216 of the interface's 9500, the most that this port carries"

mtu 1500
up --port eth0 --mtu 9000 && fail "up with an MTU that the interface does not have"
grep -q "ip link set eth0 mtu 9000" "$work/status" || fail "no command for the interface's MTU"

[ $xdp = xdp ] || { echo "SKIP: the rest needs AF_XDP, which this machine does not have"; exit 77; }
mtu 9000
up --port net_af_xdp,iface=eth0 && fail "XDP at MTU 9000"
grep -q "the kernel says: .*MTU is too large" "$work/status" || fail "not the kernel's reason"
grep -q "net_af_packet,iface=eth0" "$work/status" || fail "no other port named"
mtu 3450 # which veth takes, and a chunk of AF_XDP does not hold
up --port eth0 || fail "not up at MTU 3450"
status xdp '3[34][0-9]*'
said "eth0: MTU 3[34][0-9]* of the interface's 3450, the most that this port carries"

# Which hook, and that frames are copied though zero copy was asked for.
mtu 1500
up --port net_af_xdp,iface=eth0,force_copy=0 || fail "not up with force_copy=0"
for file in status a.log; do
    grep -q "the XDP program is on the generic hook, .*; frames are copied, " "$work/$file" || fail "no word of hook and copies"
done

# Queues that AF_XDP would not see. A new veth, for some kernels give one no more than it was made with.
down
ip -n "$me" link add eth1 numrxqueues 2 numtxqueues 2 type veth peer name peer1 numrxqueues 1 numtxqueues 1
ip -n "$me" addr add 10.9.6.1/24 dev eth1
if ip netns exec "$me" ethtool -L eth1 rx 2 tx 2 2>/dev/null; then
    up --port net_af_xdp,iface=eth1 --cores-per-nic 2 && fail "up on a queue of two"
    grep -q 'Type: ethtool -L eth1 rx 1 tx 1; ' "$work/status" || fail "no command for fewer queues"
    ip netns exec "$me" ethtool -L eth1 rx 1 tx 1
    up --port net_af_xdp,iface=eth1 --cores-per-nic 2 || fail "not up with two cores on one queue"
    down
fi

# Whose program is there already is named, and what to type.
occupy() { ip netns exec "$me" "$build/tests/lab/lab-occupy" eth0 "$@"; }
down
occupy native others && up --port net_af_xdp,iface=eth0 && fail "up beside another XDP program"
grep -q 'eth0 has another XDP program already: "others", number [0-9]* of the kernel, and' "$work/status" || fail "not whose it is"
grep -q 'Type: ip link set dev eth0 xdp off, ' "$work/status" || fail "no command"
up --port eth0 || fail "not up by AF_PACKET beside another XDP program"
status packet 1500
said 'AF_PACKET, for AF_XDP does not serve: eth0 has another XDP program already: "others"'
ip -n "$me" link set dev eth0 xdp off
occupy generic xdp_dispatcher && up --port net_af_xdp,iface=eth0 && fail "up beside a dispatcher"
grep -q "libxdp's takes others behind it" "$work/status" || fail "no word of libxdp"
grep -q "Type: xdp-loader unload eth0 --all, " "$work/status" || fail "no command for a dispatcher"

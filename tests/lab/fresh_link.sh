#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: fresh_link.sh BUILD PORT
# Two hosts on one veth pair, whose links come up just before a job. The kernel says so of the second one up to a second late, which is
# longer than a link may be down: the job runs all the same.
set -eu
build=$1
port=$2
me=noflab$$-f
. "$(dirname "$0")/testbed.sh"

down() {
    stop_nofds
    for i in 0 1; do ip netns del "$me-h$i" 2>/dev/null || true; done
    rm -rf "$work"
}

# up DEVICE: on both hosts.
up() {
    for i in 0 1; do ip -n "$me-h$i" link set "$1" up; done
}

# Until the kernel says that eth1 of host 1 runs: it has then dealt with all links, and does so again in a second. Asked as nofd asks
# first, since other questions have it look at the carrier.
links_are_dealt_with() {
    ip netns exec "$me-h1" python3 -c '
import fcntl, socket, struct, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
SIOCGIFFLAGS, IFF_RUNNING = 0x8913, 0x40
def flags():
    return struct.unpack("16sH22x", fcntl.ioctl(s, SIOCGIFFLAGS, struct.pack("16sH22x", b"eth1", 0)))[1]
while not flags() & IFF_RUNNING:
    time.sleep(0.001)
'
}

[ "$(id -u)" = 0 ] || skip "network namespaces need root"
for tool in ip python3; do
    command -v $tool >/dev/null || skip "$tool is missing: apt install iproute2 python3"
done
down_at_exit
for i in 0 1; do ip netns add "$me-h$i" || skip "no network namespaces here"; done
ip netns exec "$me-h0" true 2>/dev/null || skip "no mounts in a network namespace here (a container or a chroot?)"
# A change is urgent, and told at once, where the two ends have different numbers.
for n in 0 1; do ip link add "eth$n" netns "$me-h0" type veth peer name "eth$n" netns "$me-h1" || skip "no veth here"; done
for i in 0 1; do ip -n "$me-h$i" addr add "10.9.0.$((i + 1))/24" dev eth0; done
case $port in
udp) port=udp:eth0 ;;
*) port=$port,iface=eth0 ;;
esac
for i in 0 1; do start_nofd "$i" "$port"; done
up eth1
links_are_dealt_with
up eth0
# shellcheck disable=SC2016  # for the rank's shell
timeout -k 5 60 "$build/nof" run --nofd "$socket" --hosts 1 -n 2 \
    sh -c 'ns=$1-h$PMI_RANK; shift; exec ip netns exec "$ns" "$@"' sh "$me" "$build/bench/pt2pt_mpi" 700 8 \
    >"$work/job.log" 2>&1 </dev/null || fail "the job ends with code $?"

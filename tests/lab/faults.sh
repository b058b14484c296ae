#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: faults.sh BUILD PORT
# Two hosts with names of their own (network namespaces), a daemon with a port of kind PORT (udp, net_af_xdp) in each. Their
# clocks may differ by days: heat3d prints the answer that it prints alone. A host that is not reached, and a NIC that
# disappears under a job, end the job soon (ten seconds are promised, of a machine that has time), with a sentence.
set -eu
build=$1 port=$2
me=noflab$$-f
. "$(dirname "$0")/testbed.sh"
in_time=30 days=1000000
who='rank [01] of MPI_COMM_WORLD \(pid [0-9]+ on host[01]\)'

down() {
    stop_nofds
    for i in 0 1; do ip netns del "$me-h$i" 2>/dev/null || true; done
    rm -rf "$work"
}

[ "$(id -u)" = 0 ] || skip "network namespaces and other clocks need root"
for tool in ip ethtool unshare; do
    command -v $tool >/dev/null || skip "$tool is missing: apt install iproute2 ethtool util-linux"
done
unshare --uts --time --monotonic $days true 2>/dev/null || skip "this kernel has no namespaces for clocks"
down_at_exit

# Both new; what was there goes.
hosts() {
    stop_nofds
    nofds=()
    for i in 0 1; do ip netns del "$me-h$i" 2>/dev/null || true; done
    for i in 0 1; do
        ip netns add "$me-h$i" || skip "no network namespaces here"
        ip netns exec "$me-h$i" true 2>/dev/null || skip "no mounts in a network namespace here (a container or a chroot?)"
    done
    ip link add eth0 netns "$me-h0" type veth peer name eth0 netns "$me-h1" || skip "no veth here"
    for i in 0 1; do
        ip -n "$me-h$i" addr add "10.9.0.$((i + 1))/24" dev eth0
        ip -n "$me-h$i" link set eth0 up
        ip -n "$me-h$i" link set lo up
        ip netns exec "$me-h$i" ethtool -K eth0 tso off gso off gro off tx off rx off >/dev/null 2>&1 || true
    done
    case $port in udp) spec=udp:eth0 ;; *) spec=$port,iface=eth0 ;; esac
    rm -f "$work"/ready*
    start_nofd 0 "$spec"
    later=("unshare" "--time" "--monotonic" "$days" "--boottime" "$days")
    mkfifo "$work/ready1"
    ip netns exec "$me-h1" "${later[@]}" "$build/nofd" --port "$spec" --socket "$socket" --ready-fd 3 \
        3>"$work/ready1" >"$work/nofd1.log" 2>&1 </dev/null &
    nofds+=($!)
    read -r -t 60 _ <"$work/ready1" || fail "nofd on host 1 does not become ready"
}

# run LOG PROGRAM...: a rank on each host.
run() {
    local log=$1
    shift
    # shellcheck disable=SC2016  # for the rank's shells
    timeout -k 5 120 "$build/nof" run --nofd "$socket" --hosts 1 -n 2 sh -c '
        h=$PMI_RANK ns=$1-h$PMI_RANK days=$2; shift 2
        [ "$h" = 0 ] || set -- unshare --time --monotonic "$days" --boottime "$days" "$@"
        exec ip netns exec "$ns" unshare --uts sh -c "hostname host$h && exec \"\$@\"" sh "$@"' \
        sh "$me" "$days" "$@" >"$work/$log.log" 2>&1 </dev/null
}

# ended WHAT SINCE LOG SENTENCE
ended() {
    local took=$((SECONDS - $2))
    [ "$took" -le $in_time ] || fail "$1: the job ended after $took s"
    grep -Eq "$4" "$work/$3.log" || fail "$1: not the sentence that is to be there: $4"
}

small=(--size 32 --steps 40)
expected=$("$build/nof" run --hosts 1 -n 1 "$build/examples/heat3d" "${small[@]}" </dev/null | answer)
[ -n "$expected" ] || fail "heat3d alone prints no answer"
hosts
run clocks "$build/examples/heat3d" "${small[@]}" || fail "heat3d with clocks that differ"
[ "$(answer <"$work/clocks.log")" = "$expected" ] || fail "heat3d prints another answer with clocks that differ"

# Whoever has that MAC address is not here: silence, and no error of the kernel.
ip -n "$me-h0" neigh replace 10.9.0.2 lladdr 02:00:00:00:00:99 dev eth0 nud permanent
ip -n "$me-h1" neigh replace 10.9.0.1 lladdr 02:00:00:00:00:99 dev eth0 nud permanent
if [ "$port" = udp ]; then # others have MAC addresses from the ranks' cards
    since=$SECONDS
    if run silent "$build/examples/heat3d" "${small[@]}"; then fail "heat3d without a way"; fi
    ended "a host that is not reached" "$since" silent \
        "$who (is dead: .*, or its host is not reached: see whether ping does|cannot be reached: the link of this NIC is down, or)"
fi

hosts
run gone "$build/examples/heat3d" --size 48 --steps 1000000 &
job=$!
for ((i = 0; ; i++)); do
    frames=$(ip netns exec "$me-h0" "$build/nof" stats --json --control "$socket.ctl" | tr ',{' '\n\n' |
        sed -n 's/.*"port.tx_frames": *\([0-9]*\).*/\1/p' | head -n 1)
    [ "${frames:-0}" -lt 500 ] || break
    [ "$i" -lt 600 ] && kill -0 "$job" 2>/dev/null || fail "the job for a NIC to disappear in does not begin"
done
since=$SECONDS
ip -n "$me-h1" link del eth0
if wait "$job"; then fail "a job whose NIC disappeared ends well"; fi
ended "a NIC that disappears" "$since" gone \
    "$who (cannot be reached: the link of this NIC is down|is dead: its process or its NIC is gone)|the device of our own NIC has gone"
for i in 0 1; do
    for ((look = 0; look < 200; look++)); do
        ! grep -qE 'link down|has gone' "$work/nofd$i.log" || break
        sleep 0.05
    done
    grep -qE 'link down|has gone' "$work/nofd$i.log" || fail "nofd on host $i does not say that its link is down"
    kill -TERM "${nofds[i]}"
    wait "${nofds[i]}" || fail "nofd on host $i, whose NIC is gone, ended with code $?"
done
nofds=()
echo "ports of $port: clocks that differ, silence, a NIC that disappears: as it must be"

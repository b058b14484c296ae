#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: udp.sh BUILD
# Two hosts with UDP ports and a router between them, offloads on. heat3d must print the answer that it prints alone while
# the way between them loses frames, while somebody forges ICMP that tells of a narrow way, and while its MTU shrinks under a
# running job; the next job finds the way narrow and uses it as it is.
set -eu
build=$1
me=noflab$$-u
. "$(dirname "$0")/testbed.sh"

down() {
    stop_nofds
    for ns in h0 h1 r; do ip netns del "$me-$ns" 2>/dev/null || true; done
    rm -rf "$work"
}

counter() {
    ip netns exec "$me-h$1" "$build/nof" stats --json --control "$socket.ctl" | tr ',{' '\n\n' |
        sed -n "s/.*\"$2\": *\([0-9]*\).*/\1/p" | head -n 1
}

# run N PROGRAM...: rank R on host R % 2.
run() {
    local n=$1
    shift
    # shellcheck disable=SC2016  # for the rank's shell
    timeout -k 5 120 "$build/nof" run --nofd "$socket" --hosts 1 -n "$n" \
        sh -c 'ns=$1-h$(($PMI_RANK % 2)); shift; exec ip netns exec "$ns" "$@"' sh "$me" "$@" </dev/null
}

[ "$(id -u)" = 0 ] || skip "network namespaces need root"
for tool in ip tc; do
    command -v $tool >/dev/null || skip "$tool is missing: apt install iproute2"
done
down_at_exit
ip netns add "$me-r" || skip "no network namespaces here"
ip netns exec "$me-r" true 2>/dev/null || skip "no mounts in a network namespace here (a container or a chroot?)"
ip netns exec "$me-r" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward' || skip "no forwarding here"
for i in 0 1; do
    ip netns add "$me-h$i"
    ip link add "p$i" netns "$me-r" type veth peer name eth0 netns "$me-h$i" || skip "no veth here"
    ip -n "$me-r" addr add "10.9.$i.1/24" dev "p$i"
    ip -n "$me-r" link set "p$i" up
    ip -n "$me-h$i" addr add "10.9.$i.2/24" dev eth0
    ip -n "$me-h$i" link set eth0 up
    ip -n "$me-h$i" link set lo up
    ip -n "$me-h$i" route add default via "10.9.$i.1"
    start_nofd "$i" udp:eth0
done

heat=(--size 48 --steps 3000)
expected=$("$build/nof" run --hosts 1 -n 1 "$build/examples/heat3d" "${heat[@]}" </dev/null | answer)
[ -n "$expected" ] || fail "heat3d alone prints no answer"
small=(--size 32 --steps 40)
small_expected=$("$build/nof" run --hosts 1 -n 1 "$build/examples/heat3d" "${small[@]}" </dev/null | answer)

# Without netem, a buffer that is much too small.
for i in 0 1; do
    ip netns exec "$me-r" tc qdisc add dev "p$i" root netem loss 2% 2>/dev/null ||
        ip netns exec "$me-r" tc qdisc add dev "p$i" root tbf rate 200mbit burst 8kb limit 12kb ||
        skip "this kernel has neither netem nor tbf"
done
run 2 "$build/examples/heat3d" "${small[@]}" >"$work/loss.log" 2>&1 || fail "heat3d with loss"
[ "$(answer <"$work/loss.log")" = "$small_expected" ] || fail "heat3d prints another answer with loss"
run 4 "$build/examples/replay" >"$work/replay.log" 2>&1 || fail "replay with loss"
[ "$(($(counter 0 path.retransmits) + $(counter 1 path.retransmits)))" -gt 0 ] || fail "nothing was sent again"
for i in 0 1; do ip netns exec "$me-r" tc qdisc del dev "p$i" root; done

# Anybody who knows addresses and ports can forge what the kernel believes, and paths do not. Not built: nobody forges.
forged=
if [ -x "$build/bench/stranger" ]; then
    ip netns exec "$me-r" "$build/bench/stranger" narrow 10.9.0.2 10.9.1.2 48620 1 >"$work/stranger.log" 2>&1 &
    forger=$!
    for ((i = 0; i < 200; i++)); do
        ip -n "$me-h0" route get 10.9.1.2 | grep -Eq 'mtu (lock )?552' && forged=yes && break
        kill -0 "$forger" 2>/dev/null || break
        sleep 0.05
    done
    [ -n "$forged" ] || { kill "$forger" 2>/dev/null || true; fail "host 0's kernel does not believe a forged ICMP"; }
    run 2 "$build/examples/heat3d" "${small[@]}" >"$work/forged.log" 2>&1 || fail "heat3d beside forged ICMP"
    kill "$forger"
    wait "$forger" || true
    [ "$(answer <"$work/forged.log")" = "$small_expected" ] || fail "heat3d prints another answer beside forged ICMP"
    [ "$(counter 0 path.narrowed)" = 0 ] || fail "a path has believed forged ICMP"
    [ "$(counter 0 udp.tx_fragmented)" = 0 ] || fail "frames went in fragments for forged ICMP"
    ip -n "$me-h0" route flush cache
fi

# It must be under way when the MTU shrinks: its third phase begins when frames have gone for a while.
before=$(counter 0 port.tx_frames)
run 2 "$build/examples/heat3d" "${heat[@]}" >"$work/narrow.log" 2>&1 &
job=$!
for ((i = 0; $(counter 0 port.tx_frames) < before + 500; i++)); do
    [ "$i" -lt 600 ] && kill -0 "$job" 2>/dev/null || fail "the job was over before its way became narrower"
done
ip -n "$me-h1" link set eth0 mtu 1300 # both ends of the link: the router takes no larger frames from there, either
ip -n "$me-r" link set p1 mtu 1300
kill -0 "$job" 2>/dev/null || fail "the job was over before its way became narrower"
wait "$job" || fail "heat3d while the MTU shrinks"
[ "$(answer <"$work/narrow.log")" = "$expected" ] || fail "heat3d prints another answer when the MTU shrinks"
[ "$(counter 0 path.narrowed)" -gt 0 ] || fail "host 0 did not find out that its way is narrower"
[ "$(counter 0 udp.tx_fragmented)" -gt 0 ] || fail "what had its number did not go in fragments"

run 2 "$build/examples/heat3d" "${small[@]}" >"$work/after.log" 2>&1 || fail "heat3d over the narrower way"
[ "$(answer <"$work/after.log")" = "$small_expected" ] || fail "heat3d prints another answer over the narrower way"

# A handshake is of 576 bytes at least: it goes in fragments, and that takes few calls more than others.
ip -n "$me-h1" link set eth0 mtu 552
ip -n "$me-r" link set p1 mtu 552
before=$(counter 0 udp.tx_fragmented) calls=$(counter 0 udp.tx_calls) frames=$(counter 0 port.tx_frames)
run 2 "$build/examples/heat3d" "${small[@]}" >"$work/least.log" 2>&1 || fail "heat3d over a way of 552 bytes"
[ "$(answer <"$work/least.log")" = "$small_expected" ] || fail "heat3d prints another answer over a way of 552 bytes"
[ "$(counter 0 udp.tx_fragmented)" -gt "$before" ] || fail "no fragments went over a way of 552 bytes"
calls=$(($(counter 0 udp.tx_calls) - calls)) frames=$(($(counter 0 port.tx_frames) - frames))
[ "$calls" -le $((4 * frames)) ] || fail "$frames frames over a way of 552 bytes took $calls calls"

ip -n "$me-h0" route del default
ip -n "$me-h0" route add unreachable 10.9.1.0/24
if run 2 "$build/examples/heat3d" "${small[@]}" >"$work/unreachable.log" 2>&1; then fail "heat3d without a way"; fi
grep -q 'the kernel does not send to 10.9.1.2: ' "$work/nofd0.log" || fail "nobody says that host 1 cannot be reached"

for pid in "${nofds[@]}"; do kill -TERM "$pid"; done
for pid in "${nofds[@]}"; do wait "$pid" || fail "nofd ended with code $?"; done
nofds=()
echo "UDP ports over a router: loss, ${forged:+forged ICMP, }MTU 1500 to 1300 and 552, no way: as it must be"

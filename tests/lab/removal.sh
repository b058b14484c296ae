#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: removal.sh BUILD DRIVER [CORES]
# A NIC that goes while a job uses it: the job ends with a sentence, soon (ten seconds are promised, of a machine that has time), the
# daemon says so and answers, and the next job hears why it cannot begin.
set -eu
build=$1
driver=$2
cores=${3:-1}
me=noflab$$-r
work=$(mktemp -d)
job=

down() { ip netns exec "$me" "$build/nof" down --control "$work/a.sock.ctl" >/dev/null 2>&1 || true; }
ended() {
    [ -z "$job" ] || kill "$job" 2>/dev/null || true
    down
    ip netns del "$me" 2>/dev/null || true
    rm -rf "$work"
}
trap ended EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

fail() {
    echo "FAILED: $1"
    for file in up job next status a.log; do
        [ -s "$work/$file" ] && echo "--- $file" && tail -n 20 "$work/$file"
    done
    exit 1
}

if [ "$(id -u)" != 0 ] || ! ip netns add "$me" 2>/dev/null || ! ip -n "$me" link add eth0 type veth peer name peer0; then
    echo "SKIP: needs root, network namespaces and veth"
    exit 77
fi
ip netns exec "$me" true 2>/dev/null || { echo "SKIP: no mounts in a network namespace here (a container or a chroot?)"; exit 77; }
ip -n "$me" addr add 10.9.8.1/24 dev eth0
ip -n "$me" link set eth0 up
ip -n "$me" link set peer0 up

if ! timeout 60 ip netns exec "$me" "$build/nof" up --port "$driver,iface=eth0" --cores-per-nic "$cores" --socket "$work/a.sock" \
    >"$work/up" 2>&1; then
    grep -q 'has no AF_XDP sockets' "$work/up" && { echo "SKIP: no AF_XDP here"; exit 77; }
    fail "not up"
fi
timeout 100 ip netns exec "$me" "$build/nof" run --nofd "$work/a.sock" -n 2 "$build/examples/heat3d" --size 16 --steps 1000000 \
    >"$work/job" 2>&1 &
job=$!
for _ in $(seq 600); do
    ip netns exec "$me" "$build/nof" status --json --nofd "$work/a.sock" >"$work/status" 2>&1 || true
    [ "$(grep -c '"state": "live"' "$work/status")" = 2 ] && break
    kill -0 "$job" 2>/dev/null || fail "the job has ended by itself"
    sleep 0.1
done
[ "$(grep -c '"state": "live"' "$work/status")" = 2 ] || fail "the ranks do not attach"

began=$(date +%s)
ip -n "$me" link del eth0
status=0
wait "$job" || status=$?
job=
took=$(($(date +%s) - began))
[ "$status" != 0 ] || fail "the job has succeeded"
[ "$took" -le 30 ] || fail "the job has taken $took s to end"
grep -q 'the device of our own NIC has gone' "$work/job" || fail "the job does not say what has happened"
ip netns exec "$me" "$build/nof" status --nofd "$work/a.sock" >"$work/status" 2>&1 || fail "no status"
grep -Eq " gone +0$" "$work/status" || fail "the status does not say that the NIC has gone"
grep -q 'its device eth0 has gone' "$work/a.log" || fail "the log does not say so"
if timeout 60 ip netns exec "$me" "$build/nof" run --nofd "$work/a.sock" -n 2 "$build/examples/heat3d" --steps 1 >"$work/next" 2>&1; then
    fail "a job begins on a NIC that has gone"
fi
grep -q 'has gone (unplugged.*nof down' "$work/next" || fail "the next job does not hear what to type"
timeout 60 ip netns exec "$me" "$build/nof" down --nofd "$work/a.sock" >"$work/up" 2>&1 || fail "the daemon does not end"

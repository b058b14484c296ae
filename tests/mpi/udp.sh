#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: udp.sh BUILD [CORES]
# Two daemons with a UDP port for each of CORES cores (1), on 127.0.0.1 and 127.0.0.2, as an ordinary user: heat3d prints what it
# prints alone and replay verifies every byte, also while strangers send datagrams of all kinds to both ports. A port that is taken is an
# error with a sentence. Started by root, it goes on as nobody.
set -eu
build=$1
cores=${2:-1}
if [ "$(id -u)" = 0 ] && [ -z "${T_UDP_AGAIN:-}" ] &&
    setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$build/nofd" 2>/dev/null; then
    T_UDP_AGAIN=1 HOME=/tmp TMPDIR=/tmp exec setpriv --reuid=65534 --regid=65534 --clear-groups sh "$0" "$@"
fi
unset XDG_RUNTIME_DIR
me=nof-udp-$$
work=$(mktemp -d)
pids=

down() {
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$work"
}
trap down EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
    echo "FAILED: $1"
    for log in "$work"/*.log; do
        echo "--- $(basename "$log")"
        tail -n 20 "$log"
    done
    exit 1
}

for i in 0 1; do
    mkfifo "$work/ready$i"
    # Ports that are free; the second NIC learns the first one's from its ranks' cards.
    "$build/nofd" --port "udp:127.0.0.$((i + 1)):0" --mtu 1500 --cores-per-nic "$cores" --socket "@$me-$i" --ready-fd 3 \
        3>"$work/ready$i" >"$work/nofd$i.log" 2>&1 </dev/null &
    pids="$pids $!"
    timeout 60 head -n 1 "$work/ready$i" >"$work/said" && grep -q ready "$work/said" || fail "nofd $i does not become ready"
    "$build/nof" status --control "@$me-$i.ctl" --json >"$work/status$i.log" || fail "nofd $i has no status"
    grep -q '"driver": *"udp"' "$work/status$i.log" || fail "nofd $i has no UDP port"
done

# run N PROGRAM...: rank R at daemon R % 2.
run() {
    n=$1
    shift
    # shellcheck disable=SC2016  # for the rank's shell
    timeout -k 5 120 "$build/nof" run --nofd "@$me-0" --hosts 1 -n "$n" \
        sh -c 'NOF_SOCKET=$1-$((PMI_RANK % 2)); export NOF_SOCKET; shift; exec "$@"' sh "@$me" "$@" </dev/null
}

# counter DAEMON NAME
counter() {
    "$build/nof" stats --json --control "@$me-$1.ctl" | tr ',{' '\n\n' | sed -n "s/.*\"$2\": *\([0-9]*\).*/\1/p" | head -n 1
}

answer() { grep -E '^ *(residual|checksum) '; }

expected=$("$build/nof" run --hosts 1 -n 1 "$build/examples/heat3d" --size 32 --steps 40 </dev/null | answer)
[ -n "$expected" ] || fail "heat3d alone prints no answer"
for n in 2 4; do
    run $n "$build/examples/heat3d" --size 32 --steps 40 >"$work/heat3d.log" 2>&1 || fail "heat3d, $n ranks"
    [ "$(answer <"$work/heat3d.log")" = "$expected" ] || fail "heat3d prints another answer with $n ranks"
done
run 4 "$build/examples/replay" >"$work/replay.log" 2>&1 || fail "replay"
for i in 0 1; do
    [ "$(counter $i udp.tx_runs)" -gt 0 ] && [ "$(counter $i udp.rx_runs)" -gt 0 ] || fail "daemon $i sent nothing by UDP"
    [ "$(counter $i drop.crc)" = 0 ] || fail "daemon $i got damaged frames"
done

if command -v python3 >/dev/null; then
    ports=$(sed -n 's/.*"port": *"lo:\([0-9]*\)".*/\1/p' "$work/status0.log" "$work/status1.log" | tr '\n' ' ')
    # shellcheck disable=SC2086
    python3 -c '
import os, random, socket, sys
to = [("127.0.0.%d" % (i + 1), int(port)) for i, port in enumerate(sys.argv[1:])]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r = random.Random(1)
parent = os.getppid()
while os.getppid() == parent:
    n = r.choice((0, 1, 31, 32, 60, 200, 1472, 1473, 9000, 60000))
    data = bytearray(r.randbytes(n))
    if n >= 32 and r.random() < 0.8: # as far as the connection
        data[4:8] = bytes((3, r.randrange(40), n & 255, n >> 8))
    s.sendto(data, r.choice(to))
' $ports &
    stranger=$!
    pids="$pids $stranger"
    for i in 0 1; do
        for name in udp.rx_large drop.conn drop.length; do
            tries=0
            until [ "$(counter $i $name)" -gt 0 ]; do
                tries=$((tries + 1))
                [ $tries -lt 1000 ] || fail "no stranger came to daemon $i that counts as $name"
            done
        done
    done
    before0=$(counter 0 drop.conn) before1=$(counter 1 drop.conn)
    run 4 "$build/examples/replay" >"$work/replay.log" 2>&1 || fail "replay beside strangers"
    kill -0 $stranger || fail "the stranger ended before the replay did"
    [ "$(counter 0 drop.conn)" -gt "$before0" ] && [ "$(counter 1 drop.conn)" -gt "$before1" ] ||
        fail "no stranger came during the replay"
    for i in 0 1; do
        [ "$(counter $i drop.proto)" = 0 ] || fail "a stranger reset a path of daemon $i"
    done
fi

if [ "$cores" -gt 1 ]; then
    for i in 0 1; do
        "$build/nof" status --control "@$me-$i.ctl" --json | grep -c '"nic_core"' >"$work/said"
        [ "$(cat "$work/said")" = "$cores" ] || fail "daemon $i has no $cores cores"
    done
fi

port=$(sed -n 's/.*"port": *"lo:\([0-9]*\)".*/\1/p' "$work/status0.log")
if timeout 60 "$build/nofd" --port "udp:127.0.0.1:$port" --socket "@$me-2" >"$work/taken.log" 2>&1 </dev/null; then
    fail "two daemons on one port"
fi
grep -q "UDP port $port of 127.0.0.1 is taken" "$work/taken.log" || fail "no sentence says that the port is taken"
echo "UDP ports as user $(id -u): same answer, every byte"

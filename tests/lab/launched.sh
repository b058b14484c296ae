#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: launched.sh BUILD LAUNCHER HOSTS RANKS
# An ordinary user starts a job on HOSTS hosts with MPICH's Hydra ("hydra") or Open MPI's mpirun ("openmpi") over ssh, nothing
# of ours running before: the first rank of each host starts a daemon with a UDP port there. heat3d must print the answer that
# it prints alone, replay verifies every byte, and afterwards nothing of that user is left. Hosts are network namespaces with
# an sshd each; the user is in the passwd file that they alone see.
set -eu
build=$1 launcher=$2 hosts=$3 ranks=$4
me=noflab$$-s
uid=$((64000 + $$ % 1000))
. "$(dirname "$0")/testbed.sh"
sshds=()
switch=$me-sw

left() { ps -o pid=,args= -u "$uid" || true; }

down() {
    for pid in "${sshds[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${sshds[@]}"; do wait "$pid" 2>/dev/null || true; done
    for pid in $(ps -o pid= -u "$uid"); do kill -KILL "$pid" 2>/dev/null || true; done
    for ((i = 0; i < hosts; i++)); do
        ip netns del "$me-h$i" 2>/dev/null || true
        rm -rf "/etc/netns/$me-h$i"
    done
    ip netns del "$switch" 2>/dev/null || true
    rmdir /etc/netns 2>/dev/null || true
    rm -rf "$work"
}

[ "$(id -u)" = 0 ] || skip "network namespaces need root"
case $launcher in hydra) mpiexec=mpiexec.hydra ;; *) mpiexec=mpirun.openmpi ;; esac
for tool in ip setpriv ssh-keygen $mpiexec; do
    command -v $tool >/dev/null || skip "$tool is missing: apt install iproute2 util-linux openssh-client mpich openmpi-bin"
done
sshd=$(command -v sshd || command -v /usr/sbin/sshd) || skip "sshd is missing: apt install openssh-server"
[ -z "$(left)" ] || skip "user id $uid is in use"
chmod 755 "$work"
as_user=(setpriv "--reuid=$uid" "--regid=$uid" --clear-groups env -i "PATH=$PATH" "HOME=$work/home" "TMPDIR=$work/home")
"${as_user[@]}" test -x "$build/nofd" || skip "an ordinary user cannot read $build"
down_at_exit

mkdir -p "$work/home/.ssh" /run/sshd
ssh-keygen -q -t ed25519 -N '' -f "$work/host_key"
ssh-keygen -q -t ed25519 -N '' -f "$work/home/.ssh/id_ed25519"
cp "$work/home/.ssh/id_ed25519.pub" "$work/authorized"
cat >"$work/ssh" <<END
#!/bin/sh
exec ssh -F none -p 2222 -i $work/home/.ssh/id_ed25519 -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
    -o LogLevel=ERROR -o BatchMode=yes "\$@"
END
chmod 755 "$work/ssh"
chown -R "$uid:$uid" "$work/home"

ip netns add "$switch" || skip "no network namespaces here"
ip netns exec "$switch" true 2>/dev/null || skip "no mounts in a network namespace here (a container or a chroot?)"
ip -n "$switch" link add br0 type bridge || skip "no bridges here"
ip -n "$switch" link set br0 up
list='' slots=''
for ((i = 0; i < hosts; i++)); do
    ns=$me-h$i
    mkdir -p "/etc/netns/$ns"
    { cat /etc/passwd; echo "nof$$:x:$uid:$uid::$work/home:/bin/sh"; } >"/etc/netns/$ns/passwd"
    ip netns add "$ns"
    ip link add "p$i" netns "$switch" type veth peer name eth0 netns "$ns"
    ip -n "$switch" link set "p$i" master br0 up
    ip -n "$ns" addr add "10.9.0.$((i + 1))/24" dev eth0
    ip -n "$ns" link set eth0 up
    ip -n "$ns" link set lo up
    cat >"$work/sshd$i" <<END
Port 2222
ListenAddress 10.9.0.$((i + 1))
HostKey $work/host_key
AuthorizedKeysFile $work/authorized
StrictModes no
UsePAM no
PidFile none
END
    ip netns exec "$ns" "$sshd" -D -e -f "$work/sshd$i" 2>"$work/sshd$i.log" &
    sshds+=($!)
    list=$list${list:+,}10.9.0.$((i + 1))
    slots=$slots${slots:+,}10.9.0.$((i + 1)):$(((ranks + hosts - 1) / hosts))
done

inside=(ip netns exec "$me-h0" "${as_user[@]}")
for ((i = 0; i < hosts; i++)); do
    for ((tries = 0; ; tries++)); do
        "${inside[@]}" "$work/ssh" "10.9.0.$((i + 1))" true 2>"$work/ssh.log" && break
        [ "$tries" -lt 200 ] && kill -0 "${sshds[i]}" 2>/dev/null || fail "no ssh to host $i"
    done
done

# run [NAME=VALUE] PROGRAM...: the variable is for the ranks.
run() {
    local told=()
    case $1 in *=*) told=("$1") && shift ;; esac
    case $launcher in
    hydra)
        set -- -launcher ssh -launcher-exec "$work/ssh" -hosts "$list" -ppn $(((ranks + hosts - 1) / hosts)) -n "$ranks" "$@"
        ;;
    *)
        set -- --mca plm_rsh_agent "$work/ssh" --mca oob_tcp_if_include 10.9.0.0/24 -H "$slots" --oversubscribe \
            ${told:+-x "${told[0]%%=*}"} -n "$ranks" "$@"
        ;;
    esac
    timeout -k 5 120 "${inside[@]}" env "${told[@]}" $mpiexec "$@" </dev/null
}


expected=$("$build/nof" run --hosts 1 -n 1 "$build/examples/heat3d" --size 32 --steps 40 </dev/null | answer)
[ -n "$expected" ] || fail "heat3d alone prints no answer"
run "$build/examples/heat3d" --size 32 --steps 40 >"$work/heat3d.log" 2>&1 || fail "heat3d"
[ "$(answer <"$work/heat3d.log")" = "$expected" ] || fail "heat3d prints another answer"
nothing_left heat3d
run NOF_UDP_PORTS=48700-48799 "$build/examples/replay" >"$work/replay.log" 2>&1 || fail "replay"
tail -n 3 "$work/replay.log"
nothing_left replay
run NOF_NET=10.9.0.0/24 "$build/examples/heat3d" --size 32 --steps 40 >"$work/net.log" 2>&1 || fail "heat3d with NOF_NET"
nothing_left NOF_NET

# Who is killed takes the job along, on all hosts, and the daemons that it had started.
for victim in "$mpiexec" heat3d; do
    run "$build/examples/heat3d" --size 64 --steps 1000000 >"$work/killed.log" 2>&1 &
    job=$!
    for ((i = 0; $(ps -o comm= -u "$uid" | grep -c -e '^heat3d' -e '^nofd') < ranks + hosts; i++)); do
        [ "$i" -lt 1000 ] && kill -0 "$job" 2>/dev/null || fail "a job for $victim to be killed in does not begin"
        sleep 0.02
    done
    pid=$(ps -o pid=,comm= -u "$uid" | awk -v "name=${victim:0:15}" '$2 == name { print $1; exit }')
    kill -KILL "$pid" || fail "there is no $victim"
    if wait "$job"; then fail "a job whose $victim was killed ends well"; fi
    nothing_left "$victim killed"
done

for row in "NOF_NET=203.0.113.0/24 has no address of that" "NOF_NET=10.0.0.0/99 it takes an interface" \
    "NOF_UDP_PORTS=9-8 it takes a port or a range"; do
    if run "${row%% *}" "$build/examples/heat3d" --size 8 --steps 1 >"$work/bad.log" 2>&1; then fail "a job with ${row%% *}"; fi
    grep -q "${row#* }" "$work/bad.log" || fail "no sentence about ${row%% *}"
    nothing_left "${row%% *}"
done
echo "$hosts hosts by $launcher over ssh, $ranks ranks, as user $uid: same answer, every byte, nothing left"

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: slurm.sh BUILD PLUGIN
# An ordinary user starts a job on two hosts with srun --mpi=PLUGIN (pmi2 or pmix): two slurmd and a slurmctld of the distribution's
# packages, which this test starts with a munged of its own. Nothing of ours runs before: the first rank of each host starts a
# daemon with a UDP port there. heat3d must print the answer that it prints alone, replay verifies every byte, and afterwards
# nothing of that user is left. Hosts are network namespaces with names of their own; the user is in the passwd file that they
# alone see.
set -eu
build=$1 plugin=$2
me=noflab$$-l
uid=$((64000 + $$ % 1000))
. "$(dirname "$0")/testbed.sh"
daemons=()
export PATH=$PATH:/usr/sbin:/sbin

left() { ps -o pid=,args= -u "$uid" || true; }

down() {
    for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${daemons[@]}"; do wait "$pid" 2>/dev/null || true; done
    for pid in $(ps -o pid= -u "$uid"); do kill -KILL "$pid" 2>/dev/null || true; done
    for i in 0 1; do
        ip netns del "$me-h$i" 2>/dev/null || true
        rm -rf "/etc/netns/$me-h$i"
    done
    rmdir /etc/netns 2>/dev/null || true
    rm -rf "$work"
}

[ "$(id -u)" = 0 ] || skip "network namespaces need root"
for tool in ip setpriv unshare munged slurmctld slurmd srun; do
    command -v $tool >/dev/null || skip "$tool is missing: apt install iproute2 util-linux munge slurmctld slurmd slurm-client"
done
plugins=$(find /usr/lib -name "mpi_$plugin.so" -path '*slurm*' 2>/dev/null | head -n 1)
[ -n "$plugins" ] || skip "this Slurm does not have --mpi=$plugin: apt install slurm-wlm-mpi-plugins"
[ "$plugin" != pmix ] || [ "${NOF_TEST_PMIX:-yes}" = yes ] || skip "built without PMIx: apt install libpmix-dev"
[ -z "$(left)" ] || skip "user id $uid is in use"
chmod 755 "$work"
as_user=(setpriv "--reuid=$uid" "--regid=$uid" --clear-groups env -i "PATH=$PATH" "HOME=$work/home" "TMPDIR=$work/home"
    "SLURM_CONF=$work/slurm.conf")
"${as_user[@]}" test -x "$build/nofd" || skip "an ordinary user cannot read $build"
down_at_exit

mkdir -p "$work/home" "$work/state" "$work/spool-h0" "$work/spool-h1" "$work/tmp-h0" "$work/tmp-h1"
chmod 1777 "$work/tmp-h0" "$work/tmp-h1"
chown "$uid:$uid" "$work/home"
head -c 1024 /dev/urandom >"$work/munge.key"
chmod 400 "$work/munge.key"
for i in 0 1; do
    ns=$me-h$i
    mkdir -p "/etc/netns/$ns"
    { cat /etc/passwd; echo "nof$$:x:$uid:$uid::$work/home:/bin/sh"; } >"/etc/netns/$ns/passwd"
    { cat /etc/group; echo "nof$$:x:$uid:"; } >"/etc/netns/$ns/group"
    printf '127.0.0.1 localhost\n10.9.0.1 h0\n10.9.0.2 h1\n' >"/etc/netns/$ns/hosts"
    ip netns add "$ns" || skip "no network namespaces here"
    ip netns exec "$ns" true 2>/dev/null || skip "no mounts in a network namespace here (a container or a chroot?)"
done
ip link add eth0 netns "$me-h0" type veth peer name eth0 netns "$me-h1" || skip "no veth here"
for i in 0 1; do
    ip -n "$me-h$i" addr add "10.9.0.$((i + 1))/24" dev eth0
    ip -n "$me-h$i" link set eth0 up
    ip -n "$me-h$i" link set lo up
done
cat >"$work/slurm.conf" <<END
ClusterName=nof
SlurmctldHost=h0(10.9.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.sock
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool-%h
TmpFS=$work/tmp-%h
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%h.pid
ReturnToService=2
MpiDefault=none
KillWait=5
PluginDir=$(dirname "$plugins")
NodeName=h[0-1] CPUs=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP OverSubscribe=FORCE:8
END

echo CgroupPlugin=cgroup/v1 >"$work/cgroup.conf" # which is not used, and the other one is looked for at once

# host N COMMAND...: this process goes on there, with that name.
host() {
    local i=$1
    shift
    # shellcheck disable=SC2016  # for the inner shell
    exec ip netns exec "$me-h$i" unshare --uts sh -c 'hostname "$1" && shift && exec "$@"' sh "h$i" "$@"
}

# begin NAME HOST COMMAND...: a daemon.
begin() {
    local name=$1
    shift
    host "$@" >"$work/$name.log" 2>&1 </dev/null &
    daemons+=($!)
}

# srun's arguments: four ranks on the two.
run() { (host 0 timeout -k 5 120 "${as_user[@]}" srun -Q "--mpi=$plugin" --overcommit -N 2 -n 4 "$@") </dev/null; }

begin munged 0 munged --foreground --force "--socket=$work/munge.sock" "--key-file=$work/munge.key" "--pid-file=$work/munged.pid" \
    "--log-file=$work/munged-own.log" "--seed-file=$work/munge.seed"
for ((i = 0; i < 200; i++)); do
    [ ! -S "$work/munge.sock" ] || break
    kill -0 "${daemons[0]}" 2>/dev/null || fail "munged does not run"
    sleep 0.05
done
begin slurmctld 0 env "SLURM_CONF=$work/slurm.conf" slurmctld -D
for i in 0 1; do begin "slurmd$i" "$i" env "SLURM_CONF=$work/slurm.conf" slurmd -D; done
for ((i = 0; i < 200; i++)); do
    (host 0 "${as_user[@]}" sinfo -h -o %T) 2>/dev/null | sort -u >"$work/sinfo.log" || true
    [ "$(cat "$work/sinfo.log")" != idle ] || break
    for pid in "${daemons[@]}"; do kill -0 "$pid" 2>/dev/null || fail "Slurm does not run"; done
    sleep 0.1
done
[ "$(cat "$work/sinfo.log")" = idle ] || fail "Slurm's nodes do not become idle"

expected=$("$build/nof" run --hosts 1 -n 1 "$build/examples/heat3d" --size 32 --steps 40 </dev/null | answer)
[ -n "$expected" ] || fail "heat3d alone prints no answer"
run hostname 2>&1 | sort | uniq -c >"$work/hosts.log" || fail "srun hostname"
grep -q ' 2 h0' "$work/hosts.log" && grep -q ' 2 h1' "$work/hosts.log" || fail "srun does not deal four tasks to two hosts"
run "$build/examples/heat3d" --size 32 --steps 40 >"$work/heat3d.log" 2>&1 || fail "heat3d"
[ "$(answer <"$work/heat3d.log")" = "$expected" ] || fail "heat3d prints another answer"
nothing_left heat3d
run "$build/examples/replay" >"$work/replay.log" 2>&1 || fail "replay"
tail -n 3 "$work/replay.log"
nothing_left replay
echo "2 hosts by srun --mpi=$plugin, 4 ranks, as user $uid: same answer, every byte, nothing left"

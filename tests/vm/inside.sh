#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: inside.sh NUMBER
# First process of test machine NUMBER (0, 1). Its shell: the channel "nof" brings "TOKEN COMMAND" and a zero byte, and takes the command's
# output and then a line "TOKEN STATUS".
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run TMPDIR=/run LANG=C
mount -t tmpfs tmp /run
mkdir -p /dev/shm /dev/pts /dev/hugepages
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t hugetlbfs huge /dev/hugepages
hostname "vm$1"
ip link set lo up
for port in /sys/class/virtio-ports/*; do
    [ "$(cat "$port/name")" != nof ] || exec 3<>"/dev/${port##*/}"
done
echo "ready $$" >&3
while read -r -d '' token command <&3; do
    eval "$command" </dev/null >&3 2>&1 3>&-
    printf '\n%s %d\n' "$token" $? >&3
done
poweroff -f

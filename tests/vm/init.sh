#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The first process of a test machine: the host's root over 9p, then a shell on the channel "nof", one command a line.
# The kernel's command line ends in the two arguments of inside.sh.
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs dev /dev
for module in /modules/*.ko; do $b insmod "$module"; done
$b mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=524288 root /root || exec $b poweroff -f
$b umount /proc
$b mount -t proc proc /root/proc
$b mount --move /sys /root/sys
$b mount --move /dev /root/dev
exec $b switch_root /root /bin/bash "$@"

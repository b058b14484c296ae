#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: spill.sh ALONE
# Random traffic of one rank over the stand-in driver (fake_pmd.c), which spills, parks and takes back every few
# messages: forty seeds of traffic and of the driver's timing.
set -eu
export NOF_SPIN_US=0 NOF_SOCKET=none NOF_JOB_ID=1 NOF_JOB_KEY=00000000000000000000000000000000
seed=1
while [ "$seed" -le 40 ]; do
    NOF_FAKE_SEED=$seed timeout 60 "$1" "$seed" || {
        echo "seed $seed: exit code $?; again with: NOF_FAKE_SEED=$seed NOF_SOCKET=none ... $1 $seed" >&2
        exit 1
    }
    seed=$((seed + 1))
done

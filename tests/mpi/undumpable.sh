#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: undumpable.sh NOF NOFD PROGRAM
# The memory of ranks of a shared daemon is copied by a process with their ids, which has no more rights than they.
set -euo pipefail
nof=$1 nofd=$2 program=$3
socket=@nof-undumpable-$$
trap 'kill "$daemon" 2>/dev/null || :' EXIT

# What is started here ends with this shell, however that ends, and ranks end with nof.
exec 3< <(exec setpriv --pdeathsig TERM "$nofd" --fabric 2 --socket "$socket" --ready-fd 1 </dev/null)
daemon=$!
read -r -t 60 _ <&3
setpriv --pdeathsig TERM "$nof" run --nofd "$socket" -n 2 --timeout 100s "$program"

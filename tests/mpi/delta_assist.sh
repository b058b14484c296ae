#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: delta_assist.sh NOF NOFD DELTA_MANY DELTA_RETURNED
# Hundreds of delta messages at once, ended from the last to the first, where the ranks copy what the NIC brings; and
# such as wait for one rank's room beside such as do not.
set -euo pipefail
nof=$1 nofd=$2 many=$3 returned=$4
socket=@nof-delta-assist-$$
trap 'kill "$daemon" 2>/dev/null || :' EXIT

# What is started here ends with this shell, however that ends, and ranks end with nof.
exec 3< <(exec setpriv --pdeathsig TERM "$nofd" --fabric 2 --dma=assist --socket "$socket" --ready-fd 1 </dev/null)
daemon=$!
read -r -t 60 _ <&3

run() {
    setpriv --pdeathsig TERM "$nof" run --nofd "$socket" "$@"
}
run -n 2 --timeout 300s "$many" 65 300
for ranks in 4 8; do # several of a NIC
    run -n "$ranks" --timeout 300s "$many" 65
done
run -n 4 --timeout 300s "$returned"

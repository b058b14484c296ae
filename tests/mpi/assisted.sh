#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: assisted.sh NOF NOFD RANKS PROGRAM...
# A job on hosts of their own whose ranks copy what their NIC brings, as where nofd may not read their memory.
set -euo pipefail
nof=$1 nofd=$2 ranks=$3
shift 3
socket=@nof-assisted-$$
trap 'kill "$daemon" 2>/dev/null || :' EXIT

# What is started here ends with this shell, however that ends, and ranks end with nof.
exec 3< <(exec setpriv --pdeathsig TERM "$nofd" --fabric "$ranks" --dma=assist --socket "$socket" --ready-fd 1 </dev/null)
daemon=$!
read -r -t 60 _ <&3
setpriv --pdeathsig TERM "$nof" run --nofd "$socket" -n "$ranks" --timeout 200s "$@"

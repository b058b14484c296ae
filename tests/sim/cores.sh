#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: cores.sh NOF SEEDS
# NICs with several cores keep MPI's rules, though their hand-over rings fill; and the same seed is the same run.
set -eu
nof=$1
said=$("$nof" sim cores --seeds "$2" --json)
full=$(printf '%s\n' "$said" | tr ',{' '\n\n' | sed -n 's/.*"rings_full": *\([0-9]*\).*/\1/p')
[ "$full" -gt 0 ] || {
    echo "FAILED: no ring was ever full: $said"
    exit 1
}
digest() { "$nof" sim cores --seeds 6 --workers "$1" --json | sed -n 's/.*"digest": *"\([0-9a-f]*\)".*/\1/p'; }
once=$(digest 1)
again=$(digest 2)
[ -n "$once" ] && [ "$once" = "$again" ] || {
    echo "FAILED: digests differ: $once, $again"
    exit 1
}
echo "$2 seeds; $full frames found a ring full"

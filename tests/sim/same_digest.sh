#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: same_digest.sh NOF
# The same seeds give the same digest, run after run, with any number of workers, and traced; other seeds give another.
set -eu
digest() {
    "$1" sim --json --seeds 12 --first "$2" --workers "$3" | sed -n 's/.*"digest":"\([0-9a-f]*\)".*/\1/p'
}
first=$(digest "$1" 300 1)
again=$(digest "$1" 300 2)
other=$(digest "$1" 400 2)
echo "digests: $first, again $again, other seeds $other"
[ -n "$first" ] && [ "$first" = "$again" ] && [ "$first" != "$other" ]

# The library compares addresses: a seed lies where it lies whatever ran before it, and whoever looks on.
seed=20
alone=$("$1" sim mpi --json --seed $seed | sed -n 's/.*"digest":"\([0-9a-f]*\)".*/\1/p')
traced=$("$1" sim mpi --seed $seed --trace 2>&1 | sed -n 's/.*digest \([0-9a-f]*\),.*/\1/p')
echo "digests of seed $seed: $alone, traced $traced"
[ -n "$alone" ] && [ "$alone" = "$traced" ]

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: same_digest.sh NOF
# The same seeds give the same digest, run after run and with any number of workers; other seeds give another.
set -eu
digest() {
    "$1" sim --json --seeds 12 --first "$2" --workers "$3" | sed -n 's/.*"digest":"\([0-9a-f]*\)".*/\1/p'
}
first=$(digest "$1" 300 1)
again=$(digest "$1" 300 2)
other=$(digest "$1" 400 2)
echo "digests: $first, again $again, other seeds $other"
[ -n "$first" ] && [ "$first" = "$again" ] && [ "$first" != "$other" ]

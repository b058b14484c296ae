#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: examples.sh NOF HEAT3D REPLAY
# The examples over simulated NICs: heat3d prints the same answer on any number of ranks and hosts, on a clean
# link and on one that loses frames; replay verifies every byte; and a wrong command line is an error.
set -eu
nof=$1 heat3d=$2 replay=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# answer OPTIONS...: checksum and residual that heat3d prints under these options of `nof run`.
answer() {
    timeout -k 5 100 "$nof" run "$@" "$heat3d" --size 32 --steps 40 >"$work/out" 2>&1 </dev/null || {
        echo "nof run $* heat3d ended with $?:" >&2
        cat "$work/out" >&2
        exit 1
    }
    grep -E '^ *(residual|checksum) ' "$work/out"
}

expected=$(answer --hosts 1 -n 1)
echo "$expected"
for options in '--hosts 1 -n 3' '--hosts 2 -n 2' '--hosts 4 -n 8' '--hosts 4 -n 8 --loss 0.02 --mtu 1500'; do
    # shellcheck disable=SC2086  # a list of options
    got=$(answer $options)
    if [ "$got" != "$expected" ]; then
        echo "another answer with $options:"
        echo "$got"
        exit 1
    fi
done

timeout -k 5 100 "$nof" run --hosts 4 -n 4 "$replay" --repeat 3 </dev/null
if timeout -k 5 60 "$nof" run --hosts 2 -n 2 "$heat3d" --size none >"$work/out" 2>&1 </dev/null; then
    echo 'heat3d --size none ended with 0'
    exit 1
fi

# A recording that is not whole is an error, not "every byte right".
sample=$(dirname "$0")/../../examples/data/mg.W
for damage in empty missing; do
    cp -r "$sample" "$work/$damage"
done
: >"$work/empty/rank1.msg"
rm "$work/missing/rank1.msg"
for damage in empty missing; do
    if timeout -k 5 60 "$nof" run --hosts 2 -n 4 "$replay" "$work/$damage" >"$work/out" 2>&1 </dev/null; then
        echo "replay ended with 0 although a file was $damage:"
        cat "$work/out"
        exit 1
    fi
    grep -q 'rank1\.msg' "$work/out" || {
        echo "replay does not name the file that is $damage:"
        cat "$work/out"
        exit 1
    }
done

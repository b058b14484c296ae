#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: mpiexec.sh MPIEXEC PROGRAM
# The options of a standard mpiexec reach the ranks; what it cannot do is one clear error, never another number of
# ranks. PROGRAM is any MPI program that prints nothing of its own that matters here.
set -eu
mpiexec=$(realpath "$1") program=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir there

cat >show.sh <<'E2'
#!/bin/sh
"$PROGRAM" >/dev/null || exit 1
echo "word=$WORD other=$OTHER here=$(basename "$PWD")"
E2
chmod +x show.sh
PROGRAM=$program
export PROGRAM

timeout 60 "$mpiexec" -n 3 -env WORD 'two words' -genv OTHER x -wdir there -l ../show.sh >out </dev/null
[ "$(grep -c 'word=two words other=x here=there' out)" -eq 3 ]
timeout 60 "$mpiexec" -np 4 -ppn 2 -x WORD=w ./show.sh >out </dev/null
[ "$(grep -c 'word=w ' out)" -eq 4 ]
timeout 60 "$mpiexec" --np 2 --host localhost,localhost --loss 0.01 ./show.sh >out </dev/null
[ "$(grep -c 'word=' out)" -eq 2 ]

# refuses WORD ARGUMENTS...: fails at once, with the word in one sentence or two.
refuses() {
    word=$1
    shift
    if "$mpiexec" "$@" >out 2>err </dev/null; then
        echo "mpiexec $* should fail" >&2
        exit 1
    fi
    grep -q -- "$word" err && [ "$(wc -l <err)" -le 2 ]
}
refuses -foo -foo -n 2 ./show.sh
refuses 'not a number' -n two ./show.sh
refuses 'needs a value' -n
refuses 'no program' -n 2
refuses elsewhere.example -n 2 -host elsewhere.example ./show.sh
refuses 'several programs' -n 1 ./show.sh : -n 1 ./show.sh

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: wrapper.sh MPICC NOF
# mpicc as build systems use it: what it shows can be executed, it compiles and links in one step and in two, in
# C and with another compiler, and a program that wraps MPI_Send and MPI_Recv (profiling) sees each call once.
set -eu
mpicc=$(realpath "$1") nof=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >hello.c <<'C'
#include <mpi.h>
#include <mpi_offload.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size, value = 7;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0 && size > 1)
        MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d of %d has %d\n", rank, size, value);
    return MPI_Finalize();
}
C
"$mpicc" -Wall -Werror hello.c -o one
"$mpicc" -c hello.c -o hello.o
"$mpicc" hello.o -o two
eval "$("$mpicc" -show hello.c -o three)"
# shellcheck disable=SC2046 # words are wanted
cc $("$mpicc" -showme:compile) hello.c -o four $("$mpicc" -showme:link)
for program in one two three four; do
    ./$program >out
    grep -q 'rank 0 of 1 has 7' out
done
"$mpicc" -showme:version | grep -q libmpi_offload
"$mpicc" -showme:libs | grep -q mpi_offload
for dir in $("$mpicc" -showme:incdirs) $("$mpicc" -showme:libdirs); do
    [ -d "$dir" ]
done
"$mpicc" --version >/dev/null
if "$mpicc" -showme:nonsense 2>err; then
    echo "mpicc takes -showme:nonsense" >&2
    exit 1
fi
grep -q nonsense err
if command -v clang >/dev/null; then
    "$mpicc" -cc=clang hello.c -o five
    ./five >/dev/null
    MPICC_CC=clang "$mpicc" -showme:command | grep -q clang
fi

cat >profile.c <<'C'
#include <mpi.h>
#include <stdio.h>
int MPI_Send(const void *b, int n, MPI_Datatype t, int d, int tag, MPI_Comm c)
{
    puts("profiled send");
    return PMPI_Send(b, n, t, d, tag, c);
}
int MPI_Recv(void *b, int n, MPI_Datatype t, int s, int tag, MPI_Comm c, MPI_Status *st)
{
    puts("profiled receive");
    return PMPI_Recv(b, n, t, s, tag, c, st);
}
C
"$mpicc" -shared -fPIC profile.c -o libprofile.so
LD_PRELOAD="$work/libprofile.so" timeout 60 "$nof" run --hosts 2 -n 2 ./one >out </dev/null
[ "$(grep -c 'profiled send' out)" -eq 1 ]
[ "$(grep -c 'profiled receive' out)" -eq 1 ]

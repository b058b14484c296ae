#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: emitted.sh NOF MPICC MPIFORT|none
# A table that `nof schedule --emit` writes is one that a program compiles and that carries its messages; C and Fortran.
set -eu
nof=$(realpath "$1") mpicc=$(realpath "$2") mpifort=$3
[ "$mpifort" = none ] || mpifort=$(realpath "$mpifort")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# Rank i sends (i + j) * 1000 ints to rank j, but none to the rank before it.
for i in 0 1 2 3; do
    for j in 0 1 2 3; do
        [ $(((i + 3) % 4)) = $j ] || echo "$i $j $(((i + j) * 4000))"
    done
done >pattern
"$nof" schedule --algorithm greedy --emit c --name table pattern >table.h
cat >program.c <<'END'
#include <stdio.h>
#include "table.h"

int main(int argc, char **argv)
{
    static int out[4][7000], in[4][7000];
    int to[4], from[4], displs[4], rank, wrong = 0;
    MPIX_Coll coll;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 4; i++) {
        to[i] = (rank + 3) % 4 == i ? 0 : (rank + i) * 1000;
        from[i] = (i + 3) % 4 == rank ? 0 : (rank + i) * 1000;
        displs[i] = 7000 * i;
        for (int k = 0; k < 7000; k++)
            out[i][k] = rank * 1000000 + i * 10000 + k;
    }
    MPIX_Alltoallv_load(&table, to, displs, MPI_INT, from, displs, MPI_INT, MPI_COMM_WORLD, &coll);
    MPIX_Alltoallv_data_trans2(out, in, coll);
    MPIX_Coll_free(&coll);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 7000; k++)
            wrong += in[i][k] != (k < from[i] ? i * 1000000 + rank * 10000 + k : 0);
    if (wrong > 0)
        printf("rank %d: %d ints are wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong > 0;
}
END
"$mpicc" -Wall -Wextra -Werror program.c -o program
"$nof" run --hosts 2 -n 4 ./program </dev/null
[ "$mpifort" != none ] || exit 0
"$nof" schedule --algorithm alltoall --emit fortran --name table pattern >table.f90
cat >program.f90 <<'END'
program main
  use mpi
  use table
  implicit none
  external :: mpix_alltoallv_load, mpix_alltoallv_data_trans2, mpix_coll_free
  integer :: source(7000, 0:3), sink(7000, 0:3), to(0:3), from(0:3), displs(0:3), rank, coll, ierror, k, n
  call mpi_init(ierror)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierror)
  sink = 0
  do n = 0, 3
    to(n) = merge(0, (rank + n) * 1000, mod(rank + 3, 4) == n)
    from(n) = merge(0, (rank + n) * 1000, mod(n + 3, 4) == rank)
    displs(n) = 7000 * n
    source(:, n) = [(rank * 1000000 + n * 10000 + k, k = 1, 7000)]
  end do
  call mpix_alltoallv_load(table_ranks, table_phases, table_first, table_pair, to, displs, MPI_INTEGER, &
    from, displs, MPI_INTEGER, MPI_COMM_WORLD, coll, ierror)
  if (ierror /= MPI_SUCCESS) stop 2
  call mpix_alltoallv_data_trans2(source, sink, coll, ierror)
  call mpix_coll_free(coll, ierror)
  do n = 0, 3
    if (any(sink(1:from(n), n) /= [(n * 1000000 + rank * 10000 + k, k = 1, from(n))])) stop 3
    if (any(sink(from(n) + 1:, n) /= 0)) stop 4
  end do
  call mpi_finalize(ierror)
end program
END
"$mpifort" -Wall -Werror table.f90 program.f90 -o program_f
"$nof" run --hosts 2 -n 4 ./program_f </dev/null

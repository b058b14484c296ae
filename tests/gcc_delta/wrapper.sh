#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: wrapper.sh MPICC PLUGIN MPIFORT|none | none REASON
# mpicc --delta: finds the plug-in, reports where it is told to, names what it does not know, and refuses other compilers.
set -eu
[ "$1" != none ] || { echo "skipped: $2"; exit 77; }
mpicc=$(realpath "$1") plugin=$(realpath "$2") mpifort=$3
[ "$mpifort" = none ] || mpifort=$(realpath "$mpifort")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >send.c <<'C'
#include <mpi.h>
int MPIX_Delta_send_begin(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPIX_Delta_wait(MPI_Request *, MPI_Status *);
void fill(double *b, int n)
{
    MPI_Request r;
    MPIX_Delta_send_begin(b, n, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &r);
    for (int i = 0; i < n; i++)
        b[i] = i;
    MPIX_Delta_wait(&r, MPI_STATUS_IGNORE);
}
C
sed 's/^int MPIX/extern "C" int MPIX/' send.c >send.cc

# What gcc makes of it, with the compiler that the plug-in is for, whatever this build's own is.
gcc=gcc gxx=g++
! command -v gcc-12 >/dev/null || gcc=gcc-12
! command -v g++-12 >/dev/null || gxx=g++-12
"$mpicc" -cc=$gcc --delta --delta-report=report -O2 -c send.c
grep -q '^send.c:7: delta: pipelined: send, in the loop at line 9$' report
nm send.o | grep -q 'U MPIX_Delta_send_data'
"$mpicc" -cc=$gcc --delta-report=stderr -O2 -S send.c -o - 2>err | grep -q MPIX_Delta_send_data
grep -q 'delta: pipelined' err
"$mpicc" -cc=$gcc -O2 -c send.c
! nm send.o | grep -q MPIX_Delta_send_data || { echo "without --delta the plug-in was there" >&2; exit 1; }
"$mpicc" -cc=$gxx --delta -O2 -c send.cc -o cc.o
nm cc.o | grep -q 'U MPIX_Delta_send_data'
"$mpicc" -cc=$gcc --delta -O2 -show -c send.c | grep -q -- "-fplugin=$plugin"
if "$mpicc" -cc=false --delta -O2 -c send.c 2>err; then
    echo "mpicc --delta took a compiler that is not gcc" >&2
    exit 1
fi
grep -q 'delta needs gcc' err
for wrong in strip=none strip=0 strip=1x nonsense; do
    if "$mpicc" -cc=$gcc --delta -fplugin-arg-gcc_delta-$wrong -c send.c 2>err; then
        echo "the plug-in takes $wrong" >&2
        exit 1
    fi
    grep -q "delta: .*$(echo $wrong | sed 's/.*=//')" err
done
for empty in --delta-report= --delta-report; do
    if "$mpicc" -cc=$gcc $empty -O2 -c send.c 2>err; then
        echo "mpicc $empty goes on without a report" >&2
        exit 1
    fi
    grep -q -- "$empty: names no place.*--delta-report=stderr" err
done
if "$mpicc" -cc=$gcc --delta-report=no/such/folder -c send.c 2>err; then
    echo "a report that cannot be written is no error" >&2
    exit 1
fi
grep -q "delta: cannot write the report" err

[ "$mpifort" != none ] || exit 0
gfortran=gfortran
! command -v gfortran-12 >/dev/null || gfortran=gfortran-12
for module in "include 'mpif.h'" "use mpi" "use mpi_f08"; do
    handle=integer use=$module include=
    case $module in
    include*) use= include=$module ;;
    *f08) handle='type(MPI_Request)' ;;
    esac
    cat >fill.f90 <<F
subroutine fill(b, n)
  $use
  implicit none
  $include
  integer :: n, ierr, i
  $handle :: request
  double precision :: b(n)
  call MPIX_Delta_send_begin(b, n, MPI_DOUBLE_PRECISION, 1, 0, MPI_COMM_WORLD, request, ierr)
  do i = 1, n
    b(i) = i
  end do
  call MPIX_Delta_wait(request, MPI_STATUS_IGNORE, ierr)
end subroutine
F
    "$mpifort" -fc=$gfortran --delta-report=stderr -O2 -c fill.f90 2>err
    grep -q '^fill.f90:8: delta: pipelined: send, in the loop at line 10$' err || { cat err >&2; exit 1; }
    nm fill.o | grep -q 'U MPIX_Delta_send_data'
done

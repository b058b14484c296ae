#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: profile.sh BUILD NOF SOURCE_ROOT
# A C library that wraps MPI_Send and MPI_Recv sees each call of a Fortran program once, and a Fortran library that
# wraps them may call the PMPI names. Every function that Fortran has is there under both names.
set -eu
build=$(realpath "$1") nof=$(realpath "$2") root=$(realpath "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >program.f90 <<'F'
program profiled
  use mpi_f08
  integer :: rank, value = 7
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  if (rank == 0) call MPI_Send(value, 1, MPI_INTEGER, 1, 0, MPI_COMM_WORLD)
  if (rank == 1) call MPI_Recv(value, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call MPI_Finalize()
end program profiled
F
cat >profile.c <<'C'
#include <mpi.h>
#include <stdio.h>
int MPI_Send(const void *b, int n, MPI_Datatype t, int d, int tag, MPI_Comm c)
{
    puts("C send");
    return PMPI_Send(b, n, t, d, tag, c);
}
int MPI_Recv(void *b, int n, MPI_Datatype t, int s, int tag, MPI_Comm c, MPI_Status *st)
{
    puts("C receive");
    return PMPI_Recv(b, n, t, s, tag, c, st);
}
C
cat >wrap.f90 <<'F'
subroutine MPI_Send_f08ts(buf, count, datatype, dest, tag, comm, ierror) bind(C, name="mpi_send_f08ts_")
  use mpi_f08, only: MPI_Comm, MPI_Datatype, PMPI_Send
  implicit none
  type(*), dimension(..), intent(in) :: buf
  integer, intent(in) :: count, dest, tag
  type(MPI_Datatype), intent(in) :: datatype
  type(MPI_Comm), intent(in) :: comm
  integer, optional, intent(out) :: ierror
  print '(a)', 'Fortran send'
  call PMPI_Send(buf, count, datatype, dest, tag, comm, ierror)
end subroutine MPI_Send_f08ts
F
"$build/mpifort" program.f90 -o program
"$build/mpicc" -shared -fPIC profile.c -o libprofile.so
"$build/mpifort" -shared -fPIC wrap.f90 -o libwrap.so
LD_PRELOAD="$work/libprofile.so $work/libwrap.so" timeout 60 "$nof" run --hosts 2 -n 2 ./program >out </dev/null
for line in 'C send' 'C receive' 'Fortran send'; do
    if [ "$(grep -c "$line" out)" -ne 1 ]; then
        echo "not exactly one \"$line\" in:" >&2
        cat out >&2
        exit 1
    fi
done

# What the table has and Fortran has not: the tool interface, C's view of handles and statuses, Fortran's of
# C, two names of the Forum's ABI header.
nm -D --defined-only "$build/libmpi_offload_fortran.so" | awk '{print $3}' | sort >exported
grep -o '^[a-z]* *PMPI_[A-Za-z_0-9]*(\|^MPI_Aint PMPI_[A-Za-z_0-9]*(' "$root/host/libmpi_offload/include/mpi.h" |
    sed 's/.* P//; s/(//' | grep -v 'MPI_T_\|_c2f\|_f2c\|toint\|fromint\|_c2f08\|_f082c\|P\(send\|recv\)_init_c' |
    tr '[:upper:]' '[:lower:]' | sed 's/.*/&_\np&_/' | sort >wanted
if comm -23 wanted exported | grep . >&2; then
    echo 'the Fortran library does not export the names above' >&2
    exit 1
fi
[ "$(wc -l <wanted)" -gt 1000 ]

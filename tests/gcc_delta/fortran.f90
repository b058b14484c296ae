! SPDX-License-Identifier: BSD-3-Clause
! Procedures of Fortran, run by fortran_run.c. Handles are those of mpif.h, or, as mpi_f08 has them, structures of one integer.
module handles
  implicit none
  integer, parameter :: DOUBLE_PRECISION_TYPE = int(z'21c'), WORLD = int(z'101'), STATUS_SIZE = 8
  type, bind(C) :: handle
    integer :: val
  end type
  type(handle), parameter :: F08_TYPE = handle(DOUBLE_PRECISION_TYPE), F08_WORLD = handle(WORLD)
end module

subroutine counted(b, n) bind(C)
  use handles
  integer, value :: n
  double precision :: b(n)
  integer :: request, ierr, i, status(STATUS_SIZE)
  call MPIX_Delta_send_begin(b, n, DOUBLE_PRECISION_TYPE, 1, 0, WORLD, request, ierr) ! delta: pipelined: send
  do i = 1, n
    b(i) = sqrt(dble(i)) + i
  end do
  call MPIX_Delta_send_end(request, ierr)
  call MPIX_Delta_wait(request, status, ierr)
end subroutine

subroutine columns_first(b, m, n) bind(C)
  use handles
  integer, value :: m, n
  double precision :: b(m, n)
  integer :: requests(2), ierr, i, j, status(STATUS_SIZE)
  call MPI_Delta_send_begin(b, m * n, DOUBLE_PRECISION_TYPE, 1, 0, WORLD, requests(2), ierr) ! delta: pipelined: send
  do j = 1, n
    do i = 1, m
      b(i, j) = i + 2 * j
    end do
  end do
  call MPI_Delta_wait(requests(2), status, ierr)
end subroutine

subroutine rows_first(b, m) bind(C)
  use handles
  integer, value :: m
  double precision :: b(60, m)
  integer :: request, ierr, i, j, status(STATUS_SIZE)
  call MPIX_Delta_send_begin(b, 60 * m, DOUBLE_PRECISION_TYPE, 1, 0, WORLD, request, ierr) ! delta: not pipelined: stores across
  do i = 1, 60
    do j = 1, m
      b(i, j) = i + 2 * j
    end do
  end do
  call MPIX_Delta_wait(request, status, ierr)
end subroutine

subroutine down(b, n, factor) bind(C)
  use handles
  integer, value :: n
  double precision :: b(0:n - 1), factor
  integer :: ierr, i, status(STATUS_SIZE)
  type(handle) :: request
  call MPIX_Delta_send_begin(b, n, F08_TYPE, 1, 0, F08_WORLD, request, ierr) ! delta: pipelined: send
  do i = n - 1, 0, -1
    b(i) = i * factor
  end do
  call MPIX_Delta_wait(request, status, ierr)
end subroutine

subroutine sometimes(b, n, rank) bind(C)
  use handles
  integer, value :: n
  integer :: rank, request, ierr, i, status(STATUS_SIZE)
  double precision :: b(n)
  if (rank > 0) then
    call MPIX_Delta_send_begin(b, n, DOUBLE_PRECISION_TYPE, 1, 0, WORLD, request, ierr) ! delta: pipelined: send
  end if
  do i = 1, n
    b(i) = i
  end do
  if (rank > 0) then
    call MPIX_Delta_wait(request, status, ierr)
  end if
end subroutine

subroutine stored_twice(b, n) bind(C)
  use handles
  integer, value :: n
  double precision :: b(n)
  integer :: request, ierr, i, status(STATUS_SIZE)
  call MPIX_Delta_send_begin(b, n, DOUBLE_PRECISION_TYPE, 1, 0, WORLD, request, ierr) ! delta: not pipelined: stored to again
  do i = 1, n
    b(i) = i
  end do
  b(1) = b(n)
  call MPIX_Delta_wait(request, status, ierr)
end subroutine

subroutine shortened(b, n) bind(C)
  use handles
  integer, value :: n
  double precision :: b(n)
  integer :: request, ierr, i, status(STATUS_SIZE)
  call MPIX_Delta_send_begin(b, n, DOUBLE_PRECISION_TYPE, 1, 0, WORLD, request, ierr) ! delta: not pipelined: shorter
  do i = 1, n
    b(i) = i
  end do
  call MPIX_Delta_send_end_count(request, int(n / 2, 8), ierr)
  call MPIX_Delta_wait(request, status, ierr)
end subroutine

double precision function used(b, n) bind(C)
  use handles
  integer, value :: n
  double precision :: b(n)
  integer :: ierr, i, status(STATUS_SIZE)
  call MPIX_Delta_recv(b, n, DOUBLE_PRECISION_TYPE, 1, 3, WORLD, status, ierr) ! delta: pipelined: receive
  used = 0
  do i = 1, n
    used = used * 0.5d0 + b(i)
  end do
end function

! A local array, and an interface with intents.
double precision function declared(n) bind(C)
  use handles
  interface
    subroutine MPIX_Delta_recv(buf, count, datatype, source, tag, comm, status, ierr)
      integer, intent(in) :: count, datatype, source, tag, comm
      double precision, intent(out) :: buf(*)
      integer, intent(out) :: status(*), ierr
    end subroutine
  end interface
  integer, value :: n
  double precision :: b(6000)
  integer :: ierr, i, status(STATUS_SIZE)
  call MPIX_Delta_recv(b, 6000, DOUBLE_PRECISION_TYPE, 1, 4, WORLD, status, ierr) ! delta: pipelined: receive
  declared = 0
  do i = 1, n
    declared = declared * 0.5d0 + b(i)
  end do
end function

subroutine declared_send(n) bind(C)
  use handles
  interface
    subroutine MPIX_Delta_send_begin(buf, count, datatype, dest, tag, comm, request, ierr)
      integer, intent(in) :: count, datatype, dest, tag, comm
      double precision, intent(in) :: buf(*)
      integer, intent(out) :: request, ierr
    end subroutine
  end interface
  integer, value :: n
  double precision :: b(6000)
  integer :: ierr, i, request, status(STATUS_SIZE)
  b = 0
  call MPIX_Delta_send_begin(b, 6000, DOUBLE_PRECISION_TYPE, 1, 0, WORLD, request, ierr) ! delta: pipelined: send
  do i = 1, n
    b(i) = i
  end do
  call MPIX_Delta_wait(request, status, ierr)
end subroutine

double precision function any_type(b, n, datatype) bind(C)
  use handles
  integer, value :: n
  integer :: datatype, ierr, i, status(STATUS_SIZE)
  double precision :: b(n)
  call MPIX_Delta_recv(b, n, datatype, 1, 5, WORLD, status, ierr) ! delta: not pipelined: not a constant
  any_type = 0
  do i = 1, n
    any_type = any_type * 0.5d0 + b(i)
  end do
end function

double precision function summed(b, n) bind(C)
  use handles
  integer, value :: n
  double precision :: b(n)
  integer :: ierr, status(STATUS_SIZE)
  call MPIX_Delta_recv(b, n, DOUBLE_PRECISION_TYPE, 1, 6, WORLD, status, ierr) ! delta: pipelined: receive
  summed = sum(b)
end function

subroutine doubled(b, n) bind(C)
  use handles
  integer, value :: n
  double precision :: b(n)
  integer :: ierr, request, status(STATUS_SIZE)
  call MPIX_Delta_send_begin(b, n, DOUBLE_PRECISION_TYPE, 1, 0, WORLD, request, ierr) ! delta: pipelined: send
  b = b * 2 + 1
  call MPIX_Delta_wait(request, status, ierr)
end subroutine

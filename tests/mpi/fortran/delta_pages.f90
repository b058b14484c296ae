! SPDX-License-Identifier: BSD-3-Clause
! A message from rank 0 to rank 1 with begin, end and receive alone: pages say what is ready, and wait for what has not come.
program main
  use mpi
  implicit none
  integer, parameter :: n = 262144
  external :: mpix_delta_send_begin, mpix_delta_wait, mpix_delta_recv, mpix_delta_recv_wait
  integer, allocatable, asynchronous :: array(:)
  integer :: rank, request, ierror, k
  call mpi_init(ierror)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierror)
  allocate(array(n))
  array = -1
  if (rank == 0) then
    call mpix_delta_send_begin(array, n, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, request, ierror)
    do k = 1, n
      array(k) = 3 * k
    end do
    call mpix_delta_wait(request, MPI_STATUS_IGNORE, ierror)
  else
    call mpix_delta_recv(array, n, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    do k = 1, n
      if (array(k) /= 3 * k) stop 2
    end do
    call mpix_delta_recv_wait(array, MPI_STATUS_IGNORE, ierror)
  end if
  if (ierror /= MPI_SUCCESS) stop 3
  call mpi_finalize(ierror)
end program

! SPDX-License-Identifier: BSD-3-Clause
! A delta message to each other: half of it is read before the other half is made; then one that ends early.
program main
  use mpi
  implicit none
  integer, parameter :: n = 32768
  external :: mpix_delta_send_begin, mpix_delta_send_data, mpix_delta_send_end, mpix_delta_send_end_count, mpix_delta_wait
  external :: mpix_delta_recv, mpix_delta_wait_data, mpix_delta_recv_wait, mpi_delta_send_begin, mpi_delta_recv
  integer, asynchronous :: source(n), sink(n)
  integer :: rank, request, status(MPI_STATUS_SIZE), ierror, k, got
  integer(kind=MPI_COUNT_KIND) :: half, rest
  call mpi_init(ierror)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierror)
  half = 4 * (n / 2)
  sink = -1
  call mpix_delta_recv(sink, n, MPI_INTEGER, 1 - rank, 3, MPI_COMM_WORLD, status, ierror)
  if (ierror /= MPI_SUCCESS .or. status(MPI_SOURCE) /= 1 - rank .or. status(MPI_TAG) /= 3) stop 2
  call mpix_delta_send_begin(source, n, MPI_INTEGER, 1 - rank, 3, MPI_COMM_WORLD, request, ierror)
  if (ierror /= MPI_SUCCESS) stop 3
  source(1:n / 2) = [(k, k = 1, n / 2)]
  call mpix_delta_send_data(request, source, half, ierror)
  if (ierror /= MPI_SUCCESS) stop 4
  call mpix_delta_wait_data(sink, half, ierror)
  if (ierror /= MPI_SUCCESS) stop 5
  do k = 1, n / 2
    if (sink(k) /= k) stop 6
    source(n / 2 + k) = 2 * sink(k)
  end do
  call mpix_delta_send_end(request, ierror)
  if (ierror /= MPI_SUCCESS) stop 7
  call mpix_delta_wait(request, status, ierror)
  if (ierror /= MPI_SUCCESS .or. request /= MPI_REQUEST_NULL) stop 8
  call mpix_delta_recv_wait(sink, status, ierror)
  call mpi_get_count(status, MPI_INTEGER, got, ierror)
  if (got /= n .or. any(sink(n / 2 + 1:) /= [(2 * k, k = 1, n / 2)])) stop 9
  rest = 10
  call mpi_delta_recv(sink, n, MPI_INTEGER, 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call mpi_delta_send_begin(source, n, MPI_INTEGER, 1 - rank, 4, MPI_COMM_WORLD, request, ierror)
  call mpix_delta_send_end_count(request, rest, ierror)
  call mpix_delta_wait(request, MPI_STATUS_IGNORE, ierror)
  call mpix_delta_recv_wait(sink, status, ierror)
  call mpi_get_count(status, MPI_INTEGER, got, ierror)
  if (got /= 10 .or. any(sink(1:10) /= source(1:10))) stop 10
  call mpi_finalize(ierror)
end program

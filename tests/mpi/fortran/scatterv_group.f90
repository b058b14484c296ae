! SPDX-License-Identifier: BSD-3-Clause
! A scatterv by a compiled and by a dynamic group: the root's blocks come.
program main
  use mpi
  implicit none
  external :: mpix_scatterv_open_group, mpix_scatterv_data_movement, mpix_scatterv_close_group, mpix_scatterv_dynamic
  integer, allocatable :: source(:), counts(:), displs(:)
  integer :: sink(10), rank, ranks, coll, ierror, n, k
  call mpi_init(ierror)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierror)
  call mpi_comm_size(MPI_COMM_WORLD, ranks, ierror)
  allocate(source(10 * ranks), counts(0:ranks - 1), displs(0:ranks - 1))
  do n = 0, ranks - 1
    counts(n) = mod(n, 3) + 1
    displs(n) = 10 * n
  end do
  source = [(k, k = 0, 10 * ranks - 1)]
  call mpix_scatterv_open_group(counts, displs, MPI_INTEGER, counts(rank), MPI_INTEGER, 1, MPI_COMM_WORLD, coll, ierror)
  if (ierror /= MPI_SUCCESS) stop 2
  do k = 1, 3
    sink = -1
    call mpix_scatterv_data_movement(source, sink, coll, ierror)
    if (ierror /= MPI_SUCCESS) stop 3
    call compare
  end do
  call mpix_scatterv_close_group(coll, ierror)
  if (ierror /= MPI_SUCCESS .or. coll /= 0) stop 4
  sink = -1
  call mpix_scatterv_dynamic(source, counts, displs, MPI_INTEGER, sink, counts(rank), MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
  call compare
  call mpi_finalize(ierror)
contains
  subroutine compare
    if (any(sink(1:counts(rank)) /= [(10 * rank + n, n = 0, counts(rank) - 1)])) stop 5
    if (any(sink(counts(rank) + 1:) /= -1)) stop 6
  end subroutine
end program

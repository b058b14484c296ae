! SPDX-License-Identifier: BSD-3-Clause
! The sum of the ranks.
program hello
  use mpi_f08
  implicit none
  integer :: rank, size, total
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(i0, a, i0)', size, ' ranks, sum ', total
  call MPI_Finalize()
  if (total /= size * (size - 1) / 2) error stop 1
end program hello

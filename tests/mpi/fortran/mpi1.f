C     SPDX-License-Identifier: BSD-3-Clause
C     Procedures that MPI-3.0 removed, for programs of MPI-1's time.
C     2 ranks.
      program mpi1
      implicit none
      include 'mpif.h'
      integer ierr, rank, blocks(2), places(2), types(2), newtype
      integer extent, lb, ub, base, handler, got, code, block(4)
      integer (kind=MPI_ADDRESS_KIND) place
      common /data/ block
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      blocks(1) = 1
      blocks(2) = 2
      places(1) = 0
      places(2) = 8
      types(1) = MPI_INTEGER
      types(2) = MPI_REAL
      call MPI_TYPE_STRUCT(2, blocks, places, types, newtype, ierr)
      call MPI_TYPE_EXTENT(newtype, extent, ierr)
      call MPI_TYPE_LB(newtype, lb, ierr)
      call MPI_TYPE_UB(newtype, ub, ierr)
      if (extent .ne. 16 .or. lb .ne. 0 .or. ub .ne. 16) call stopit()
      call MPI_TYPE_FREE(newtype, ierr)

      call MPI_TYPE_HINDEXED(2, blocks, places, MPI_INTEGER, newtype,
     &                       ierr)
      call MPI_TYPE_COMMIT(newtype, ierr)
      block(1) = 1
      block(2) = -1
      block(3) = 3
      block(4) = 4
      if (rank .eq. 1) block(1) = 0
      if (rank .eq. 1) block(4) = 0
      call MPI_BCAST(block, 1, newtype, 0, MPI_COMM_WORLD, ierr)
      if (block(1) .ne. 1 .or. block(4) .ne. 4) call stopit()
      call MPI_TYPE_FREE(newtype, ierr)
      call MPI_TYPE_HVECTOR(2, 1, 8, MPI_INTEGER, newtype, ierr)
      call MPI_TYPE_EXTENT(newtype, extent, ierr)
      if (extent .ne. 12) call stopit()
      call MPI_TYPE_FREE(newtype, ierr)

      call MPI_ERRHANDLER_SET(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
      call MPI_ERRHANDLER_GET(MPI_COMM_WORLD, handler, ierr)
      if (handler .ne. MPI_ERRORS_RETURN) call stopit()
C     An address of today fits an INTEGER or is an error, never cut.
      call MPI_ADDRESS(block, base, code)
      call MPI_ERROR_CLASS(code, got, ierr)
      call MPI_GET_ADDRESS(block, place, ierr)
      if (place .le. huge(base)) then
        if (got .ne. MPI_SUCCESS .or. base .ne. place) call stopit()
      else
        if (got .ne. MPI_ERR_VALUE_TOO_LARGE) call stopit()
      end if
      call MPI_FINALIZE(ierr)
      end

      subroutine stopit()
      implicit none
      include 'mpif.h'
      integer ierr
      print *, 'mpi1: a result is wrong'
      call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
      end

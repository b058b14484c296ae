! SPDX-License-Identifier: BSD-3-Clause
! Module mpi: explicit interfaces take buffers of every type and rank, absolute addresses, sizes of types,
! memory by C pointer and by integer, profiling names. 2 ranks.
program mpi_module
  use mpi
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ierr

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call buffers()
  call sizes()
  call memory()
  call PMPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)

contains

  subroutine check(truth, what)
    logical, intent(in) :: truth
    character(len=*), intent(in) :: what
    if (truth) return
    print *, 'mpi_module: not so: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine check

  ! Scalars, arrays of any rank, sections (packed by the compiler), characters and derived types as buffers.
  subroutine buffers()
    type :: pair
      sequence
      integer :: a, b
    end type pair
    integer :: scalar, matrix(3, 4), other, count, status(MPI_STATUS_SIZE)
    character(len=8) :: text
    type(pair) :: p
    real(kind=8) :: in(2), out(2)

    other = 1 - rank
    scalar = rank
    call MPI_Bcast(scalar, 1, MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)
    call check(scalar == 1, 'a scalar buffer')
    matrix = rank
    call MPI_Allreduce(MPI_IN_PLACE, matrix, size(matrix), MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(all(matrix == 1), 'a matrix')
    matrix(2, :) = [1, 2, 3, 4] + 10 * rank
    if (rank == 0) then
      call MPI_Send(matrix(2, :), 4, MPI_INTEGER, other, 1, MPI_COMM_WORLD, ierr)
    else
      call MPI_Recv(matrix(2, :), 4, MPI_INTEGER, other, 1, MPI_COMM_WORLD, status, ierr)
      call MPI_Get_count(status, MPI_INTEGER, count, ierr)
      call check(count == 4 .and. all(matrix(2, :) == [1, 2, 3, 4]) .and. matrix(1, 1) == 1, 'a section')
    end if
    text = 'nothing'
    if (rank == 1) text = 'it came'
    call MPI_Bcast(text, len(text), MPI_CHARACTER, 1, MPI_COMM_WORLD, ierr)
    call check(text == 'it came', 'characters')
    p = pair(rank, rank + 1)
    call MPI_Bcast(p, 2, MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)
    call check(p%a == 1 .and. p%b == 2, 'a derived type')
    out = rank
    call MPI_Reduce(out, in, 2, MPI_REAL8, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
    call check(rank == 1 .or. all(in == 1), 'MPI_REAL8')
  end subroutine buffers

  subroutine sizes()
    integer :: bytes
    real(kind=8) :: x(2, 2)
    complex :: z
    logical :: l
    call MPI_Sizeof(x, bytes, ierr)
    call check(bytes == 8, 'MPI_Sizeof of an array gives an element')
    call MPI_Sizeof(z, bytes, ierr)
    call check(bytes == 8, 'MPI_Sizeof of a complex')
    call MPI_Sizeof(l, bytes, ierr)
    call check(bytes == 4, 'MPI_Sizeof of a logical')
    call MPI_Type_size(MPI_DOUBLE_COMPLEX, bytes, ierr)
    call check(bytes == 16, 'MPI_DOUBLE_COMPLEX')
    call MPI_Type_size(MPI_2DOUBLE_PRECISION, bytes, ierr)
    call check(bytes == 16, 'MPI_2DOUBLE_PRECISION')
  end subroutine sizes

  subroutine memory()
    type(c_ptr) :: pointer_c
    integer(MPI_ADDRESS_KIND) :: address, first
    integer, pointer :: words(:)
    character(len=:), allocatable :: room
    integer :: bytes

    call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, pointer_c, ierr)
    call c_f_pointer(pointer_c, words, [10])
    words = rank
    call MPI_Get_address(words, address, ierr)
    call check(address == transfer(pointer_c, address), 'an address')
    call MPI_Get_address(words(2), first, ierr)
    call check(MPI_Aint_diff(first, address) == 4, 'MPI_Aint_diff')
    call MPI_Free_mem(words, ierr)
    call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, address, ierr)
    call check(address /= 0, 'memory by an integer')
    pointer_c = transfer(address, pointer_c)
    call c_f_pointer(pointer_c, words, [10])
    call MPI_Free_mem(words, ierr)

    allocate(character(len=MPI_BSEND_OVERHEAD + 100) :: room)
    call MPI_Buffer_attach(room, len(room), ierr)
    call MPI_Bsend(rank, 1, MPI_INTEGER, 1 - rank, 2, MPI_COMM_WORLD, ierr)
    call MPI_Recv(bytes, 1, MPI_INTEGER, 1 - rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call check(bytes == 1 - rank, 'a buffered send')
    call MPI_Buffer_detach(room, bytes, ierr)
    call check(bytes == len(room), 'a detached buffer')
  end subroutine memory
end program mpi_module

! SPDX-License-Identifier: BSD-3-Clause
! Module mpi_f08: typed handles, statuses, no ierror, callbacks with interfaces, large counts, C pointers. 2 ranks.
module own
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: errors = 0

contains

  subroutine check(truth, what)
    logical, intent(in) :: truth
    character(len=*), intent(in) :: what
    if (truth) return
    print *, 'mpi_f08: not so: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine check

  subroutine larger(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    real, pointer :: in(:), inout(:)
    call check(datatype == MPI_REAL, 'the type of a reduction')
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = max(in, inout)
  end subroutine larger

  subroutine on_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    if (comm /= MPI_COMM_NULL .and. error_code /= MPI_SUCCESS) errors = errors + 1
  end subroutine on_error

  subroutine copy_attribute(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    attribute_val_out = attribute_val_in + extra_state
    flag = oldcomm == MPI_COMM_SELF
    ierror = MPI_SUCCESS
  end subroutine copy_attribute
end module own

program f08
  use own
  implicit none
  integer :: rank, other

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  other = 1 - rank
  call messages()
  call conversions()
  call callbacks()
  call large_counts()
  call profiling()
  call memory()
  call MPI_Finalize()

contains

  subroutine messages()
    type(MPI_Request) :: requests(3)
    type(MPI_Status) :: statuses(3), status
    integer :: in(2), out(2), index, ierror, count
    logical :: flag
    out = [rank, 7]
    call MPI_Irecv(in, 2, MPI_INTEGER, other, MPI_ANY_TAG, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(out, 2, MPI_INTEGER, other, 4, MPI_COMM_WORLD, requests(2), ierror)
    call check(ierror == MPI_SUCCESS, 'an ierror that is asked for')
    requests(3) = MPI_REQUEST_NULL
    call MPI_Waitall(3, requests, statuses)
    call check(statuses(1)%MPI_SOURCE == other .and. statuses(1)%MPI_TAG == 4, 'an array of statuses')
    call MPI_Get_count(statuses(1), MPI_INTEGER, count)
    call check(count == 2 .and. all(in == [other, 7]), 'a message')
    call check(requests(1) == MPI_REQUEST_NULL .and. .not. requests(2) /= MPI_REQUEST_NULL, 'finished requests')
    call MPI_Isend(out, 2, MPI_INTEGER, MPI_PROC_NULL, 4, MPI_COMM_WORLD, requests(2))
    call MPI_Waitany(count=3, array_of_requests=requests, index=index, status=MPI_STATUS_IGNORE)
    call check(index == 2, 'the second request is number 2')
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
    call MPI_Sendrecv(out, 1, MPI_INTEGER, other, 1, in, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, status)
    call MPI_Test_cancelled(status, flag)
    call check(.not. flag, 'a LOGICAL')
    call MPI_Allreduce(MPI_IN_PLACE, out, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(out == [1, 14]), 'MPI_IN_PLACE')
  end subroutine messages

  subroutine conversions()
    type(MPI_Status) :: typed
    integer :: plain(MPI_STATUS_SIZE), bytes
    typed%MPI_SOURCE = 1
    typed%MPI_TAG = 2
    typed%MPI_ERROR = 3
    call MPI_Status_f082f(typed, plain)
    call check(plain(MPI_SOURCE) == 1 .and. plain(MPI_TAG) == 2 .and. plain(MPI_ERROR) == 3, 'a status as an array')
    plain(MPI_TAG) = 9
    call MPI_Status_f2f08(plain, typed)
    call check(typed%MPI_TAG == 9 .and. typed%MPI_SOURCE == 1, 'an array as a status')
    call MPI_Sizeof(plain, bytes)
    call check(bytes == 4, 'MPI_Sizeof')
    call check(MPI_COMM_WORLD%MPI_VAL == 257, 'the value of the standard ABI')
    call check(MPI_Wtime() > 0 .and. MPI_Aint_add(1_MPI_ADDRESS_KIND, 2_MPI_ADDRESS_KIND) == 3, 'functions')
  end subroutine conversions

  subroutine callbacks()
    type(MPI_Op) :: op
    type(MPI_Errhandler) :: handler
    type(MPI_Comm) :: comm
    real :: x(2)
    integer :: key, ierror, class
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Op_create(larger, .true., op)
    x = [real(rank), -real(rank)]
    call MPI_Allreduce(MPI_IN_PLACE, x, 2, MPI_REAL, op, MPI_COMM_WORLD)
    call check(all(x == [1.0, 0.0]), 'a procedure of the program reduces')
    call MPI_Op_free(op)
    call check(op == MPI_OP_NULL, 'a freed operation')

    call MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, key, 10_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, 5_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_get_attr(comm, key, value, flag)
    call check(flag .and. value == 15, 'a copied attribute')
    call MPI_Comm_create_errhandler(on_error, handler)
    call MPI_Comm_set_errhandler(comm, handler)
    call MPI_Send(x, 1, MPI_REAL, 42, 0, comm, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_RANK .and. errors == 1, 'an error handler')
    call MPI_Errhandler_free(handler)
    call MPI_Comm_free(comm)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, key)
    call MPI_Comm_free_keyval(key)
  end subroutine callbacks

  subroutine large_counts()
    integer(MPI_COUNT_KIND) :: count, bytes
    type(MPI_Status) :: status
    type(MPI_Datatype) :: vector
    integer :: out(4), in(4)
    out = rank
    count = 4
    if (rank == 0) then
      call MPI_Send(out, count, MPI_INTEGER, other, 3, MPI_COMM_WORLD)
    else
      call MPI_Recv(in, count, MPI_INTEGER, other, 3, MPI_COMM_WORLD, status)
      call MPI_Get_count(status, MPI_INTEGER, bytes)
      call check(bytes == 4 .and. all(in == 0), 'a count of MPI_COUNT_KIND')
    end if
    call MPI_Type_contiguous(2_MPI_COUNT_KIND**32, MPI_INTEGER, vector)
    call MPI_Type_size(vector, bytes)
    call check(bytes == 2_MPI_COUNT_KIND**34, 'a type of 16 GiB')
    call MPI_Type_free(vector)
  end subroutine large_counts

  subroutine profiling()
    interface ! what lies where an argument more would be
      subroutine with_another(level, another) bind(C, name="mpi_pcontrol_")
        import :: c_int
        integer(c_int), intent(in) :: level
        integer(c_int), intent(inout) :: another
      end subroutine with_another
    end interface
    integer :: another
    another = 42
    call with_another(1, another)
    call check(another == 42, 'MPI_Pcontrol has one argument')
    call MPI_Pcontrol(1)
    call PMPI_Pcontrol(1)
  end subroutine profiling

  subroutine memory()
    type(c_ptr) :: room, again
    integer :: bytes
    integer, pointer :: words(:)
    call MPI_Alloc_mem(int(MPI_BSEND_OVERHEAD + 64, MPI_ADDRESS_KIND), MPI_INFO_NULL, room)
    call c_f_pointer(room, words, [16])
    call MPI_Buffer_attach(words, MPI_BSEND_OVERHEAD + 64)
    call MPI_Buffer_detach(again, bytes)
    call check(c_associated(room, again) .and. bytes == MPI_BSEND_OVERHEAD + 64, 'a detached buffer as a C pointer')
    call MPI_Free_mem(words)
    call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0)
    call MPI_Buffer_detach(again, bytes)
    call check(c_associated(again, c_loc(MPI_BUFFER_AUTOMATIC)), 'a detached automatic buffer')
  end subroutine memory
end program f08

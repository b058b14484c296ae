! SPDX-License-Identifier: BSD-3-Clause
! Generalized requests: the library calls the program's procedures, with the extra state. 2 ranks.
module calls
  implicit none
  integer :: queries = 0, frees = 0, cancels = 0
end module calls

program grequest
  use mpi
  use calls
  implicit none
  external :: query_fn, free_fn, cancel_fn
  integer :: ierr, request, status(MPI_STATUS_SIZE), count
  integer(MPI_ADDRESS_KIND) :: state = 77
  logical :: flag

  call MPI_Init(ierr)
  call MPI_Grequest_start(query_fn, free_fn, cancel_fn, state, request, ierr)
  call MPI_Test(request, flag, status, ierr)
  call check(.not. flag, 'a generalized request is not complete by itself')
  call MPI_Cancel(request, ierr)
  call MPI_Grequest_complete(request, ierr)
  call MPI_Wait(request, status, ierr)
  call MPI_Get_elements(status, MPI_BYTE, count, ierr)
  call check(queries > 0 .and. frees == 1 .and. cancels == 1, 'the functions of a generalized request')
  call check(state == 0, 'the state that the last function left')
  call check(count == 77 .and. status(MPI_SOURCE) == 3, 'the status that its function made')
  call MPI_Finalize(ierr)

contains

  subroutine check(truth, what)
    logical, intent(in) :: truth
    character(len=*), intent(in) :: what
    if (truth) return
    print *, 'grequest: not so: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine check
end program grequest

subroutine query_fn(extra_state, status, ierror)
  use mpi
  use calls
  implicit none
  integer(MPI_ADDRESS_KIND) :: extra_state
  integer :: status(MPI_STATUS_SIZE), ierror
  queries = queries + 1
  status(MPI_SOURCE) = 3
  status(MPI_TAG) = 4
  call MPI_Status_set_elements(status, MPI_BYTE, int(extra_state), ierror)
  call MPI_Status_set_cancelled(status, .false., ierror)
end subroutine query_fn

subroutine free_fn(extra_state, ierror)
  use mpi
  use calls
  implicit none
  integer(MPI_ADDRESS_KIND) :: extra_state
  integer :: ierror
  frees = frees + int(extra_state / 77)
  extra_state = 0
  ierror = MPI_SUCCESS
end subroutine free_fn

subroutine cancel_fn(extra_state, complete, ierror)
  use mpi
  use calls
  implicit none
  integer(MPI_ADDRESS_KIND) :: extra_state
  logical :: complete
  integer :: ierror
  if (.not. complete) cancels = cancels + int(extra_state / 77)
  ierror = MPI_SUCCESS
end subroutine cancel_fn

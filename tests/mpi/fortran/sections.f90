! SPDX-License-Identifier: BSD-3-Clause
! Module mpi_f08: sections of arrays that are not contiguous are buffers of every kind of call, also of those that end
! later. What lies between the elements stays as it is. 2 ranks.
module own
  use mpi_f08
  implicit none
  integer, parameter :: gap = -77
  type particle
    integer :: id
    real(8) :: place(3)
    integer :: kind
  end type particle
  integer :: rank, other

contains

  subroutine check(truth, what)
    logical, intent(in) :: truth
    character(len=*), intent(in) :: what
    if (truth) return
    print *, 'sections: not so on rank ', rank, ': ', what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine check

  ! Numbers that say where they are and whose.
  elemental integer function mark(owner, i)
    integer, intent(in) :: owner, i
    mark = 100000 * (owner + 1) + i
  end function mark

  function numbers(owner, n) result(v)
    integer, intent(in) :: owner, n
    integer :: v(n), i
    v = [(mark(owner, i), i = 1, n)]
  end function numbers

  ! A message from a section of rank 0 to one of rank 1 that began before rank 0 filled its own in.
  subroutine later(buf, n, what)
    integer, asynchronous :: buf(:, :)
    integer, intent(in) :: n
    character(len=*), intent(in) :: what
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: count
    if (rank == 0) then
      buf = reshape(numbers(0, size(buf)), shape(buf))
      call MPI_Isend(buf, n, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
    else
      call MPI_Irecv(buf, n, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, request)
      call MPI_Wait(request, status)
      call MPI_Get_count(status, MPI_INTEGER, count)
      call check(count == n, what // ': count')
      associate (got => reshape(buf, [size(buf)]), sent => numbers(0, size(buf)))
        call check(all(got(:n) == sent(:n)), what // ': data')
        call check(all(got(n + 1:) == gap), what // ': elements beyond the message')
      end associate
    end if
  end subroutine later
end module own

program sections
  use own
  implicit none
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  other = 1 - rank
  call check(MPI_SUBARRAYS_SUPPORTED .and. MPI_ASYNC_PROTECTS_NONBLOCKING, 'what the module says')
  call ranks()
  call descriptors()
  call derived()
  call datatypes()
  call point_to_point()
  call kept()
  call collectives()
  call gathered()
  call reductions()
  call neighbours()
  call one_sided()
  call packed()
  call partitioned()
  call refused()
  call large()
  call MPI_Finalize()

contains

  ! Sections of rank 1 to 4, all strides, and fewer elements than there are.
  subroutine ranks()
    integer, asynchronous :: a(6, 8), four(3, 4, 5, 2)
    type(MPI_Request) :: requests(2)
    integer :: i, got(3, 2, 3, 2), expected(3, 2, 3, 2)
    a = gap
    call later(a(:, 2:8:2), 24, 'columns')
    if (rank == 1) call check(all(a(:, 1:7:2) == gap), 'columns between')
    a = gap
    call later(a(2:5, :), 32, 'rows')
    if (rank == 1) call check(all(a(1, :) == gap) .and. all(a(6, :) == gap), 'rows between')
    a = gap
    call later(a(6:1:-1, 8:1:-3), 18, 'backwards')
    if (rank == 1) call check(all(a(:, [1, 3, 4, 6, 7]) == gap), 'columns between, backwards')
    if (rank == 1) call check(a(6, 8) == mark(0, 1) .and. a(1, 2) == mark(0, 18), 'order of what goes backwards')
    a = gap
    call later(a(1:5:2, ::3), 7, 'part of a section')
    a = gap
    call later(a(3:2, :), 0, 'no rows')
    call later(a(::2, 5:4), 0, 'no columns')
    four = gap
    got = gap
    expected = reshape(numbers(0, size(expected)), shape(expected))
    if (rank == 0) then
      four(:, 1:4:3, 5:1:-2, :) = expected
      call MPI_Isend(four(:, 1:4:3, 5:1:-2, :), size(expected), MPI_INTEGER, 1, 1, MPI_COMM_WORLD, requests(1))
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    else
      call MPI_Irecv(four(3:1:-1, 2:4:2, ::2, 2:1:-1), size(got), MPI_INTEGER, 0, 1, MPI_COMM_WORLD, requests(1))
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
      call check(all(four(3:1:-1, 2:4:2, ::2, 2:1:-1) == expected), 'four dimensions')
      call check(count(four == gap) == size(four) - size(got), 'four dimensions, between')
    end if
    ! One dimension, and a scalar.
    a = gap
    i = gap
    if (rank == 0) then
      a(4, :) = numbers(0, 8)
      call MPI_Isend(a(4, ::2), 4, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, requests(1))
      call MPI_Isend(a(4, 8), 1, MPI_INTEGER, 1, 2, MPI_COMM_WORLD, requests(2))
    else
      call MPI_Irecv(a(2, 7:1:-2), 4, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, requests(1))
      call MPI_Irecv(i, 1, MPI_INTEGER, 0, 2, MPI_COMM_WORLD, requests(2))
    end if
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    if (rank == 1) call check(all(a(2, 7:1:-2) == mark(0, [1, 3, 5, 7])) .and. i == mark(0, 8), 'one dimension')
  end subroutine ranks

  ! Arrays that come by other ways: pointers, allocatable, assumed size and rank, characters, complex numbers' parts.
  subroutine descriptors()
    integer, allocatable, target, asynchronous :: a(:, :)
    integer, pointer, asynchronous :: p(:)
    complex, asynchronous :: z(6)
    character(len=5), asynchronous :: words(4)
    type(MPI_Request) :: request
    integer, allocatable :: none(:)
    allocate (a(0:3, -2:3), none(0))
    a = gap
    p => a(1, :)
    if (rank == 0) p = numbers(0, 6)
    call through(p, 6)
    if (rank == 1) call check(all(a(1, :) == numbers(0, 6)) .and. all(a([0, 2, 3], :) == gap), 'a pointer')
    a = gap
    if (rank == 0) a(::3, :) = reshape(numbers(0, 12), [2, 6])
    call through(a(::3, :), 12)
    if (rank == 1) call check(all(a(::3, :) == reshape(numbers(0, 12), [2, 6])), 'an allocatable')
    a = gap
    if (rank == 0) a = reshape(numbers(0, 24), [4, 6])
    call whole(a)
    if (rank == 1) call check(all(a == reshape(numbers(0, 24), [4, 6])), 'an assumed size')
    z = (0., 0.)
    if (rank == 0) z%im = [1., 2., 3., 4., 5., 6.]
    if (rank == 0) call MPI_Isend(z%im, 6, MPI_REAL, 1, 3, MPI_COMM_WORLD, request)
    if (rank == 1) call MPI_Irecv(z%re, 6, MPI_REAL, 0, 3, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (rank == 1) call check(all(abs(real(z) - [1., 2., 3., 4., 5., 6.]) < .1), 'parts of complex numbers')
    if (rank == 1) call check(all(abs(aimag(z)) < .1), 'the other parts of complex numbers')
    words = '-----'
    if (rank == 0) words = ['alpha', 'betas', 'gamma', 'delta']
    if (rank == 0) call MPI_Isend(words(4:1:-2), 10, MPI_CHARACTER, 1, 3, MPI_COMM_WORLD, request)
    if (rank == 1) call MPI_Irecv(words(2:3)(1:5), 10, MPI_CHARACTER, 0, 3, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (rank == 1) call check(all(words == ['-----', 'delta', 'betas', '-----']), 'words')
    if (rank == 0) call MPI_Isend(words(:)(2:3), 8, MPI_CHARACTER, 1, 3, MPI_COMM_WORLD, request)
    if (rank == 1) call MPI_Irecv(words(:)(4:5), 8, MPI_CHARACTER, 0, 3, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (rank == 1) call check(all(words == ['---lp', 'delet', 'betam', '---el']), 'parts of words')
    if (rank == 0) call MPI_Send(none, 0, MPI_INTEGER, 1, 3, MPI_COMM_WORLD)
    if (rank == 1) call MPI_Recv(none, 0, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    a = gap
    if (rank == 0) a = reshape(numbers(0, 24), [4, 6])
    call anything(a(2, ::2))
    if (rank == 1) call check(all(a(2, ::2) == mark(0, [3, 11, 19])) .and. count(a == gap) == 21, 'class(*)')
    ! An expression has no elements between which something lies.
    if (rank == 0) call MPI_Send(a(:, 2) + 1, 4, MPI_INTEGER, 1, 3, MPI_COMM_WORLD)
    if (rank == 1) call MPI_Recv(a(:, 2:3), 8, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    if (rank == 1) call check(all(a(:, 2) == mark(0, [18, 19, 20, 21])), 'an expression')
    if (rank == 0) call MPI_Send((a(3, [-2, 1, 2])), 3, MPI_INTEGER, 1, 3, MPI_COMM_WORLD)
    if (rank == 1) call MPI_Recv(a(0, ::2), 3, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    if (rank == 1) call check(all(a(0, ::2) == mark(0, [4, 16, 20])), 'an index vector')
  end subroutine descriptors

  subroutine through(x, n)
    type(*), dimension(..), asynchronous :: x
    integer, intent(in) :: n
    type(MPI_Request) :: request
    if (rank == 0) call MPI_Isend(x, n, MPI_INTEGER, 1, 4, MPI_COMM_WORLD, request)
    if (rank == 1) call MPI_Irecv(x, n, MPI_INTEGER, 0, 4, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end subroutine through

  subroutine whole(x)
    integer, asynchronous :: x(2, *)
    call through(x, 24)
  end subroutine whole

  subroutine anything(x)
    class(*), asynchronous :: x(:)
    type(MPI_Request) :: request
    if (rank == 0) call MPI_Isend(x, size(x), MPI_INTEGER, 1, 4, MPI_COMM_WORLD, request)
    if (rank == 1) call MPI_Irecv(x, size(x), MPI_INTEGER, 0, 4, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end subroutine anything

  ! Components of derived types, and derived types themselves.
  subroutine derived()
    type(particle), asynchronous :: some(7), zero
    type(MPI_Datatype) :: type, whole
    type(MPI_Request) :: requests(2)
    integer(MPI_ADDRESS_KIND) :: base, at(3), bytes
    integer :: i
    zero = particle(gap, [0d0, 0d0, 0d0], gap)
    some = zero
    if (rank == 0) some = [(particle(i, [1d0 * i, 2d0 * i, 3d0 * i], -i), i = 1, 7)]
    if (rank == 0) then
      call MPI_Isend(some%id, 7, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, requests(1))
      call MPI_Isend(some(1:7:3)%place(2), 3, MPI_DOUBLE_PRECISION, 1, 2, MPI_COMM_WORLD, requests(2))
    else
      call MPI_Irecv(some%kind, 7, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, requests(1))
      call MPI_Irecv(some(3:1:-1)%place(1), 3, MPI_DOUBLE_PRECISION, 0, 2, MPI_COMM_WORLD, requests(2))
    end if
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    if (rank == 1) then
      call check(all(some%kind == [1, 2, 3, 4, 5, 6, 7]) .and. all(some%id == gap), 'components')
      call check(all(nint(some(1:3)%place(1)) == [14, 8, 2]), 'components of some')
      call check(all(nint(some%place(2)) == 0), 'components beside them')
    end if
    some = zero
    if (rank == 0) some = [(particle(i, [1d0 * i, 2d0 * i, 3d0 * i], -i), i = 1, 7)]
    call MPI_Get_address(some(1), base)
    call MPI_Get_address(some(1)%id, at(1))
    call MPI_Get_address(some(1)%place, at(2))
    call MPI_Get_address(some(1)%kind, at(3))
    bytes = storage_size(zero) / 8
    call MPI_Type_create_struct(3, [1, 3, 1], at - base, [MPI_INTEGER, MPI_DOUBLE_PRECISION, MPI_INTEGER], type)
    call MPI_Type_create_resized(type, 0_MPI_ADDRESS_KIND, bytes, whole)
    call MPI_Type_commit(whole)
    if (rank == 0) call MPI_Isend(some(::2), 4, whole, 1, 1, MPI_COMM_WORLD, requests(1))
    if (rank == 1) call MPI_Irecv(some(7:1:-2), 4, whole, 0, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Type_free(whole)
    call MPI_Type_free(type)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    if (rank == 1) then
      call check(all(some(::2)%id == [7, 5, 3, 1]) .and. all(some(::2)%kind == [-7, -5, -3, -1]), 'derived types')
      call check(all(nint(some(::2)%place(3)) == [21, 15, 9, 3]), 'arrays in derived types')
      call check(all(some(2::2)%id == gap), 'derived types between')
    end if
  end subroutine derived

  ! Datatypes with holes and shifts, and of more or less than an element, mean the elements strung together.
  subroutine datatypes()
    integer, asynchronous :: a(5, 8), v(24)
    type(MPI_Datatype) :: every_third, pairs, some
    type(MPI_Request) :: request
    call MPI_Type_vector(4, 1, 3, MPI_INTEGER, every_third)
    call MPI_Type_contiguous(3, MPI_2INTEGER, pairs)
    call MPI_Type_indexed(3, [2, 3, 1], [7, 1, 11], MPI_INTEGER, some)
    call MPI_Type_commit(every_third)
    call MPI_Type_commit(pairs)
    call MPI_Type_commit(some)

    a = gap
    if (rank == 0) a(2:4, :) = reshape(numbers(0, 24), [3, 8])
    if (rank == 0) call MPI_Isend(a(2:4, :), 2, every_third, 1, 1, MPI_COMM_WORLD, request)
    if (rank == 1) call MPI_Irecv(a(5:1:-2, 8:1:-1), 8, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    v = reshape(a(5:1:-2, 8:1:-1), [24])
    if (rank == 1) call check(all(v(:8) == mark(0, [1, 4, 7, 10, 11, 14, 17, 20])), 'a datatype with holes')
    if (rank == 1) call check(all(v(9:) == gap) .and. all(a(2:4:2, :) == gap), 'beside a datatype with holes')

    a = gap
    if (rank == 0) v = numbers(0, 24)
    if (rank == 0) call MPI_Send(v, 6, MPI_INTEGER, 1, 1, MPI_COMM_WORLD)
    if (rank == 1) call MPI_Recv(a(1:5:4, :), 1, some, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    v(:16) = reshape(a(1:5:4, :), [16])
    if (rank == 1) call check(all(v([8, 9, 2, 3, 4, 12]) == numbers(0, 6)), 'a datatype out of order')
    if (rank == 1) call check(count(a == gap) == 34, 'beside a datatype out of order')

    a = gap
    if (rank == 0) v = numbers(0, 24)
    if (rank == 0) call MPI_Send(v, 12, MPI_INTEGER, 1, 1, MPI_COMM_WORLD)
    if (rank == 1) call MPI_Recv(a(2:4, ::2), 2, pairs, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    if (rank == 1) call check(all(a(2:4, ::2) == reshape(numbers(0, 12), [3, 4])), 'more than an element')
    a = gap
    if (rank == 0) call MPI_Send(v, 19, MPI_BYTE, 1, 1, MPI_COMM_WORLD)
    if (rank == 1) call MPI_Recv(a(2, :), 19, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    if (rank == 1) call check(all(a(2, :4) == numbers(0, 4)) .and. all(a(2, 6:) == gap), 'bytes, part of an element')
    call MPI_Type_free(every_third)
    call MPI_Type_free(pairs)
    call MPI_Type_free(some)
  end subroutine datatypes

  ! Each kind of send and receive once.
  subroutine point_to_point()
    integer, asynchronous :: a(4, 10), b(4, 10)
    integer, target :: room(4096)
    type(MPI_Request) :: requests(10)
    type(MPI_Message) :: message
    integer :: i
    b = gap
    a = reshape(numbers(rank, 40), [4, 10])
    call MPI_Buffer_attach(room, 4 * size(room))
    call MPI_Irecv(b(1::2, 1), 2, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(b(1::2, 2), 2, MPI_INTEGER, other, 2, MPI_COMM_WORLD, requests(2))
    call MPI_Irecv(b(1::2, 3), 2, MPI_INTEGER, other, 3, MPI_COMM_WORLD, requests(3))
    call MPI_Irecv(b(1::2, 4), 2, MPI_INTEGER, other, 4, MPI_COMM_WORLD, requests(4))
    call MPI_Irecv(b(1::2, 5), 2, MPI_INTEGER, other, 5, MPI_COMM_WORLD, requests(5))
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Issend(a(1::2, 1), 2, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(6))
    call MPI_Irsend(a(1::2, 2), 2, MPI_INTEGER, other, 2, MPI_COMM_WORLD, requests(7))
    call MPI_Ibsend(a(1::2, 3), 2, MPI_INTEGER, other, 3, MPI_COMM_WORLD, requests(8))
    call MPI_Bsend(a(1::2, 4), 2, MPI_INTEGER, other, 4, MPI_COMM_WORLD)
    call MPI_Rsend(a(1::2, 5), 2, MPI_INTEGER, other, 5, MPI_COMM_WORLD)
    call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE)
    call MPI_Sendrecv(a(1::2, 6), 2, MPI_INTEGER, other, 6, b(1::2, 6), 2, MPI_INTEGER, other, 6, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call MPI_Isendrecv(a(1::2, 7), 2, MPI_INTEGER, other, 6, b(1::2, 7), 2, MPI_INTEGER, other, 6, MPI_COMM_WORLD, &
      requests(1))
    b(1::2, 8:9) = a(1::2, 8:9)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call MPI_Sendrecv_replace(b(1::2, 8), 2, MPI_INTEGER, other, 8, other, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Isendrecv_replace(b(1::2, 9), 2, MPI_INTEGER, other, 9, other, 9, MPI_COMM_WORLD, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call MPI_Isend(a(1::2, 10), 2, MPI_INTEGER, other, 10, MPI_COMM_WORLD, requests(1))
    call MPI_Mprobe(other, 10, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE)
    call MPI_Imrecv(b(1::2, 10), 2, MPI_INTEGER, message, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    do i = 1, 10
      call check(all(b(1::2, i) == mark(other, [4 * i - 3, 4 * i - 1])), 'point to point, way ' // char(64 + i))
    end do
    call check(all(b(2::2, :) == gap), 'point to point, between')
    block
      use, intrinsic :: iso_c_binding, only: c_ptr
      type(c_ptr) :: again
      call MPI_Buffer_detach(again, i)
    end block
    ! The large counts.
    b = gap
    call MPI_Sendrecv(a(::3, ::3), 8_MPI_COUNT_KIND, MPI_INTEGER, other, 6, b(::3, ::3), 8_MPI_COUNT_KIND, &
      MPI_INTEGER, other, &
      6, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(b(::3, ::3) - a(::3, ::3) == 100000 * (other - rank)), 'a large count')
    call check(count(b == gap) == 32, 'a large count, between')
  end subroutine point_to_point

  ! Persistent: the same section at every start.
  subroutine kept()
    integer, asynchronous :: a(4, 6), b(4, 6), sum(4, 6)
    type(MPI_Request) :: requests(3)
    integer :: turn
    b = gap
    sum = gap
    call MPI_Send_init(a(2:3, ::2), 6, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Recv_init(b(4:1:-3, 2::2), 6, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Allreduce_init(a(2:3, ::2), sum(::2, 2::2), 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &
      requests(3))
    do turn = 1, 3
      a = turn * (rank + 1)
      call MPI_Startall(3, requests)
      call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
      call check(all(b(1::3, 2::2) == turn * (other + 1)), 'persistent')
      call check(all(sum(::2, 2::2) == 3 * turn), 'a persistent reduction')
    end do
    call check(all(b(2:3, :) == gap) .and. all(b(:, ::2) == gap), 'persistent, between')
    call check(all(sum(2::2, :) == gap) .and. all(sum(:, ::2) == gap), 'a persistent reduction, between')
    do turn = 1, 3
      call MPI_Request_free(requests(turn))
    end do
  end subroutine kept

  subroutine collectives()
    integer, asynchronous :: a(5, 6), b(5, 6)
    type(MPI_Request) :: request
    a = gap
    if (rank == 0) a(::2, 2::2) = reshape(numbers(0, 9), [3, 3])
    call MPI_Bcast(a(::2, 2::2), 9, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check(all(a(::2, 2::2) == reshape(numbers(0, 9), [3, 3])) .and. count(a == gap) == 21, 'bcast')
    a = gap
    if (rank == 1) a(1:2, :) = reshape(numbers(1, 12), [2, 6])
    call MPI_Ibcast(a(1:2, :), 7, MPI_INTEGER, 1, MPI_COMM_WORLD, request)
    ! What the collective does not write is the program's.
    if (rank == 0) a(1, 6) = 5
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (rank == 0) call check(all(a(1, 1:4) == mark(1, [1, 3, 5, 7])) .and. a(1, 6) == 5, 'ibcast')
    if (rank == 0) call check(count(a == gap) == 22, 'ibcast, between')
    b = gap
    a = reshape(numbers(rank, 30), [5, 6])
    call MPI_Alltoall(a(2:3, ::2), 3, MPI_INTEGER, b(5:4:-1, 6:1:-2), 3, MPI_INTEGER, MPI_COMM_WORLD)
    call check(same(reshape(b(5:4:-1, 6:1:-2), [6]), 3 * rank), 'alltoall')
    b = gap
    call MPI_Ialltoallw(a(2:3, ::2), [3, 3], [0, 12], [MPI_INTEGER, MPI_INTEGER], b(1:2, ::2), [3, 3], [12, 0], &
      [MPI_INTEGER, MPI_INTEGER], MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(same(cshift(reshape(b(1:2, ::2), [6]), 3), 3 * rank), 'ialltoallw')
    call check(count(b == gap) == 24, 'ialltoallw, between')
    b = gap
    call MPI_Alltoallv(a(2:3, ::2), [2, 3], [4, 0], MPI_INTEGER, b(1:2, ::2), [2 + rank, 2 + rank], [3 - 3 * rank, &
      0 + 3 * rank], &
      MPI_INTEGER, MPI_COMM_WORLD)
    call check(count(b == gap) == 26 - 2 * rank, 'alltoallv')
  end subroutine collectives

  ! Half of them mine, half the other's: elements [at, at + 3) of a(2:3, ::2), strung together, of each.
  logical function same(got, at)
    integer, intent(in) :: got(6), at
    integer :: a(5, 6), piece(6), owner
    same = .true.
    do owner = 0, 1
      a = reshape(numbers(owner, 30), [5, 6])
      piece = reshape(a(2:3, ::2), [6])
      same = same .and. all(got(3 * owner + 1:3 * owner + 3) == piece(at + 1:at + 3))
    end do
  end function same

  subroutine gathered()
    integer, asynchronous :: a(5, 6), b(5, 6), v(10)
    type(MPI_Request) :: request
    a = reshape(numbers(rank, 30), [5, 6])
    b = gap
    call MPI_Gatherv(a(rank + 1, ::2), 2 + rank, MPI_INTEGER, b(2:4, 1::3), [2, 3], [4, 0], MPI_INTEGER, 0, &
      MPI_COMM_WORLD)
    v(:6) = reshape(b(2:4, 1::3), [6])
    if (rank == 0) call check(all(v(:6) == [mark(1, [2, 12, 22]), gap, mark(0, [1, 11])]), 'gatherv')
    if (rank == 1) call check(all(b == gap), 'gatherv leaves others alone')
    if (rank == 0) call check(count(b == gap) == 25, 'gatherv, between')
    b = gap
    call MPI_Iallgatherv(a(rank + 1, ::2), 2 + rank, MPI_INTEGER, b(2:4, 1::3), [2, 3], [4, 0], MPI_INTEGER, &
      MPI_COMM_WORLD, request)
    b(2, 4) = 17 ! element 4 is no rank's
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    v(:6) = reshape(b(2:4, 1::3), [6])
    call check(all(v(:6) == [mark(1, [2, 12, 22]), 17, mark(0, [1, 11])]), 'iallgatherv')
    b = gap
    call MPI_Gather(a(::4, 2), 2, MPI_INTEGER, b(3, :), 2, MPI_INTEGER, 1, MPI_COMM_WORLD)
    if (rank == 1) call check(all(b(3, :4) == [mark(0, [6, 10]), mark(1, [6, 10])]) .and. count(b == gap) == 26, &
      'gather')
    b = gap
    call MPI_Allgather(a(::4, 2), 2, MPI_INTEGER, b(3, :), 2, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(b(3, :4) == [mark(0, [6, 10]), mark(1, [6, 10])]) .and. count(b == gap) == 26, 'allgather')
    b = gap
    b(4, 3 * rank + 1:3 * rank + 3) = numbers(rank, 3)
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b(4, :), 3, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(b(4, :) == [numbers(0, 3), numbers(1, 3)]) .and. count(b == gap) == 24, 'allgather in place')
    b = gap
    call MPI_Scatter(a(1:2, ::2), 3, MPI_INTEGER, b(:, 2), 3, MPI_INTEGER, 1, MPI_COMM_WORLD)
    v(:6) = reshape(a(1:2, ::2), [6]) + 100000 * (1 - rank)
    call check(all(b(:3, 2) == v(3 * rank + 1:3 * rank + 3)), 'scatter')
    b = gap
    call MPI_Scatterv(a(1:2, ::2), [1, 3], [5, 1], MPI_INTEGER, b(1, :), 1 + 2 * rank, MPI_INTEGER, 1, MPI_COMM_WORLD)
    if (rank == 0) call check(b(1, 1) == v(6) .and. count(b == gap) == 29, 'scatterv')
    if (rank == 1) call check(all(b(1, :3) == v(2:4)) .and. count(b == gap) == 27, 'scatterv, three')
  end subroutine gathered

  subroutine reductions()
    integer, asynchronous :: a(5, 6), b(5, 6)
    type(MPI_Request) :: request
    a = reshape(numbers(0, 30), [5, 6]) * (rank + 1)
    b = gap
    call MPI_Allreduce(a(2::2, 3:1:-1), b(:2, ::2), 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(b(:2, ::2) == 3 * reshape(mark(0, [12, 14, 7, 9, 2, 4]), [2, 3])) .and. count(b == gap) == 24, &
      'allreduce')
    b = gap
    b(:2, ::2) = rank + 1
    call MPI_Iallreduce(MPI_IN_PLACE, b(:2, ::2), 6, MPI_INTEGER, MPI_PROD, MPI_COMM_WORLD, request)
    b(3, 3) = 3
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(b(:2, ::2) == 2) .and. b(3, 3) == 3 .and. count(b == gap) == 23, 'iallreduce in place')
    b = gap
    call MPI_Reduce(a(::3, 2), b(1, ::5), 2, MPI_INTEGER, MPI_MAX, 1, MPI_COMM_WORLD)
    if (rank == 1) call check(all(b(1, ::5) == 2 * mark(0, [6, 9])) .and. count(b == gap) == 28, 'reduce')
    if (rank == 0) call check(all(b == gap), 'reduce leaves others alone')
    b = gap
    call MPI_Reduce_scatter(a(::2, 1:2), b(2, :), [2, 4], MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0) call check(all(b(2, :2) == 3 * mark(0, [1, 3])) .and. count(b == gap) == 28, 'reduce_scatter')
    if (rank == 1) call check(all(b(2, :4) == 3 * mark(0, [5, 6, 8, 10])) .and. count(b == gap) == 26, &
      'reduce_scatter, four')
    b = gap
    call MPI_Scan(a(1, :), b(2, :), 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(b(2, :) == (1 + 2 * rank) * mark(0, [1, 6, 11, 16, 21, 26])), 'scan')
    b = gap
    call MPI_Exscan(a(1, :), b(2, :), 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0) call check(all(b == gap), 'exscan leaves the first rank alone')
    if (rank == 1) call check(all(b(2, :) == mark(0, [1, 6, 11, 16, 21, 26])), 'exscan')
    b = 1
    call MPI_Reduce_local(a(:, 2:6:2), b(:, 1:5:2), 15, MPI_INTEGER, MPI_SUM)
    call check(all(b(:, 1:5:2) == 1 + a(:, 2:6:2)) .and. all(b(:, 2:6:2) == 1), 'reduce_local')
  end subroutine reductions

  subroutine neighbours()
    type(MPI_Comm) :: ring
    integer, asynchronous :: a(5, 6), b(5, 6)
    type(MPI_Request) :: request
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [2], [.true.], .false., ring)
    a = reshape(numbers(rank, 30), [5, 6])
    b = gap
    call MPI_Neighbor_allgather(a(1, ::3), 2, MPI_INTEGER, b(5, :), 2, MPI_INTEGER, ring)
    call check(all(b(5, :4) == mark(other, [1, 16, 1, 16])) .and. count(b == gap) == 26, 'neighbours')
    b = gap
    call MPI_Ineighbor_alltoallv(a(2:3, ::2), [2, 1], [0, 4], MPI_INTEGER, b(2, :), [1, 2], [5, 0], MPI_INTEGER, &
      ring, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(b(2, 6) == mark(other, 22) .and. all(b(2, :2) == mark(other, [2, 3])), 'neighbours, a count for each')
    call check(count(b == gap) == 27, 'neighbours, between')
    call MPI_Comm_free(ring)
  end subroutine neighbours

  subroutine one_sided()
    integer, asynchronous :: window(40), a(5, 6), b(5, 6), before(5, 6)
    type(MPI_Win) :: win
    type(MPI_Request) :: request
    integer(MPI_ADDRESS_KIND), parameter :: at = 0
    window = gap
    a = reshape(numbers(rank, 30), [5, 6])
    b = gap
    before = gap
    call MPI_Win_create(window, 160_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    call MPI_Put(a(2:3, ::2), 6, MPI_INTEGER, other, at, 6, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(all(window(:6) == mark(other, [2, 3, 12, 13, 22, 23])) .and. window(7) == gap, 'put')
    call MPI_Get(b(5:1:-4, ::2), 6, MPI_INTEGER, other, at, 6, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(all(b(5:1:-4, ::2) == reshape(mark(rank, [2, 3, 12, 13, 22, 23]), [2, 3])) .and. count(b == gap) == &
      24, 'get')
    call MPI_Accumulate(a(2:3, ::2), 6, MPI_INTEGER, other, at, 6, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call check(all(window(:6) == 2 * mark(other, [2, 3, 12, 13, 22, 23])), 'accumulate')
    call MPI_Win_fence(0, win) ! what comes next changes what was looked at
    call MPI_Get_accumulate(a(1, ::2), 3, MPI_INTEGER, before(:, 2:2), 3, MPI_INTEGER, other, at, 3, MPI_INTEGER, &
      MPI_REPLACE, win)
    call MPI_Win_fence(0, win)
    call check(all(before(:3, 2) == 2 * mark(rank, [2, 3, 12])) .and. all(window(:3) == mark(other, [1, 11, 21])), &
      'get_accumulate')
    call MPI_Win_fence(0, win)
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win)
    call MPI_Rput(a(4, ::3), 2, MPI_INTEGER, other, 20_MPI_ADDRESS_KIND, 2, MPI_INTEGER, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Win_unlock(other, win)
    call MPI_Barrier(MPI_COMM_WORLD)
    call check(all(window(21:22) == mark(other, [4, 19])), 'rput')
    call MPI_Win_free(win)
  end subroutine one_sided

  subroutine packed()
    integer :: a(5, 6), b(5, 6), position, bytes
    integer(MPI_ADDRESS_KIND) :: place, size
    character(len=1) :: room(64, 4)
    a = reshape(numbers(rank, 30), [5, 6])
    b = gap
    room = '-'
    position = 0
    call MPI_Pack(a(::4, ::2), 6, MPI_INTEGER, room(::2, 1:3:2), 64, position, MPI_COMM_WORLD)
    bytes = position
    position = 0
    call MPI_Unpack(room(::2, 1:3:2), bytes, position, b(3:2:-1, 2::2), 6, MPI_INTEGER, MPI_COMM_WORLD)
    call check(bytes == 24 .and. position == bytes, 'what is packed')
    call check(all(b(3:2:-1, 2::2) == a(::4, ::2)) .and. count(b == gap) == 24, 'pack')
    call check(all(room(2::2, :) == '-') .and. all(room(:, 2) == '-'), 'pack, between')
    b = gap
    place = 0
    call MPI_Pack_external_size('external32', 6, MPI_INTEGER, size)
    call MPI_Pack_external('external32', a(::4, ::2), 6, MPI_INTEGER, room(::2, 1:3:2), size, place)
    place = 0
    call MPI_Unpack_external('external32', room(::2, 1:3:2), size, place, b(::4, ::2), 6, MPI_INTEGER)
    call check(all(b(::4, ::2) == a(::4, ::2)) .and. count(b == gap) == 24, 'pack_external')
  end subroutine packed

  subroutine partitioned()
    integer, asynchronous :: a(4, 12), b(4, 12)
    type(MPI_Request) :: requests(2)
    integer :: i
    a = reshape(numbers(rank, 48), [4, 12])
    b = gap
    call MPI_Psend_init(a(2:3, ::2), 3, 4_MPI_COUNT_KIND, MPI_INTEGER, other, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &
      requests(1))
    call MPI_Precv_init(b(4, :), 4, 3_MPI_COUNT_KIND, MPI_INTEGER, other, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &
      requests(2))
    call MPI_Startall(2, requests)
    do i = 2, 0, -1
      call MPI_Pready(i, requests(1))
    end do
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call check(all(b(4, :) == mark(other, [2, 3, 10, 11, 18, 19, 26, 27, 34, 35, 42, 43])) .and. count(b == gap) == &
      36, 'partitions')
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine partitioned

  ! What cannot be is an error, and nothing is done.
  subroutine refused()
    integer, asynchronous :: a(40, 40)
    type(MPI_Request) :: request
    integer :: rc, class
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Buffer_attach(a(::2, :), 3200, rc)
    call MPI_Error_class(rc, class)
    call check(class == MPI_ERR_BUFFER, 'a section cannot be attached')
    call MPI_Psend_init(a(:2, :), 3, 3_MPI_COUNT_KIND, MPI_INTEGER, other, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &
      request, rc)
    call MPI_Error_class(rc, class)
    call check(class == MPI_ERR_BUFFER, 'partitions that do not lie alike')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Send(a(::2, :), -1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, rc)
    call MPI_Error_class(rc, class)
    call check(class == MPI_ERR_COUNT, 'a bad count of a section')
    call MPI_Send(a(::2, :), 1, MPI_DATATYPE_NULL, other, 1, MPI_COMM_WORLD, rc)
    call MPI_Error_class(rc, class)
    call check(class == MPI_ERR_TYPE, 'a bad type of a section')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  end subroutine refused

  ! Long messages that are read while the program goes on.
  subroutine large()
    integer, parameter :: n = 300
    integer, allocatable, asynchronous :: a(:, :, :), b(:, :, :)
    type(MPI_Request) :: requests(2)
    integer :: i
    allocate (a(n, n, 4), b(n, n, 4))
    a = reshape(numbers(rank, size(a)), shape(a))
    b = gap
    call MPI_Irecv(b(n:1:-1, 2::2, 1:4:3), n * n, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(a(:, ::2, 2:3), n * n, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call check(all(b(n:1:-1, 2::2, 1:4:3) - a(:, ::2, 2:3) == 100000 * (other - rank)), 'a long message')
    call check(all(b(:, 1::2, :) == gap) .and. all(b(:, :, 2:3) == gap), 'a long message, between')
    do i = 1, 50
      call MPI_Irecv(b(1, i::50, 1), n / 50, MPI_INTEGER, other, i, MPI_COMM_WORLD, requests(1))
      call MPI_Isend(a(1, i::50, 1), n / 50, MPI_INTEGER, other, i, MPI_COMM_WORLD, requests(2))
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    end do
    call check(all(b(1, :, 1) - a(1, :, 1) == 100000 * (other - rank)), 'many sections')
  end subroutine large
end program sections

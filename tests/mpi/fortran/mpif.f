C     SPDX-License-Identifier: BSD-3-Clause
C     mpif.h in fixed form: arguments known by their address, arrays of
C     statuses and requests, positions from 1, callbacks, strings. 2 ranks.
      program mpif
      implicit none
      include 'mpif.h'
      integer ierr, rank, size
      common /who/ rank, size
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      call addresses()
      call requests()
      call operations()
      call attributes()
      call handlers()
      call strings()
      call arrays()
      call MPI_FINALIZE(ierr)
      end

      subroutine check(truth, what)
      implicit none
      include 'mpif.h'
      logical truth
      character*(*) what
      integer ierr
      if (.not. truth) then
        print *, 'mpif: not so: ', what
        call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
      end if
      end

C     MPI_IN_PLACE, MPI_BOTTOM, MPI_STATUS_IGNORE.
      subroutine addresses()
      implicit none
      include 'mpif.h'
      integer rank, size, ierr, newtype, blocks(2), types(2), i(3)
      integer other, status(MPI_STATUS_SIZE), count
      integer(kind=MPI_ADDRESS_KIND) places(2)
      double precision x(2)
      common /who/ rank, size
      i(1) = rank + 1
      call MPI_ALLREDUCE(MPI_IN_PLACE, i, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      call check(i(1) .eq. 3, 'MPI_IN_PLACE in an allreduce')

      x(1) = rank + 0.5d0
      x(2) = -1
      i(2) = 10 + rank
      i(3) = -1
      blocks(1) = 1
      blocks(2) = 1
      types(1) = MPI_DOUBLE_PRECISION
      types(2) = MPI_INTEGER
      other = 1 - rank
      call MPI_GET_ADDRESS(x(1), places(1), ierr)
      call MPI_GET_ADDRESS(i(2), places(2), ierr)
      call MPI_TYPE_CREATE_STRUCT(2, blocks, places, types, newtype,
     &                            ierr)
      call MPI_TYPE_COMMIT(newtype, ierr)
      if (rank .eq. 0) then
        call MPI_SEND(MPI_BOTTOM, 1, newtype, other, 5, MPI_COMM_WORLD,
     &                ierr)
      else
        call MPIX_PRE_RECEIVE(7, ierr)
        call check(ierr .eq. MPI_SUCCESS, 'a hint to the NIC')
        call MPI_RECV(MPI_BOTTOM, 1, newtype, other, 5, MPI_COMM_WORLD,
     &                MPI_STATUS_IGNORE, ierr)
        call check(x(1) .eq. 0.5d0 .and. i(2) .eq. 10,
     &             'a structure relative to MPI_BOTTOM')
      end if
      call MPI_TYPE_FREE(newtype, ierr)
      call check(newtype .eq. MPI_DATATYPE_NULL, 'a freed type')

      call MPI_SENDRECV(i, 2, MPI_INTEGER, other, 6, x, 4, MPI_INTEGER,
     &                  other, MPI_ANY_TAG, MPI_COMM_WORLD, status,
     &                  ierr)
      call MPI_GET_COUNT(status, MPI_INTEGER, count, ierr)
      call check(count .eq. 2 .and. status(MPI_SOURCE) .eq. other .and.
     &           status(MPI_TAG) .eq. 6, 'a status')
      end

      subroutine requests()
      implicit none
      include 'mpif.h'
      integer rank, size, ierr, n, i, index, done, other
      parameter (n = 40)
      integer req(n), statuses(MPI_STATUS_SIZE, n), indices(n)
      integer out(n), in(n)
      logical flag
      common /who/ rank, size
      other = 1 - rank
      do i = 1, n / 2
        out(i) = 100 * rank + i
        in(i) = -1
        call MPI_IRECV(in(i), 1, MPI_INTEGER, other, i, MPI_COMM_WORLD,
     &                 req(i), ierr)
      end do
      do i = 1, n / 2
        call MPI_ISEND(out(i), 1, MPI_INTEGER, other, i,
     &                 MPI_COMM_WORLD, req(n / 2 + i), ierr)
      end do
      call MPI_WAITALL(n, req, statuses, ierr)
      do i = 1, n / 2
        call check(statuses(MPI_TAG, i) .eq. i .and.
     &             statuses(MPI_SOURCE, i) .eq. other .and.
     &             in(i) .eq. 100 * other + i, 'an array of statuses')
        call check(req(i) .eq. MPI_REQUEST_NULL, 'a finished request')
      end do

      req(1) = MPI_REQUEST_NULL
      req(2) = MPI_REQUEST_NULL
      call MPI_IRECV(in, 1, MPI_INTEGER, MPI_PROC_NULL, 0,
     &               MPI_COMM_WORLD, req(3), ierr)
      call MPI_WAITANY(3, req, index, MPI_STATUS_IGNORE, ierr)
      call check(index .eq. 3, 'the third request is number 3')
      call MPI_TESTANY(3, req, index, flag, MPI_STATUS_IGNORE, ierr)
      call check(flag .and. index .eq. MPI_UNDEFINED, 'none is left')
      call MPI_IRECV(in, 1, MPI_INTEGER, MPI_PROC_NULL, 0,
     &               MPI_COMM_WORLD, req(2), ierr)
      call MPI_WAITSOME(3, req, done, indices, MPI_STATUSES_IGNORE,
     &                  ierr)
      call check(done .eq. 1 .and. indices(1) .eq. 2,
     &           'the second request is number 2')
      end

      subroutine operations()
      implicit none
      include 'mpif.h'
      integer rank, size, ierr, op, i(2)
      logical l, commutes
      external larger
      common /who/ rank, size
      call MPI_OP_CREATE(larger, .true., op, ierr)
      call MPI_OP_COMMUTATIVE(op, commutes, ierr)
      call check(commutes, 'a LOGICAL comes back')
      i(1) = rank
      i(2) = -rank
      call MPI_ALLREDUCE(MPI_IN_PLACE, i, 2, MPI_INTEGER, op,
     &                   MPI_COMM_WORLD, ierr)
      call check(i(1) .eq. 1 .and. i(2) .eq. 0,
     &           'a function of the program reduces')
      call MPI_OP_FREE(op, ierr)
      l = rank .eq. 1
      call MPI_ALLREDUCE(MPI_IN_PLACE, l, 1, MPI_LOGICAL, MPI_LAND,
     &                   MPI_COMM_WORLD, ierr)
      call check(.not. l, 'a LOGICAL reduction')
      end

      subroutine larger(in, inout, len, datatype)
      implicit none
      include 'mpif.h'
      integer len, datatype, in(len), inout(len), i
      call check(datatype .eq. MPI_INTEGER, 'the type of a reduction')
      do i = 1, len
        inout(i) = max(in(i), inout(i))
      end do
      end

C     Old and new functions; the copy adds the extra state to the value.
      subroutine attributes()
      implicit none
      include 'mpif.h'
      integer ierr, key, oldkey, comm, old, copies, deletes
      integer(kind=MPI_ADDRESS_KIND) extra, value
      logical flag
      external copyattr, delattr, oldcopy, olddel
      common /calls/ copies, deletes
      copies = 0
      deletes = 0
      extra = 1000
      value = 2_8**40
      call MPI_COMM_CREATE_KEYVAL(copyattr, delattr, key, extra, ierr)
      call MPI_KEYVAL_CREATE(oldcopy, olddel, oldkey, 7, ierr)
      call MPI_COMM_SET_ATTR(MPI_COMM_WORLD, key, value, ierr)
      call MPI_ATTR_PUT(MPI_COMM_WORLD, oldkey, 5, ierr)
      call MPI_COMM_DUP(MPI_COMM_WORLD, comm, ierr)
      call check(copies .eq. 2, 'both copy functions were called')
      call MPI_COMM_GET_ATTR(comm, key, value, flag, ierr)
      call check(flag .and. value .eq. 2_8**40 + 1000, 'a copy')
      call MPI_ATTR_GET(comm, oldkey, old, flag, ierr)
      call check(flag .and. old .eq. 12, 'an old copy')
      call MPI_COMM_FREE(comm, ierr)
      call check(deletes .eq. 2, 'both delete functions were called')
      call MPI_COMM_DELETE_ATTR(MPI_COMM_WORLD, key, ierr)
      call MPI_ATTR_DELETE(MPI_COMM_WORLD, oldkey, ierr)
      call MPI_COMM_FREE_KEYVAL(key, ierr)
      call MPI_KEYVAL_FREE(oldkey, ierr)
      call check(oldkey .eq. MPI_KEYVAL_INVALID, 'a freed key')
      call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_TAG_UB, value, flag,
     &                       ierr)
      call check(flag .and. value .ge. 32767, 'MPI_TAG_UB by value')

      call MPI_COMM_CREATE_KEYVAL(MPI_COMM_DUP_FN,
     &                     MPI_COMM_NULL_DELETE_FN, key, extra, ierr)
      value = -3
      call MPI_COMM_SET_ATTR(MPI_COMM_SELF, key, value, ierr)
      call MPI_COMM_DUP(MPI_COMM_SELF, comm, ierr)
      value = 0
      call MPI_COMM_GET_ATTR(comm, key, value, flag, ierr)
      call check(flag .and. value .eq. -3, 'MPI_COMM_DUP_FN')
      call MPI_COMM_FREE(comm, ierr)
      call MPI_COMM_DELETE_ATTR(MPI_COMM_SELF, key, ierr)
      call MPI_COMM_FREE_KEYVAL(key, ierr)
      end

      subroutine copyattr(comm, key, extra, in, out, flag, ierr)
      implicit none
      include 'mpif.h'
      integer comm, key, ierr, copies, deletes
      integer(kind=MPI_ADDRESS_KIND) extra, in, out
      logical flag
      common /calls/ copies, deletes
      call check(comm .eq. MPI_COMM_WORLD, 'the old communicator')
      copies = copies + 1
      out = in + extra
      flag = .true.
      ierr = MPI_SUCCESS
      end

      subroutine delattr(comm, key, value, extra, ierr)
      implicit none
      include 'mpif.h'
      integer comm, key, ierr, copies, deletes
      integer(kind=MPI_ADDRESS_KIND) extra, value
      common /calls/ copies, deletes
      call check(extra .eq. 1000, 'the extra state')
      deletes = deletes + 1
      ierr = MPI_SUCCESS
      end

      subroutine oldcopy(comm, key, extra, in, out, flag, ierr)
      implicit none
      include 'mpif.h'
      integer comm, key, extra, in, out, ierr, copies, deletes
      logical flag
      common /calls/ copies, deletes
      copies = copies + 1
      out = in + extra
      flag = .true.
      ierr = MPI_SUCCESS
      end

      subroutine olddel(comm, key, value, extra, ierr)
      implicit none
      include 'mpif.h'
      integer comm, key, value, extra, ierr, copies, deletes
      common /calls/ copies, deletes
      call check(extra .eq. 7, 'the old extra state')
      deletes = deletes + 1
      ierr = MPI_SUCCESS
      end

      subroutine handlers()
      implicit none
      include 'mpif.h'
      integer ierr, handler, seen, class, comm
      external onerror
      common /errors/ seen
      seen = MPI_SUCCESS
      call MPI_COMM_DUP(MPI_COMM_WORLD, comm, ierr)
      call MPI_COMM_CREATE_ERRHANDLER(onerror, handler, ierr)
      call MPI_COMM_SET_ERRHANDLER(comm, handler, ierr)
      call MPI_SEND(ierr, 1, MPI_INTEGER, 99, 0, comm, ierr)
      call MPI_ERROR_CLASS(ierr, class, ierr)
      call check(class .eq. MPI_ERR_RANK, 'an error comes back')
      call MPI_ERROR_CLASS(seen, class, ierr)
      call check(class .eq. MPI_ERR_RANK, 'the handler saw the error')
      call MPI_ERRHANDLER_FREE(handler, ierr)
      call MPI_COMM_FREE(comm, ierr)
      end

      subroutine onerror(comm, code)
      implicit none
      include 'mpif.h'
      integer comm, code, seen, size, ierr
      common /errors/ seen
      call MPI_COMM_SIZE(comm, size, ierr)
      call check(size .eq. 2, 'the communicator of an error')
      seen = code
      end

      subroutine strings()
      implicit none
      include 'mpif.h'
      integer ierr, len, info, keys
      character*(MPI_MAX_OBJECT_NAME) name
      character*(MPI_MAX_PROCESSOR_NAME) host
      character*(MPI_MAX_ERROR_STRING) text
      character*4 small
      character*10 value
      logical flag
      integer comm
      call MPI_COMM_DUP(MPI_COMM_SELF, comm, ierr)
      call MPI_COMM_SET_NAME(comm, 'a name   ', ierr)
      call MPI_COMM_GET_NAME(comm, name, len, ierr)
      call check(len .eq. 6 .and. name .eq. 'a name',
     &           'a name padded with blanks')
      call check(name(7:) .eq. ' ', 'blanks to the end')
      call MPI_COMM_FREE(comm, ierr)
      host = '?'
      call MPI_GET_PROCESSOR_NAME(host, len, ierr)
      call check(len .gt. 0 .and. host(len + 1:) .eq. ' ', 'a host')
      call MPI_ERROR_STRING(MPI_ERR_RANK, text, len, ierr)
      call check(len .gt. 0 .and. text(1:1) .ne. ' ', 'a text')

      call MPI_INFO_CREATE(info, ierr)
      call MPI_INFO_SET(info, '  key ', ' a value  ', ierr)
      call MPI_INFO_GET_NKEYS(info, keys, ierr)
      call MPI_INFO_GET(info, 'key', 10, value, flag, ierr)
      call check(keys .eq. 1 .and. flag .and. value .eq. 'a value',
     &           'blanks around keys and values do not count')
      call MPI_INFO_GET(info, 'key', 4, small, flag, ierr)
      call check(small .eq. 'a va', 'a value cut short')
      call MPI_INFO_GET_VALUELEN(info, 'key', len, flag, ierr)
      call check(flag .and. len .eq. 7, 'the length of a value')
      len = 10
      call MPI_INFO_GET_STRING(info, 'key', len, value, flag, ierr)
      call check(flag .and. len .eq. 7 .and. value .eq. 'a value',
     &           'a length without the terminating zero')
      call MPI_INFO_GET(info, 'none', 10, value, flag, ierr)
      call check(.not. flag, 'a key that is not there')
      call MPI_INFO_FREE(info, ierr)
      end

C     Arrays of handles with one entry per process, LOGICAL arrays.
      subroutine arrays()
      implicit none
      include 'mpif.h'
      integer rank, size, ierr, types(2), counts(2), displs(2)
      integer in(2), out(2), cart, dims(2), coords(2)
      logical periods(2), got(2)
      double precision before
      integer(kind=MPI_ADDRESS_KIND) sum
      data types /MPI_INTEGER, MPI_INTEGER/, counts /1, 1/
      data displs /0, 4/
      common /who/ rank, size
      out(1) = 10 * rank
      out(2) = 10 * rank + 1
      call MPI_ALLTOALLW(out, counts, displs, types, in, counts, displs,
     &                   types, MPI_COMM_WORLD, ierr)
      call check(in(1) .eq. rank .and. in(2) .eq. 10 + rank,
     &           'types per process')
      dims(1) = 2
      dims(2) = 1
      periods(1) = .true.
      periods(2) = .false.
      call MPI_CART_CREATE(MPI_COMM_WORLD, 2, dims, periods, .false.,
     &                     cart, ierr)
      call MPI_CART_GET(cart, 2, dims, got, coords, ierr)
      call check(got(1) .and. .not. got(2), 'LOGICALs of a topology')
      call MPI_COMM_FREE(cart, ierr)
      before = MPI_WTIME()
      call check(before .ge. 0 .and. MPI_WTICK() .gt. 0, 'a clock')
      sum = MPI_AINT_ADD(40_MPI_ADDRESS_KIND, 2_MPI_ADDRESS_KIND)
      call check(sum .eq. 42, 'MPI_AINT_ADD')
      end

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program without source: numpy fills a send buffer and reads a receive buffer, in one call each. Two ranks of nof run, with
NOF_DELTA=os; both ends compare, and most of the message has left before the call that fills it returns.

usage: delta_numpy.py LIBMPI_OFFLOAD [gains]
gains: what a message takes from the begin of the filling to the end of the reading is printed, and by pages it takes less. Computing
has to be worth it: logaddexp, of which 8 MB take some 25 ms."""
import ctypes
import sys
import time

try:
    import numpy
except ImportError:
    print("skipped: needs numpy (python3-numpy)")
    sys.exit(77)

DOUBLES, TURNS = 1 << 20, 10
PVAR_COUNTER = 7
COMM_WORLD, BYTE, TAG = ctypes.c_void_p(0x101), ctypes.c_void_p(0x247), 5


def library(path):
    mpi = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    assert mpi.MPI_Init(None, None) == 0 and mpi.MPI_T_init_thread(0, ctypes.byref(ctypes.c_int())) == 0
    return mpi


def array(mpi):
    place = ctypes.c_void_p()
    assert mpi.MPI_Alloc_mem(ctypes.c_ssize_t(8 * DOUBLES), None, ctypes.byref(place)) == 0
    whole = (ctypes.c_double * DOUBLES).from_address(place.value)
    return numpy.frombuffer(whole, dtype=numpy.float64), place


def early_bytes(mpi):
    """That this process has sent before their messages ended."""
    session, handle, value = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_ulonglong()
    at, count = ctypes.c_int(), ctypes.c_int()
    assert mpi.MPI_T_pvar_session_create(ctypes.byref(session)) == 0
    assert mpi.MPI_T_pvar_get_index(b"library.delta_early_bytes", PVAR_COUNTER, ctypes.byref(at)) == 0
    assert mpi.MPI_T_pvar_handle_alloc(session, at, None, ctypes.byref(handle), ctypes.byref(count)) == 0
    assert mpi.MPI_T_pvar_read(session, handle, ctypes.byref(value)) == 0
    assert mpi.MPI_T_pvar_handle_free(session, ctypes.byref(handle)) == 0
    assert mpi.MPI_T_pvar_session_free(ctypes.byref(session)) == 0
    return value.value


def send(mpi, place, fill, early):
    request = ctypes.c_void_p()
    before = early_bytes(mpi)
    if early:
        assert mpi.MPIX_Delta_send_begin(place, 8 * DOUBLES, BYTE, 1, TAG, COMM_WORLD, ctypes.byref(request)) == 0
    fill()
    if early:
        assert early_bytes(mpi) - before > 8 * DOUBLES / 2, "less than half has left when the buffer is filled"
        assert mpi.MPIX_Delta_wait(ctypes.byref(request), None) == 0
    else:
        assert mpi.MPI_Send(place, 8 * DOUBLES, BYTE, 1, TAG, COMM_WORLD) == 0


def receive(mpi, place, early):
    call = mpi.MPIX_Delta_recv if early else mpi.MPI_Recv
    assert call(place, 8 * DOUBLES, BYTE, 0, TAG, COMM_WORLD, None) == 0


class Task:
    def __init__(self, mpi, heavy):
        rank = ctypes.c_int()
        assert mpi.MPI_Comm_rank(COMM_WORLD, ctypes.byref(rank)) == 0
        self.mpi, self.sends = mpi, rank.value == 0
        self.there, self.place = array(mpi)
        self.angles = numpy.arange(DOUBLES, dtype=numpy.float64)
        self.made, self.read = (lambda a, **kw: numpy.logaddexp(a, 1, **kw),) * 2 if heavy else (numpy.sin, numpy.cos)
        self.wanted = self.read(self.made(self.angles))

    def once(self, early):
        """The receiver's seconds."""
        self.there[:] = 0
        assert self.mpi.MPI_Barrier(COMM_WORLD) == 0
        began = time.monotonic()
        if self.sends:
            send(self.mpi, self.place, lambda: self.made(self.angles, out=self.there), early)
        else:
            receive(self.mpi, self.place, early)
            got = self.read(self.there)
        took_s = time.monotonic() - began
        assert self.sends or numpy.array_equal(got, self.wanted), "what was received is not what was sent"
        assert self.mpi.MPI_Barrier(COMM_WORLD) == 0
        return took_s


def main():
    mpi, gains = library(sys.argv[1]), len(sys.argv) > 2
    task = Task(mpi, gains)
    took_s = {True: [], False: []}
    for _ in range(TURNS):
        for early in (False, True):
            took_s[early].append(task.once(early))
    whole_s, early_s = min(took_s[False]), min(took_s[True])
    if not task.sends and gains:
        print(f"as a whole {whole_s * 1e3:.2f} ms, by pages {early_s * 1e3:.2f} ms: {whole_s / early_s:.2f} times")
        assert early_s < whole_s, "nothing is gained"
    assert mpi.MPI_Finalize() == 0


main()

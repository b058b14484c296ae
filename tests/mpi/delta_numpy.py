#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program without source: numpy fills a send buffer and adds up a receive buffer, in one call each. Two ranks of nof run, with
NOF_DELTA=os; both ends compare. usage: delta_numpy.py LIBMPI_OFFLOAD [time]: prints what a message takes from the begin of the
filling to the end of the sum."""
import ctypes
import sys
import time

try:
    import numpy
except ImportError:
    print("skipped: needs numpy (python3-numpy)")
    sys.exit(77)

DOUBLES = 1 << 20
COMM_WORLD, BYTE, TAG = ctypes.c_void_p(0x101), ctypes.c_void_p(0x247), 5


def library(path):
    mpi = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    assert mpi.MPI_Init(None, None) == 0
    return mpi


def array(mpi):
    place = ctypes.c_void_p()
    assert mpi.MPI_Alloc_mem(ctypes.c_ssize_t(8 * DOUBLES), None, ctypes.byref(place)) == 0
    whole = (ctypes.c_double * DOUBLES).from_address(place.value)
    return numpy.frombuffer(whole, dtype=numpy.float64), place


def send(mpi, there, place, angles, early):
    request = ctypes.c_void_p()
    if early:
        assert mpi.MPIX_Delta_send_begin(place, 8 * DOUBLES, BYTE, 1, TAG, COMM_WORLD, ctypes.byref(request)) == 0
    numpy.sin(angles, out=there)
    if early:
        assert mpi.MPIX_Delta_wait(ctypes.byref(request), None) == 0
    else:
        assert mpi.MPI_Send(place, 8 * DOUBLES, BYTE, 1, TAG, COMM_WORLD) == 0


def receive(mpi, there, place, early):
    call = mpi.MPIX_Delta_recv if early else mpi.MPI_Recv
    assert call(place, 8 * DOUBLES, BYTE, 0, TAG, COMM_WORLD, None) == 0
    return numpy.cos(there)


def main():
    mpi = library(sys.argv[1])
    rank = ctypes.c_int()
    assert mpi.MPI_Comm_rank(COMM_WORLD, ctypes.byref(rank)) == 0
    there, place = array(mpi)
    angles = numpy.arange(DOUBLES, dtype=numpy.float64)
    wanted = numpy.cos(numpy.sin(angles))
    best = {True: 1e9, False: 1e9}
    for turn in range(10):
        for early in (False, True):
            there[:] = 0
            assert mpi.MPI_Barrier(COMM_WORLD) == 0
            began = time.monotonic()
            if rank.value == 0:
                send(mpi, there, place, angles + turn * 0, early)
            else:
                got = receive(mpi, there, place, early)
                best[early] = min(best[early], time.monotonic() - began)
                assert numpy.array_equal(got, wanted), "what was received is not what was sent"
            assert mpi.MPI_Barrier(COMM_WORLD) == 0
    if rank.value == 1 and len(sys.argv) > 2:
        print(f"blocking {best[False] * 1e3:.2f} ms, by pages {best[True] * 1e3:.2f} ms: {best[False] / best[True]:.2f} times")
    assert mpi.MPI_Finalize() == 0


main()

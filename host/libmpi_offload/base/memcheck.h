/* SPDX-License-Identifier: BSD-3-Clause */
/* Valgrind's memcheck sees what instructions and system calls of this process write, and no NIC: it is told, or it calls that
 * uninitialised. It is told of messages that were received, not yet of what programs of the NIC bring (feature collectives=nic).
 * Some instructions where it does not run, and none where its header was missing when this was built.
 * Threads: any. */
#ifndef NOF_MPI_MEMCHECK_H
#define NOF_MPI_MEMCHECK_H

#include <stddef.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif

/* The NIC has written these bytes. */
static inline void nof_memcheck_written(const void *at, size_t bytes)
{
#ifdef VALGRIND_MAKE_MEM_DEFINED
    (void)VALGRIND_MAKE_MEM_DEFINED(at, bytes);
#else
    (void)at;
    (void)bytes;
#endif
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* GCC plug-in: finds where a delta send's buffer is written for the last time, and where a delta receive's is first
 * used, and tells the library there, once a strip of a loop.
 *
 * What it expects of the library (names with MPI_ for MPIX_, and with P before, are the same functions):
 *
 *   int MPIX_Delta_send_begin(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
 *                             MPI_Request *request);
 *   int MPIX_Delta_send_data(MPI_Request request, const void *address, MPI_Count bytes);
 *       These bytes of the buffer are not written again before the wait. What the plug-in announces lies inside the
 *       message, and no byte is announced twice; bytes is at least 1.
 *   int MPIX_Delta_send_end(MPI_Request *request);
 *   int MPIX_Delta_wait(MPI_Request *request, MPI_Status *status);
 *   int MPIX_Delta_recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
 *                       MPI_Status *status);
 *   int MPIX_Delta_wait_data(const void *address, MPI_Count bytes);
 *       Returns when these bytes of delta receives have come, or never will. The plug-in may ask for the same bytes again,
 *       also after all of the message has come, and never for bytes behind it.
 *   int MPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent);
 *       Where the datatype of a receive is not one of mpi.h, which is then waited for where it stands. Of a type with
 *       gaps all has come when MPIX_Delta_recv returns.
 *   MPI_Request MPI_Request_f2c(MPI_Fint request);
 *
 * The same procedures in Fortran (mpix_delta_send_begin_, ...) take addresses of all arguments, and of an error behind them; what
 * the plug-in puts in are the functions of C.
 *
 * MPI_Request is a pointer, MPI_Count has 64 bits. Every byte of a receive is waited for before the function that
 * called it returns. Calls through pointers, and functions that other compilers translate, are not seen. */
#ifndef NOF_GCC_DELTA_H
#define NOF_GCC_DELTA_H

/* Bytes of a message of `count` elements are count times this; 0: not a predefined type without gaps. */
unsigned delta_type_bytes(unsigned long long handle);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Extensions of libmpi_offload beyond the MPI standard. */
#ifndef MPI_OFFLOAD_H
#define MPI_OFFLOAD_H

#include "mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Current value of a counter of this process's NIC endpoint, by the name that `nof stats` shows
 * ("msg.tx", "match.unexpected", ...). MPI_ERR_ARG through MPI_COMM_SELF's error handler when there
 * is no such counter, or no NIC (a world of one without a launcher). Any thread. */
int MPIX_Nic_counters(const char *name, unsigned long long *value_out);
int PMPIX_Nic_counters(const char *name, unsigned long long *value_out);

/* MPI_Recv without a buffer: *data is where the message lies, to be read until MPIX_Release(*data) or
 * MPI_Finalize, whichever comes first; never to be written. A message that the NIC has staged is read in
 * the staging area, without a copy; any other in a buffer of the library. It is aligned for every basic
 * type. count and datatype as for MPI_Recv; the datatype must leave no gaps (else MPI_ERR_TYPE). Where
 * this fails *data is left as it was, and nothing is to be released. Staged messages that are not
 * released take up the staging area: later ones are then delivered otherwise, and slower. */
int MPIX_Recv_staged(const void **data, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                     MPI_Status *status);
int PMPIX_Recv_staged(const void **data, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                      MPI_Status *status);

/* The program has read a message of MPIX_Recv_staged. MPI_ERR_ARG through MPI_COMM_SELF's error handler for
 * an address that is not, or no longer, that of one. */
int MPIX_Release(const void *data);
int PMPIX_Release(const void *data);

/* The next receive of this thread (any call that receives one message; MPI_Recv_init counts, MPI_Start does
 * not) is the one that the program calls `tag`: the paper's pre-receive(tag). Tells the NIC beforehand, which may
 * then prepare the message that this receive got the last time, and stands for the place of that call, which the
 * NIC otherwise knows by the call's return address. Changes no result. tag: any number that names the place;
 * MPI_ERR_ARG if negative. Any thread. Fortran: CALL MPIX_PRE_RECEIVE(TAG, IERROR), external. */
int MPIX_Pre_receive(int tag);
int PMPIX_Pre_receive(int tag);

/* Compiled communication: an all-to-all whose messages are dealt into phases, in which no host sends or receives twice, by
 * calls of their own, and transmitted as often as wanted. Source: CC-MPI (docs/SOURCES.md), section 4.2; its names, with
 * MPI_ for MPIX_, are there with NOF_CCMPI_NAMES defined before this header is included.
 *
 *   level 1: MPIX_Alltoallv_control1   gathers everybody's counts and deals them; _control1_told tells what comes, too
 *   level 2: MPIX_Alltoallv_control2   is given the matrix of counts and deals it
 *   level 3: MPIX_Alltoallv_load       is given the phases, as `nof schedule --emit c` writes them
 *     -> MPIX_Alltoallv_data_trans2, phased; or _data_trans1, all at once, which is faster where messages are small
 *     -> MPIX_Coll_free
 *
 * All are collective over an intra-communicator, but for MPIX_Coll_free, and blocking. Arrays have an element for each rank
 * and may go after the call, as datatypes may; communicator and datatypes live on. Counts and displacements are in elements.
 * How messages are dealt: NOF_SCHEDULE=alltoall (default), greedy or shift in the environment; those below 2 KiB need no
 * phases. Counts, displacements, datatypes, matrices and phases that one rank refuses, or that differ, are MPI_ERR_ARG at all ranks. Counts
 * of level 1 that are not what is sent are MPI_ERR_COUNT or MPI_ERR_TRUNCATE, where they are, at the end of a transmission.
 * *coll_out is MPIX_COLL_NULL where a call fails. Under MPI_THREAD_MULTIPLE any thread, a handle in one call at a time.
 * Fortran: externals of the same names and arguments, with IERROR; a handle is an INTEGER, a matrix MATRIX(to, from), and phases
 * are the arguments RANKS, PHASES, FIRST(0:PHASES), from 0 on, and PAIR(2,*). */
typedef struct MPIX_ABI_Coll *MPIX_Coll;
#define MPIX_COLL_NULL ((MPIX_Coll)0)

/* Phase k has the messages first[k] .. first[k + 1] - 1; first[0] is 0. Each is a source and a destination, ranks that differ.
 * A message stands once. */
struct MPIX_Phases {
    int ranks;
    int phase_count;
    const int *first;
    const int (*pair)[2];
};

int MPIX_Alltoallv_control1(const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                            const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                            MPIX_Coll *coll_out);
/* For ranks that do not know what they will receive: it is written to recvcounts and rdispls, the blocks one behind another, before
 * there need be a buffer for them. Both types have one size. More elements for a rank than an int can say: MPI_ERR_COUNT, at all. */
int MPIX_Alltoallv_control1_told(const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                                 int recvcounts_out[], int rdispls_out[], MPI_Datatype recvtype,
                                 MPI_Comm comm, MPIX_Coll *coll_out);
/* matrix[i * size + j]: elements that rank i sends to rank j; both types have one size. */
int MPIX_Alltoallv_control2(const int matrix[], const int sdispls[], MPI_Datatype sendtype,
                            const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPIX_Coll *coll_out);
/* The phases have all messages that are not empty, but those of a rank to itself. */
int MPIX_Alltoallv_load(const struct MPIX_Phases *phases, const int sendcounts[], const int sdispls[],
                        MPI_Datatype sendtype, const int recvcounts[], const int rdispls[],
                        MPI_Datatype recvtype, MPI_Comm comm, MPIX_Coll *coll_out);
int MPIX_Alltoallv_data_trans1(const void *sendbuf, void *recvbuf, MPIX_Coll coll);
int MPIX_Alltoallv_data_trans2(const void *sendbuf, void *recvbuf, MPIX_Coll coll);
int MPIX_Coll_free(MPIX_Coll *coll);
MPI_Fint MPIX_Coll_c2f(MPIX_Coll coll);
MPIX_Coll MPIX_Coll_f2c(MPI_Fint coll);
int PMPIX_Alltoallv_control1(const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                             const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                             MPI_Comm comm, MPIX_Coll *coll_out);
int PMPIX_Alltoallv_control1_told(const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                                  int recvcounts_out[], int rdispls_out[], MPI_Datatype recvtype,
                                  MPI_Comm comm, MPIX_Coll *coll_out);
int PMPIX_Alltoallv_control2(const int matrix[], const int sdispls[], MPI_Datatype sendtype,
                             const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPIX_Coll *coll_out);
int PMPIX_Alltoallv_load(const struct MPIX_Phases *phases, const int sendcounts[], const int sdispls[],
                         MPI_Datatype sendtype, const int recvcounts[], const int rdispls[],
                         MPI_Datatype recvtype, MPI_Comm comm, MPIX_Coll *coll_out);
int PMPIX_Alltoallv_data_trans1(const void *sendbuf, void *recvbuf, MPIX_Coll coll);
int PMPIX_Alltoallv_data_trans2(const void *sendbuf, void *recvbuf, MPIX_Coll coll);
int PMPIX_Coll_free(MPIX_Coll *coll);
MPI_Fint PMPIX_Coll_c2f(MPIX_Coll coll);
MPIX_Coll PMPIX_Coll_f2c(MPI_Fint coll);

/* Compiled communication: a scatterv to some of the ranks, by a multicast group of their own. Source: CC-MPI, section 4.1.
 *
 *   MPIX_Scatterv_open_group -> MPIX_Scatterv_data_movement, as often as wanted -> MPIX_Scatterv_close_group
 *
 * open_group is called by all of an intra-communicator, with the arguments of MPI_Scatterv but for the buffers: counts,
 * displacements and their type are the root's. All are told who gets how much; the ranks with a block and the root form a
 * group, for which this call waits, as it is the one for that. What a rank refuses, and a count that is not the root's for it, is an error
 * at all ranks. data_movement is the scatterv: one multicast of all blocks. It does nothing at ranks without a block, which need
 * not call it. At the root recvbuf may be MPI_IN_PLACE, and then recvtype MPI_DATATYPE_NULL when the group is opened. close_group is
 * local, and lets end what another thread transmits; what is open at MPI_Finalize is closed then, and stderr told.
 * Where no group can be opened (feature multicast is off, fewer than three hosts take part, a switch that drops multicast) the same
 * goes by unicast. It pays for blocks that are small, or few: everybody in the group gets all of them.
 *
 * MPIX_Scatterv_dynamic is MPI_Scatterv by a group that is formed for this call: all ranks call it.
 *
 * Arrays and datatypes may go after the call. Blocking; threads, and Fortran, as above. */
int MPIX_Scatterv_open_group(const int sendcounts[], const int displs[], MPI_Datatype sendtype, int recvcount,
                             MPI_Datatype recvtype, int root, MPI_Comm comm, MPIX_Coll *coll_out);
int MPIX_Scatterv_data_movement(const void *sendbuf, void *recvbuf, MPIX_Coll coll);
int MPIX_Scatterv_close_group(MPIX_Coll *coll);
int MPIX_Scatterv_dynamic(const void *sendbuf, const int sendcounts[], const int displs[],
                          MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                          int root, MPI_Comm comm);
int PMPIX_Scatterv_open_group(const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                              int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                              MPIX_Coll *coll_out);
int PMPIX_Scatterv_data_movement(const void *sendbuf, void *recvbuf, MPIX_Coll coll);
int PMPIX_Scatterv_close_group(MPIX_Coll *coll);
int PMPIX_Scatterv_dynamic(const void *sendbuf, const int sendcounts[], const int displs[],
                           MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                           int root, MPI_Comm comm);

/* Delta messages: one message whose sender tells what of it is ready while it computes the rest, and whose receiver works on
 * what has come. Source: "Delta Send-Recv for Dynamic Pipelining in MPI Programs" (docs/SOURCES.md), section II; its names,
 * MPI_Delta_..., are these functions too. docs/DELTA.md has more, and an example.
 *
 *   sender     MPIX_Delta_send_begin -> MPIX_Delta_send_data, by any thread, in any order -> [_send_end] -> MPIX_Delta_wait
 *   receiver   MPIX_Delta_recv -> MPIX_Delta_wait_data before bytes are read -> [MPIX_Delta_recv_wait]
 *
 * Any receive takes a delta send, and a delta receive takes any send; its place in matching order the message has from begin
 * on.
 *
 * begin: arguments as MPI_Isend. Nothing of the buffer is read before it is said to be ready. 64 at a time in a process leave in
 * increments, as long as the NIC has room for them, and 64 by memory; those behind are announced, and leave whole at their end.
 * MPI_ERR_UNSUPPORTED_OPERATION without a NIC (a world of one without a launcher).
 * send_data: `bytes` bytes at `address` are written for the last time until the request is complete. Outside the message,
 * said before (found out to an element in messages of at most 262144 elements, above to as much as makes that many), after the
 * end: MPI_ERR_ARG, and nothing changes. Of datatypes with gaps it only checks the request: these are packed and
 * sent at the end. It takes no lock: any thread, at any thread level. What is ready may stay here until there is enough of it
 * for an increment, and for the units of the message, of which there are at most 4096: only the end is sure to send all. So a
 * sender must not wait for an answer to what it has said to be ready.
 * send_end: the rest is ready, too. send_end_count: and the message has only `count` elements of its datatype, no fewer than
 * were said to be ready. Once; again is MPI_ERR_REQUEST. Neither waits.
 * wait: ends it if it was not; returns when the buffer is the program's again. Other completion calls do the same for a
 * request that was ended, and MPI_Cancel takes back what no receive has matched.
 *
 * recv: arguments as MPI_Recv. Returns, with nothing of the message, once it will be matched without further doing of this
 * process, or, by memory, by what its calls of MPI do; with MPI_ANY_SOURCE or MPI_ANY_TAG, once it is matched. MPI_SOURCE and
 * MPI_TAG of the status are then known; counts are MPI_UNDEFINED, unless the message is there as a whole. While all 64 places are
 * taken, or where the NIC has no room to match it, the call returns as well; the message is then matched, and is there as a
 * whole, by what later calls of MPI do. Datatypes with gaps, runs without a NIC, and, without a place, wildcards and buffers
 * whose pages are watched are received as a whole. The buffer is the library's until the message has ended, and bytes of it may
 * be read once wait_data says so.
 * wait_data: returns when all bytes of delta receives in [address, address + bytes) have come, or will never because the
 * message is shorter. What belongs to none is there. MPI_ERR_PROC_FAILED and its like when the message has failed. Any
 * thread, at any thread level; at MPI_THREAD_MULTIPLE, in the thread that called MPI_Init, and, once there was a delta receive
 * by memory, in all, it is a call of MPI between its looks, and tells of a failure.
 * recv_wait: waits for the end of the last delta receive into `buf` and gives its status, with the count of the message; its
 * errors, among them MPI_ERR_TRUNCATE, come from here. Once; MPI_ERR_ARG if there is none. It need not be called.
 *
 * MPI_Finalize ends and waits for what was begun; receives that nothing matched are taken back. In the environment
 * NOF_DELTA_SIZE=auto|BYTES says how much is sent at a time, and NOF_DELTA=os|auto|explicit (the default) whether pages tell
 * what is written and wait for what is read, without send_data and wait_data (docs/DELTA.md). Fortran: externals of the same names
 * (MPIX_DELTA_... and MPI_DELTA_...) and arguments, with IERROR; BYTES and COUNT are INTEGER(KIND=MPI_COUNT_KIND), an address is the
 * first variable of the range. */
int MPIX_Delta_send_begin(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                          MPI_Request *request);
int MPIX_Delta_send_data(MPI_Request request, const void *address, MPI_Count bytes);
int MPIX_Delta_send_end(MPI_Request *request);
int MPIX_Delta_send_end_count(MPI_Request *request, MPI_Count count);
int MPIX_Delta_wait(MPI_Request *request, MPI_Status *status);
int MPIX_Delta_recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                    MPI_Status *status);
int MPIX_Delta_wait_data(const void *address, MPI_Count bytes);
int MPIX_Delta_recv_wait(void *buf, MPI_Status *status);
int PMPIX_Delta_send_begin(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                           MPI_Comm comm, MPI_Request *request);
int PMPIX_Delta_send_data(MPI_Request request, const void *address, MPI_Count bytes);
int PMPIX_Delta_send_end(MPI_Request *request);
int PMPIX_Delta_send_end_count(MPI_Request *request, MPI_Count count);
int PMPIX_Delta_wait(MPI_Request *request, MPI_Status *status);
int PMPIX_Delta_recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                     MPI_Status *status);
int PMPIX_Delta_wait_data(const void *address, MPI_Count bytes);
int PMPIX_Delta_recv_wait(void *buf, MPI_Status *status);
int MPI_Delta_send_begin(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                         MPI_Request *request);
int MPI_Delta_send_data(MPI_Request request, const void *address, MPI_Count bytes);
int MPI_Delta_send_end(MPI_Request *request);
int MPI_Delta_send_end_count(MPI_Request *request, MPI_Count count);
int MPI_Delta_wait(MPI_Request *request, MPI_Status *status);
int MPI_Delta_recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                   MPI_Status *status);
int MPI_Delta_wait_data(const void *address, MPI_Count bytes);
int MPI_Delta_recv_wait(void *buf, MPI_Status *status);

#ifdef NOF_CCMPI_NAMES
#define MPI_Alltoallv_control1 MPIX_Alltoallv_control1
#define MPI_Alltoallv_control1_told MPIX_Alltoallv_control1_told
#define MPI_Alltoallv_control2 MPIX_Alltoallv_control2
#define MPI_Alltoallv_data_trans1 MPIX_Alltoallv_data_trans1
#define MPI_Alltoallv_data_trans2 MPIX_Alltoallv_data_trans2
#define MPI_Scatterv_open_group MPIX_Scatterv_open_group
#define MPI_Scatterv_data_movement MPIX_Scatterv_data_movement
#define MPI_Scatterv_close_group MPIX_Scatterv_close_group
#endif

#ifdef __cplusplus
}
#endif

#endif

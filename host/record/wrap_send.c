/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The send calls, and the calls that begin and end a program. A payload is read when its call has returned: until a
 * send has ended nobody may change it. */
#include "recorder.h"

#include <stddef.h>

#define SEND(name, count_type) \
    EXPORT int MPI_##name(const void *buf, count_type count, MPI_Datatype type, int dest, int tag, \
                          MPI_Comm comm) \
    { \
        int rc = REAL(name)(buf, count, type, dest, tag, comm); \
        if (rc == MPI_SUCCESS && nof_record_on()) \
            nof_record_sent(&(struct nof_record_send){buf, count, type, dest, comm}); \
        return rc; \
    }

#define ISEND(name, count_type) \
    EXPORT int MPI_##name(const void *buf, count_type count, MPI_Datatype type, int dest, int tag, \
                          MPI_Comm comm, MPI_Request *request) \
    { \
        int rc = REAL(name)(buf, count, type, dest, tag, comm, request); \
        if (rc == MPI_SUCCESS && nof_record_on()) \
            nof_record_sent(&(struct nof_record_send){buf, count, type, dest, comm}); \
        return rc; \
    }

#define SEND_INIT(name, count_type) \
    EXPORT int MPI_##name(const void *buf, count_type count, MPI_Datatype type, int dest, int tag, \
                          MPI_Comm comm, MPI_Request *request) \
    { \
        int rc = REAL(name)(buf, count, type, dest, tag, comm, request); \
        if (rc == MPI_SUCCESS && nof_record_on()) \
            nof_record_made(&(struct nof_record_send){buf, count, type, dest, comm}, NULL, *request); \
        return rc; \
    }

SEND(Send, int)
SEND(Send_c, MPI_Count)
SEND(Ssend, int)
SEND(Ssend_c, MPI_Count)
SEND(Bsend, int)
SEND(Bsend_c, MPI_Count)
SEND(Rsend, int)
SEND(Rsend_c, MPI_Count)
ISEND(Isend, int)
ISEND(Isend_c, MPI_Count)
ISEND(Issend, int)
ISEND(Issend_c, MPI_Count)
ISEND(Ibsend, int)
ISEND(Ibsend_c, MPI_Count)
ISEND(Irsend, int)
ISEND(Irsend_c, MPI_Count)
SEND_INIT(Send_init, int)
SEND_INIT(Send_init_c, MPI_Count)
SEND_INIT(Ssend_init, int)
SEND_INIT(Ssend_init_c, MPI_Count)
SEND_INIT(Bsend_init, int)
SEND_INIT(Bsend_init_c, MPI_Count)
SEND_INIT(Rsend_init, int)
SEND_INIT(Rsend_init_c, MPI_Count)

EXPORT int MPI_Init(int *argc, char ***argv)
{
    (void)nof_record_on();
    int rc = REAL(Init)(argc, argv);
    nof_record_computes();
    return rc;
}

EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)nof_record_on();
    int rc = REAL(Init_thread)(argc, argv, required, provided);
    nof_record_computes();
    return rc;
}

EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
    (void)nof_record_on();
    int rc = REAL(Session_init)(info, errhandler, session);
    nof_record_computes();
    return rc;
}

EXPORT int MPI_Finalize(void)
{
    nof_record_finish();
    return REAL(Finalize)();
}

EXPORT int MPI_Abort(MPI_Comm comm, int code)
{
    nof_record_finish();
    return REAL(Abort)(comm, code);
}

/* A program that ends without MPI_Finalize, and one of sessions. */
__attribute__((destructor)) static void at_exit(void)
{
    nof_record_finish();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* MPIX_Recv_staged and MPIX_Release: a message that is read where the NIC put it. */
#include "p2p/staged.h"

#include <stdlib.h>

#include "chan/nic/chan_nic.h"
#include "comm/entry.h"
#include "base/error.h"
#include "mpi_offload.h"
#include "p2p/pt2pt.h"

__attribute__((visibility("default"))) __typeof__(MPIX_Recv_staged) PMPIX_Recv_staged;
__attribute__((visibility("default"), weak,
               alias("PMPIX_Recv_staged"))) extern __typeof__(MPIX_Recv_staged) MPIX_Recv_staged;
__attribute__((visibility("default"))) __typeof__(MPIX_Release) PMPIX_Release;
__attribute__((visibility("default"), weak,
               alias("PMPIX_Release"))) extern __typeof__(MPIX_Release) MPIX_Release;

/* Messages that the program holds; few, so a list will do. */
static struct nof_staged *held;

/* A buffer that was not needed, for the next message: a large one costs the system more than the message. */
static void *spare;
static size_t spare_bytes;

static void keep_buffer(struct nof_staged *s)
{
    if (s->buffer == NULL || (spare != NULL && spare_bytes >= s->buffer_bytes)) {
        free(s->buffer);
    } else {
        free(spare);
        spare = s->buffer;
        spare_bytes = s->buffer_bytes;
    }
    s->buffer = NULL;
}

static bool get_buffer(struct nof_staged *s, size_t bytes)
{
    if (spare != NULL && spare_bytes >= bytes) {
        s->buffer = spare;
        s->buffer_bytes = spare_bytes;
        spare = NULL;
    } else {
        s->buffer_bytes = bytes > 0 ? bytes : 1;
        s->buffer = malloc(s->buffer_bytes);
    }
    return s->buffer != NULL;
}

static void let_go(struct nof_staged *s)
{
    if (s->in_area)
        nof_chan_nic_release_staged(s->offset);
    keep_buffer(s);
    free(s);
}

void nof_staged_close(void)
{
    free(spare);
    spare = NULL;
    while (held != NULL) {
        struct nof_staged *s = held;
        held = s->next;
        free(s->buffer);
        free(s);
    }
}

/* The request's type must leave no gaps: what comes is read as it came. */
static int check_type(const struct nof_pt2pt_args *args, struct nof_type **type_out)
{
    int rc = nof_type_check(args->datatype, true, type_out);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_count(*type_out, args->count);
    if (rc == MPI_SUCCESS && (!(*type_out)->contiguous || (*type_out)->tree->lb != 0))
        rc = nof_error(MPI_ERR_TYPE, "a message is read in place only as a datatype without gaps; "
                                     "receive this one with MPI_Recv");
    return rc;
}

/* A message of these arguments, with a buffer for the case that it is not staged. */
static int prepare(struct nof_pt2pt_args *args, struct nof_staged **staged_out)
{
    struct nof_type *type = NULL;
    int rc = check_type(args, &type);
    if (rc != MPI_SUCCESS)
        return rc;
    size_t bytes = type->size * (size_t)args->count;
    struct nof_staged *s = calloc(1, sizeof(*s));
    if (s == NULL || !get_buffer(s, bytes)) {
        free(s);
        return nof_error(MPI_ERR_NO_MEM, "no memory for a message of %zu bytes", bytes);
    }
    s->data = s->buffer;
    args->buf = s->buffer;
    *staged_out = s;
    return MPI_SUCCESS;
}

static int receive(const struct nof_pt2pt_args *args, struct nof_staged *s, struct nof_comm **comm_out,
                   MPI_Status *status)
{
    struct nof_request *req = NULL;
    int rc = nof_pt2pt_recv_new(args, comm_out, &req);
    if (rc != MPI_SUCCESS)
        return rc;
    req->staged = s;
    rc = nof_pt2pt_start(req);
    if (rc == MPI_SUCCESS) {
        rc = nof_request_wait(req);
        nof_request_status(req, status);
    }
    nof_request_free(req);
    return rc;
}

int PMPIX_Recv_staged(const void **data, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                      MPI_Status *status)
{
    nof_lib_enter(__func__);
    struct nof_pt2pt_args args = {NULL, count, datatype, source, tag, comm, NOF_CALLSITE};
    struct nof_comm *c = NULL;
    struct nof_staged *s = NULL;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS && data == NULL)
        rc = nof_error(MPI_ERR_ARG, "the place for the message's address is NULL");
    if (rc == MPI_SUCCESS)
        rc = prepare(&args, &s);
    if (rc == MPI_SUCCESS)
        rc = receive(&args, s, &c, status);
    if (rc == MPI_SUCCESS) {
        if (s->in_area)
            keep_buffer(s);
        s->next = held;
        held = s;
        *data = s->data;
    } else if (s != NULL) {
        let_go(s);
    }
    return nof_lib_leave(c, rc, __func__);
}

int PMPIX_Release(const void *data)
{
    nof_lib_enter(__func__);
    struct nof_staged **at = &held;
    while (*at != NULL && (*at)->data != data)
        at = &(*at)->next;
    struct nof_staged *s = *at;
    int rc = MPI_SUCCESS;
    if (s == NULL || data == NULL) {
        rc = nof_error(MPI_ERR_ARG,
                       "no message that MPIX_Recv_staged gave lies at %p: it was released before, "
                       "or it is the address of something else",
                       data);
    } else {
        *at = s->next;
        let_go(s);
    }
    return nof_lib_leave(NULL, rc, __func__);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "make/comm_make.h"

#include "chan/chan.h"
#include "p2p/pt2pt.h"
#include "base/wait.h"

static int start(const struct nof_talk *to, enum nof_request_kind kind, const void *buf, size_t bytes,
                 struct nof_request **req_out)
{
    struct nof_request *req =
        nof_request_internal(kind, to->comm, buf, bytes, nof_type_byte(), to->peer, to->tag);
    if (req == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a request");
    req->ctx = to->ctx;
    int rc = nof_pt2pt_start(req);
    if (rc != MPI_SUCCESS) {
        nof_request_free(req);
        return rc;
    }
    *req_out = req;
    return MPI_SUCCESS;
}

static int finish(struct nof_request *req)
{
    int rc = nof_request_wait(req);
    nof_request_free(req);
    return rc;
}

int nof_talk_swap(const struct nof_talk *to, const void *out, size_t out_bytes, void *in, size_t in_bytes)
{
    struct nof_request *recv = NULL, *send = NULL;
    int rc = MPI_SUCCESS, sent = MPI_SUCCESS;
    if (in_bytes > 0)
        rc = start(to, NOF_REQUEST_RECV, in, in_bytes, &recv);
    if (rc == MPI_SUCCESS && out_bytes > 0)
        rc = start(to, NOF_REQUEST_SEND, out, out_bytes, &send);
    if (send != NULL)
        sent = finish(send);
    if (recv != NULL) {
        if (rc != MPI_SUCCESS || sent != MPI_SUCCESS)
            nof_chan_of(to->comm)->cancel(recv); /* nothing may be written to `in` any more */
        int received = finish(recv);
        rc = rc == MPI_SUCCESS ? received : rc;
    }
    return rc == MPI_SUCCESS ? sent : rc;
}

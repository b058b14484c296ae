/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands out, and the transfers that belong to them. What ends inside the channel is only put into a list there;
 * progress carries it out. */
#include <stdlib.h>
#include <string.h>

#include "chan/chan.h"
#include "p2p/pt2pt.h"
#include "rma/rma.h"
#include "base/wait.h"

static struct nof_request *ended_first, *ended_last; /* transfers whose then() is to be called */

/* Send malloc'ed bytes and forget them. */
static int send_bytes(struct nof_win *win, uint32_t use, int peer, int tag, void *bytes, size_t len)
{
    struct nof_request *req =
        nof_request_internal(NOF_REQUEST_SEND, win->comm, NULL, len, nof_type_byte(), peer, tag);
    if (req == NULL) {
        free(bytes);
        return nof_error(MPI_ERR_NO_MEM, "no memory for a request");
    }
    req->ctx = win->comm->ctx | use;
    req->packed = bytes;
    req->data = bytes;
    req->bytes = len;
    req->orphan = true;
    nof_chan_of(win->comm)->send(req);
    return MPI_SUCCESS;
}

int nof_rma_send(struct nof_win *win, int peer, const struct nof_rma_command *command, const void *body,
                 size_t body_bytes)
{
    char *message = malloc(sizeof(*command) + body_bytes);
    if (message == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a command of one-sided communication");
    memcpy(message, command, sizeof(*command));
    if (body_bytes > 0)
        memcpy(message + sizeof(*command), body, body_bytes);
    return send_bytes(win, NOF_RMA_COMMANDS, peer, 0, message, sizeof(*command) + body_bytes);
}

int nof_rma_signal(struct nof_win *win, int peer, enum nof_rma_kind kind)
{
    struct nof_rma_command command = {.kind = (uint8_t)kind};
    return nof_rma_send(win, peer, &command, NULL, 0);
}

int nof_rma_reply(struct nof_win *win, int peer, int tag, void *bytes, size_t len)
{
    return send_bytes(win, NOF_RMA_REPLY, peer, tag, bytes, len);
}

static int run_ended(void)
{
    int n = 0;
    while (ended_first != NULL) {
        struct nof_request *req = ended_first;
        ended_first = req->next;
        if (ended_first == NULL)
            ended_last = NULL;
        struct nof_rma_step *step = req->context;
        int error = req->error;
        nof_request_free(req);
        step->then(step, error);
        n++;
    }
    return n;
}

static struct nof_wait_work ended_work = {.run = run_ended};

static void put_into_list(struct nof_request *req)
{
    req->next = NULL;
    if (ended_last == NULL)
        ended_first = req;
    else
        ended_last->next = req;
    ended_last = req;
    nof_wait_due(&ended_work);
}

int nof_rma_transfer(struct nof_win *win, const struct nof_rma_transfer *t, struct nof_rma_step *step)
{
    struct nof_request *req =
        nof_request_internal(t->kind, win->comm, t->buf, t->count, t->type, t->peer, t->tag);
    if (req == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a request");
    req->ctx = win->comm->ctx | t->use;
    req->on_done = put_into_list;
    req->context = step;
    int rc = nof_pt2pt_start(req);
    if (rc != MPI_SUCCESS)
        nof_request_free(req);
    return rc;
}

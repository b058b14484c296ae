/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands out and in, and the transfers that belong to them. What ends inside the channel is only put
 * into a list there; progress carries it out. */
#include <stdlib.h>
#include <string.h>

#include "chan/channel.h"
#include "base/progress.h"
#include "p2p/pt2pt.h"
#include "rma/rma.h"

static struct nof_win *all; /* windows with a stream */
static struct nof_request *ended_first, *ended_last; /* transfers whose then() is to be called */

/* ---- out ---- */

/* Send malloc'ed bytes and forget them. */
static int send_bytes(struct nof_win *win, uint32_t use, int peer, int tag, void *bytes, size_t len)
{
    struct nof_request *req =
        nof_pt2pt_internal(NOF_REQUEST_SEND, win->comm, NULL, len, nof_type_byte(), peer, tag);
    if (req == NULL) {
        free(bytes);
        return nof_error(MPI_ERR_NO_MEM, "no memory for a request");
    }
    req->ctx = win->comm->ctx | use;
    req->packed = bytes;
    req->data = bytes;
    req->bytes = len;
    req->orphan = true;
    nof_channel->send(req);
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

static void put_into_list(struct nof_request *req)
{
    req->next = NULL;
    if (ended_last == NULL)
        ended_first = req;
    else
        ended_last->next = req;
    ended_last = req;
}

int nof_rma_transfer(struct nof_win *win, const struct nof_rma_transfer *t, struct nof_rma_step *step)
{
    struct nof_request *req =
        nof_pt2pt_internal(t->kind, win->comm, t->buf, t->count, t->type, t->peer, t->tag);
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

/* ---- in ---- */

/* Its turn in the ring tells when it is looked at. */
static void arrived(struct nof_request *req)
{
    (void)req;
}

static void post(struct nof_win *win, unsigned i)
{
    struct nof_request *req = win->rma->receives[i];
    nof_request_reset(req);
    req->data = win->rma->buffers[i];
    req->bytes = NOF_RMA_COMMAND_MAX;
    nof_channel->recv(req);
}

static void take(struct nof_win *win, const struct nof_request *req)
{
    struct nof_rma_command command;
    const char *bytes = req->data;
    if (req->status_bytes < sizeof(command))
        return;
    memcpy(&command, bytes, sizeof(command));
    uint64_t body = req->status_bytes - sizeof(command);
    bool whole = (command.flags & NOF_RMA_APART) != 0 ||
                 (command.desc_bytes <= body && command.payload_bytes <= body - command.desc_bytes);
    if (whole)
        nof_rma_carry_out(win, req->status_source, &command, bytes + sizeof(command));
}

static int run_commands(struct nof_win *win)
{
    struct nof_rma *rma = win->rma;
    int n = 0;
    while (!rma->closing && rma->receives[rma->head]->complete) {
        unsigned i = rma->head;
        struct nof_request *req = rma->receives[i];
        if (req->error != MPI_SUCCESS)
            break; /* the NIC is gone: whoever waits finds out by himself */
        take(win, req);
        rma->head = (i + 1) % NOF_RMA_RECEIVES;
        post(win, i);
        n++;
    }
    return n;
}

int nof_rma_run(void)
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
    for (struct nof_win *win = all; win != NULL; win = win->rma->next)
        n += run_commands(win);
    return n;
}

/* ---- life ---- */

int nof_rma_open(struct nof_win *win)
{
    size_t size = (size_t)nof_comm_size(win->comm);
    struct nof_rma *rma = calloc(1, sizeof(*rma) + size * sizeof(rma->peers[0]));
    win->rma = rma;
    if (rma == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a window of %zu ranks", size);
    bool good = true;
    for (unsigned i = 0; i < NOF_RMA_RECEIVES; i++) {
        rma->buffers[i] = malloc(NOF_RMA_COMMAND_MAX);
        rma->receives[i] =
            nof_pt2pt_internal(NOF_REQUEST_RECV, win->comm, rma->buffers[i], NOF_RMA_COMMAND_MAX,
                               nof_type_byte(), MPI_ANY_SOURCE, MPI_ANY_TAG);
        good = good && rma->buffers[i] != NULL && rma->receives[i] != NULL;
        if (rma->receives[i] == NULL)
            continue;
        rma->receives[i]->ctx = win->comm->ctx | NOF_RMA_COMMANDS;
        rma->receives[i]->on_done = arrived;
    }
    if (!good) {
        nof_rma_close(win);
        return nof_error(MPI_ERR_NO_MEM, "no memory for the commands of a window");
    }
    for (unsigned i = 0; i < NOF_RMA_RECEIVES; i++)
        post(win, i);
    rma->next = all;
    all = win;
    return MPI_SUCCESS;
}

static void leave_list(const struct nof_win *win)
{
    for (struct nof_win **at = &all; *at != NULL; at = &(*at)->rma->next) {
        if (*at == win) {
            *at = win->rma->next;
            return;
        }
    }
}

void nof_rma_close(struct nof_win *win)
{
    struct nof_rma *rma = win->rma;
    if (rma == NULL)
        return;
    bool open = false;
    for (struct nof_win *at = all; at != NULL; at = at->rma->next)
        open = open || at == win;
    rma->closing = true;
    for (unsigned i = 0; i < NOF_RMA_RECEIVES; i++) {
        struct nof_request *req = rma->receives[i];
        if (open && req != NULL && !req->complete)
            nof_channel->cancel(req);
        if (open && req != NULL)
            (void)nof_request_wait(req);
        if (req != NULL)
            nof_request_free(req);
        free(rma->buffers[i]);
    }
    if (open)
        leave_list(win);
    free(rma->regions);
    free(rma);
    win->rma = NULL;
}

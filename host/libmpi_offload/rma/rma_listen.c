/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands in: every window keeps receives posted for them, and looks at what came in the order of the posting. */
#include <stdlib.h>
#include <string.h>

#include "chan/chan.h"
#include "p2p/pt2pt.h"
#include "rma/rma_work.h"
#include "base/wait.h"

static struct nof_win *all; /* windows that listen */

static void post(struct nof_win *win, unsigned i)
{
    struct nof_request *req = win->rma->receives[i];
    nof_request_reset(req);
    req->data = win->rma->buffers[i];
    req->bytes = NOF_RMA_COMMAND_MAX;
    req->claim.memory.standing = true;
    nof_chan_of(win->comm)->recv(req);
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
        if (nof_chan_is_lost() || nof_error_class(req->error) == MPI_ERR_NO_MEM)
            break; /* whoever waits finds out by himself */
        if (req->error ==
            MPI_SUCCESS) /* else its sender has died before all of it was here, or sent nonsense: others go on */
            take(win, req);
        rma->head = (i + 1) % NOF_RMA_RECEIVES;
        post(win, i);
        n++;
    }
    return n;
}

static int run_all(void)
{
    int n = 0;
    for (struct nof_win *win = all; win != NULL; win = win->rma->next)
        n += run_commands(win);
    return n;
}

static struct nof_wait_work commands_work = {.run = run_all};

/* Its turn in the ring tells when it is looked at. */
static void arrived(struct nof_request *req)
{
    (void)req;
    nof_wait_due(&commands_work);
}

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
            nof_request_internal(NOF_REQUEST_RECV, win->comm, rma->buffers[i], NOF_RMA_COMMAND_MAX,
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
    nof_rma_drop_waiting(win);
    for (unsigned i = 0; i < NOF_RMA_RECEIVES; i++) {
        struct nof_request *req = rma->receives[i];
        if (open && req != NULL && !req->complete)
            nof_chan_of(win->comm)->cancel(req);
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

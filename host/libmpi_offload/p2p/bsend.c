/* SPDX-License-Identifier: BSD-3-Clause */
#include "p2p/bsend.h"

#include "comm/comm.h"
#include "base/error.h"
#include "chan/request.h"
#include "comm/session.h"
#include "base/wait.h"

struct nof_bsend nof_bsend_process;

static bool fits(const struct nof_bsend *b, size_t need)
{
    return b->address == MPI_BUFFER_AUTOMATIC || b->size - b->used >= need;
}

void nof_bsend_release(struct nof_request *req)
{
    struct nof_bsend *from = req->bsend;
    from->used -= req->bsend_bytes;
    req->bsend_bytes = 0;
    req->on_done = NULL;
    while (from->used == 0 && from->flushes != NULL) {
        struct nof_request *flush = from->flushes;
        from->flushes = flush->next;
        nof_request_end(flush);
    }
}

static void ended(struct nof_request *req)
{
    nof_bsend_release(req);
    if (req->orphan)
        nof_request_free(req);
}

int nof_bsend_reserve(struct nof_request *req)
{
    struct nof_comm *comm = req->comm;
    struct nof_session *session = nof_handle_get(&nof_lib.sessions, nof_lib_bits(comm->session));
    size_t bytes = req->type->size * req->count;
    struct nof_bsend *b = comm->bsend.attached                         ? &comm->bsend
                          : session != NULL && session->bsend.attached ? &session->bsend
                                                                       : &nof_bsend_process;
    size_t need = bytes + MPI_BSEND_OVERHEAD;
    if (!fits(b, need))
        nof_wait_poll(); /* some of it may be free already */
    if (!b->attached || !fits(b, need))
        return nof_error(MPI_ERR_BUFFER,
                         "a buffered send of %zu bytes needs %zu, the attached buffer has %zu of %zu left",
                         bytes, need, b->size - b->used, b->size);
    b->used += need;
    req->bsend = b;
    req->bsend_bytes = need;
    req->on_done = ended;
    return MPI_SUCCESS;
}

void nof_bsend_wait(const struct nof_bsend *b)
{
    struct nof_wait wait = NOF_WAIT_START;
    while (b->used > 0)
        nof_wait_step(&wait);
}

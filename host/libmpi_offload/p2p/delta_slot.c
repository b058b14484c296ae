/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that are delta messages: their slots. */
#include <stdio.h>

#include "chan/chan.h"
#include "delta/delta_count.h"
#include "delta/delta_fault.h"
#include "delta/delta_size.h"
#include "delta/delta_watch.h"
#include "p2p/delta_p2p.h"

#define AUTO_BYTES 16384u /* below, faults cost more than they hide */

bool nof_delta_take_out(struct nof_request *req, uint32_t least_log2, bool by_address, bool on_board)
{
    const struct nof_delta_out_args args = {.board = nof_chan_for(req)->delta,
                                            .data = req->data,
                                            .bytes = req->bytes,
                                            .least_log2 = least_log2,
                                            .align_bytes = req->type->align,
                                            .by_address = by_address,
                                            .on_board = on_board};
    struct nof_delta_out *out = nof_delta_out_take(&args);
    nof_delta_count(NOF_DELTA_COUNT_SENDS, 1);
    nof_delta_count(NOF_DELTA_COUNT_SENDS_PLAIN, out == NULL || !out->looked_at);
    if (out == NULL)
        return false;
    req->delta = 1 + out->slot;
    req->delta_out = out;
    req->delta_unit_log2 = out->unit_log2;
    return true;
}

bool nof_delta_take_in(struct nof_request *req, const void *base, bool on_board)
{
    const struct nof_delta_board *board = nof_chan_for(req)->delta;
    struct nof_delta_in *in = nof_delta_in_take(board, base, req->bytes, on_board);
    nof_delta_count(NOF_DELTA_COUNT_RECEIVES, 1);
    nof_delta_count(NOF_DELTA_COUNT_RECEIVES_PLAIN,
                    in == NULL || (!nof_delta_in_on_board(in) && !board->by_memory));
    if (in == NULL)
        return false;
    in->req = req;
    in->buf = req->buf;
    req->delta = 1 + nof_delta_in_slot(in);
    return true;
}

struct nof_delta_out *nof_delta_out_with(const struct nof_request *req)
{
    return req->delta_out;
}

struct nof_delta_in *nof_delta_in_with(const struct nof_request *req)
{
    return req->delta == 0 ? NULL : nof_delta_in_at(req->delta - 1);
}

/* Can pages be watched? That they cannot is said once. Where ranks copy what their NIC brings, who waits in a fault has a thread of the
 * library poll for it (delta_poll.h). */
static bool watchable(void)
{
    static bool told;
    if (nof_delta_watch_open() && nof_delta_fault_open())
        return true;
    if (!told)
        fprintf(
            stderr,
            "libmpi_offload: rank %d on %s: NOF_DELTA: pages cannot be watched, because /proc does not "
            "tell what lies at an address; increments of sends are those that the program's calls tell, "
            "receives are waited for as a whole, so ranks that all receive before they send wait for ever: "
            "mount /proc, or set NOF_DELTA=explicit and call MPIX_Delta_wait_data\n",
            nof_lib.world_rank, nof_lib.host);
    told = true;
    return false;
}

bool nof_delta_by_pages(const struct nof_request *req)
{
    enum nof_delta_trigger trigger = nof_delta_trigger();
    return trigger != NOF_DELTA_EXPLICIT && (trigger == NOF_DELTA_OS || req->bytes >= AUTO_BYTES) &&
           watchable();
}

/* The message, and the slot, may be another's once it has ended. */
void nof_delta_end_out(struct nof_delta_out *out, size_t bytes)
{
    (void)nof_delta_out_end(out, bytes);
    if (!__atomic_load_n(&out->parked, __ATOMIC_SEQ_CST))
        return;
    nof_lib_lock();
    nof_chan_delta_ended();
    nof_lib_unlock();
}

void nof_delta_end_all(void)
{
    nof_delta_out_end_all();
    nof_chan_delta_ended();
}

int nof_delta_give_out(struct nof_request *req)
{
    if (req->delta_out != NULL)
        nof_delta_out_give(req->delta_out);
    req->delta_out = NULL;
    req->delta = 0;
    return MPI_SUCCESS;
}

int nof_delta_give_in(struct nof_request *req)
{
    if (req->delta != 0)
        nof_delta_in_give(nof_delta_in_at(req->delta - 1));
    req->delta = 0;
    return MPI_SUCCESS;
}

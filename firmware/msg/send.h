/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends: from the SEND descriptor to its completion.
 *
 *   QUEUED -> (eager) read into frames ----------------------> complete
 *          |                            '-> MATCH_WAIT (sync) -> complete
 *          '-> (rendezvous) RTS -> CTS_WAIT -> DATA -> read into frames -> complete
 *                               '-> PARKED: forgotten; comes back GRANTED as RTS RESUME -> CTS_WAIT
 *
 * A send completes when its payload has been copied into frames. While DMA reads are under way it
 * stays (ENDING), because the buffer is not the host's yet. */
#ifndef NOF_SEND_H
#define NOF_SEND_H

#include "nic.h"
#include "flow/scheduler.h"

/* Descriptors that this endpoint may still submit before sends run out. */
uint32_t nof_send_room(const struct nof_nic *nic, const struct nof_endpoint *ep);
/* What is there beside what every endpoint can count on. */
uint32_t nof_send_spare(const struct nof_nic *nic);
/* A SEND descriptor, already checked. */
void nof_send_submit(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc,
                     uint32_t layout);
/* Send what the flows have, in the scheduler's order, up to `budget` frames. Returns frames sent. */
unsigned nof_send_run(struct nof_nic *nic, unsigned budget);
/* dma_done() of a read. */
void nof_send_dma_done(struct nof_nic *nic, uint32_t index, int status);
/* The send ends with this status, as soon as no read is under way. It is in no queue. */
void nof_send_end(struct nof_nic *nic, struct nof_send *s, int status);
/* The first of those whose envelope has not left, if there is one. */
bool nof_send_end_first(struct nof_nic *nic, struct nof_peer *peer, int status);
/* The host of a parked send has it no longer for us to tell of. */
void nof_send_unparked(struct nof_nic *nic, struct nof_peer *peer);
/* Frames that have come: NOF_OK or NOF_EPROTO. */
int nof_send_cts_rx(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                    const struct nof_wire_view *view);
int nof_send_credit_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view);
int nof_send_matched_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view);
void nof_send_abort_rx(struct nof_nic *nic, struct nof_peer *peer, uint64_t handle, int status);
void nof_send_free(struct nof_nic *nic, struct nof_send *s);
/* The send of this flow that a handle from the peer names, or NULL: it has ended meanwhile. */
struct nof_send *nof_send_by_handle(struct nof_nic *nic, const struct nof_peer *peer, uint64_t handle);
/* The live send of this endpoint with this cookie, the youngest if there are several, or NULL. */
struct nof_send *nof_send_by_cookie(struct nof_nic *nic, const struct nof_endpoint *ep, uint64_t cookie);
/* Likewise, of a step of a schedule, which the former does not find. */
struct nof_send *nof_send_by_step(struct nof_nic *nic, const struct nof_endpoint *ep, uint64_t cookie);

/* For those who work on a part of it. Bytes have been put into frames, or are on their way there; */
static inline void nof_send_taken(struct nof_send *s, uint32_t bytes)
{
    s->sent += bytes;
}
/* its payload cannot be read: nothing follows; */
static inline void nof_send_broken(struct nof_send *s, int rc)
{
    s->status = rc < 0 ? rc : NOF_EFAULT;
    s->marks |= NOF_SEND_M_ISSUED;
}
/* a read of it is under way (1), or has ended (-1); */
static inline void nof_send_reading(struct nof_send *s, int delta)
{
    s->reads = (uint16_t)(s->reads + delta);
}
/* the receiver is asked whether it may be cancelled (question.h). */
static inline void nof_send_asked(struct nof_send *s, uint64_t question)
{
    s->marks |= NOF_SEND_M_CANCEL;
    s->question = question;
}
/* Cancelled: it ends without a completion. It is queued and not begun, or waits for its match. */
void nof_send_forget(struct nof_nic *nic, struct nof_send *s);

#endif

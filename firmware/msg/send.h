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
static inline uint32_t nof_send_spare(const struct nof_nic *nic)
{
    uint32_t free = nof_pool_free(&nic->sends);
    uint32_t reserve = nic->cfg.max_endpoints * nic->sends_min + nic->promised_sends;
    return free > reserve ? free - reserve : 0;
}
/* A SEND descriptor, already checked. parks: it is announced and parked in any case. */
void nof_send_submit(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc,
                     uint32_t layout, bool parks);
/* Send what the flows have, in the scheduler's order, up to `budget` frames. Returns frames sent. */
unsigned nof_send_run(struct nof_nic *nic, unsigned budget);
/* Hosts say that units of delta sends have become ready: those go on. */
void nof_send_rung(struct nof_nic *nic);
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

/* Where in the message its next byte is, where what may be sent without a gap ends, and whether n bytes from there on are the
 * last. */
static inline uint64_t nof_send_at_byte(const struct nof_send *s)
{
    return s->delta ? s->at : s->sent;
}
static inline uint64_t nof_send_until(const struct nof_send *s)
{
    return s->delta ? s->run_end : s->state == NOF_SEND_DATA ? s->wanted : s->len;
}
static inline bool nof_send_ends(const struct nof_send *s, uint64_t n)
{
    return s->state == NOF_SEND_DATA && s->sent + n == s->wanted && (!s->delta || s->ended);
}
/* For those who work on a part of it. Bytes have been put into frames, or are on their way there, with the end of a DATA
 * message or not; */
static inline void nof_send_taken(struct nof_send *s, uint32_t bytes, bool last)
{
    s->sent += bytes;
    if (s->delta)
        s->at += bytes;
    if (last)
        s->marks |= NOF_SEND_M_ISSUED;
}
/* it is a delta send (msg/delta_slots.h), beyond what is guaranteed; its next run; how long it is; */
static inline void nof_send_extra(struct nof_send *s)
{
    s->marks |= NOF_SEND_M_EXTRA;
}
static inline void nof_send_delta(struct nof_send *s, uint8_t slot_and_1, uint8_t unit_log2)
{
    s->delta = slot_and_1;
    s->unit_log2 = unit_log2;
}
static inline void nof_send_run_at(struct nof_send *s, uint64_t at, uint64_t end)
{
    s->at = at;
    s->run_end = end;
}
static inline void nof_send_ended(struct nof_send *s, uint64_t len)
{
    s->ended = 1;
    s->len = len;
    if (s->wanted > len)
        s->wanted = len;
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

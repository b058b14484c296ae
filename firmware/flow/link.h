/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links: one per path to another NIC, and one per job that loops back inside this NIC. The flows of
 * all endpoints to that NIC share it. What the layers above send does not depend on which it is.
 *
 *   nof_link_window() > 0 -> nof_link_frame() -> fill -> nof_link_send()     data, by the scheduler
 *   nof_link_ctl()                          control frames: at once, or queued before all data
 *
 * A flow that found the window shut is put on the link's blocked queue and made active again by
 * nof_link_ready(). */
#ifndef NOF_LINK_H
#define NOF_LINK_H

#include "flow/credit.h"
#include "nic.h"

/* The link of a path, made if there is none yet; NULL: all are in use. */
struct nof_link *nof_link_of_path(struct nof_nic *nic, struct nof_path *path);
/* The link to the NIC of a card, for endpoints of this job. NOF_ENOMEM. */
int nof_link_open(struct nof_nic *nic, uint32_t job, const struct nof_card *card, struct nof_link **link_out);
void nof_link_init_local(struct nof_nic *nic, uint32_t job);
void nof_link_free(struct nof_nic *nic, struct nof_link *link);
/* Its path has ended. It stays until its flows have left it, each when its endpoint looks at it (flows.h). */
void nof_link_gone(struct nof_nic *nic, struct nof_link *link, int status);
/* A link that is gone, which a flow may have left. True: it was the last, and the link is free; its job may be at its
 * end (nof_job_link_gone()). */
bool nof_link_left(struct nof_nic *nic, struct nof_link *link);
/* Nobody needs it any more, unless somebody joins its job meanwhile (keep); job.c sees to its end: (close). */
void nof_link_drain(struct nof_nic *nic, struct nof_link *link);
void nof_link_keep(struct nof_nic *nic, struct nof_link *link);
void nof_link_close(struct nof_link *link);
/* Some of the control frames that waited on links that are no more go back to their pool. */
void nof_link_sweep(struct nof_nic *nic);

/* Window, frame and drop of a loop-back link. */
unsigned nof_local_window(const struct nof_nic *nic, bool urgent);
struct nof_frame *nof_local_frame(struct nof_nic *nic, uint8_t **body_out);
void nof_local_drop(struct nof_nic *nic, struct nof_frame *frame);
void nof_local_send(struct nof_nic *nic, struct nof_link *link, struct nof_frame *frame,
                    const struct nof_local_head *head);

static inline unsigned nof_link_window(struct nof_nic *nic, struct nof_link *link, bool urgent)
{
    if (!link->up)
        return 0;
    return link->path != NULL ? nof_path_window(link->path, urgent) : nof_local_window(nic, urgent);
}

static inline uint32_t nof_link_body_max(const struct nof_link *link)
{
    return link->path != NULL ? nof_path_body_max(link->path) : NOF_LOCAL_BODY;
}

static inline struct nof_frame *nof_link_frame(struct nof_nic *nic, struct nof_link *link,
                                               uint32_t body_bytes, uint8_t **body_out)
{
    return link->path != NULL ? nof_path_frame(link->path, body_bytes, body_out)
                              : nof_local_frame(nic, body_out);
}

static inline void nof_link_drop(struct nof_nic *nic, struct nof_link *link, struct nof_frame *frame)
{
    if (link->path != NULL)
        nof_path_frame_drop(link->path, frame);
    else
        nof_local_drop(nic, frame);
}

static inline void nof_link_send(struct nof_nic *nic, struct nof_link *link, struct nof_frame *frame,
                                 uint8_t type, uint8_t flags, uint16_t src_ep, uint16_t dst_ep,
                                 uint32_t fields_bytes, uint32_t body_bytes, int summed)
{
    if (link->path != NULL) {
        link->sent_any = 1;
        link->last_pn =
            nof_path_send(link->path, frame, type, flags, src_ep, dst_ep, fields_bytes, body_bytes, summed);
        /* An endpoint's share of the wire is its frames as first sent. Acknowledgements and what is sent
         * again belong to the path: they count for the NIC alone. A refusal answers for an endpoint
         * that the peer named: there may be none. */
        if (src_ep < nic->cfg.max_endpoints && nic->eps[src_ep].state != NOF_EP_FREE) {
            nic->eps[src_ep].counters[NOF_C_TX_FRAMES]++;
            nic->eps[src_ep].counters[NOF_C_TX_BYTES] +=
                NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES + body_bytes;
        }
        return;
    }
    nof_local_send(nic, link, frame,
                   &(struct nof_local_head){.type = type,
                                            .flags = flags,
                                            .src_ep = src_ep,
                                            .dst_ep = dst_ep,
                                            .fields_bytes = fields_bytes,
                                            .body_bytes = body_bytes});
}

bool nof_link_acked(const struct nof_link *link, uint32_t pn);

/* A control frame of at most NOF_CTL_FIELDS_MAX bytes of fields and no payload. The pool holds all
 * that credit and operations allow; if a peer makes us exceed it the path is reset. */
void nof_link_ctl(struct nof_nic *nic, struct nof_link *link, uint8_t type, uint8_t flags, uint16_t src_ep,
                  uint16_t dst_ep, const uint8_t *fields, uint8_t fields_bytes);
/* A CREDIT frame of this flow; its values are taken when it leaves, if the flow lives. */
void nof_link_credit(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer);
/* The CTS of a receive from this peer. One that waits says what holds when it leaves, so there is never a second. */
void nof_link_cts(struct nof_nic *nic, struct nof_link *link, const struct nof_peer *peer,
                  struct nof_recv *r);
/* Announce more if the sender has used half of what it had. */
static inline void nof_link_update_credit(struct nof_nic *nic, struct nof_peer *peer)
{
    if (nof_credit_more(nic, peer))
        nof_link_credit(nic, &nic->links[peer->link], peer);
}
/* The window has opened, or the link is up. */
void nof_link_ready(struct nof_nic *nic, struct nof_link *link);
/* Soon is now, for links whose control frames found no frame to travel in, or whose flows go on. */
void nof_link_retry(struct nof_nic *nic);

/* Loop-back frames that are on their way: take() all, look at each with next() until it is NULL, done(). The views are
 * valid until then. */
struct nof_local_batch {
    uint32_t queue, done;
};
struct nof_local_batch nof_local_take(struct nof_nic *nic);
struct nof_link *nof_local_next(struct nof_nic *nic, struct nof_local_batch *batch,
                                struct nof_wire_view *view_out);
void nof_local_done(struct nof_nic *nic, struct nof_local_batch *batch);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Driving schedules: the engine (coll_engine.h) names the steps that may begin, and this is a second host, inside the core,
 * that begins them as ordinary sends and receives. Their ends come back through nic->taps instead of the ring.
 *
 *   IDLE -> start() -> RUNNING -> all steps done -----------------> COMP_SCHED -> IDLE
 *                              -> a step failed, SCHED_CANCEL, COLL_ABORT (abort.h) -> FAILING: posted receives are taken back,
 *                                 the others and pieces of steps that work on memory end, all peers are told
 *                                 -> COMP_SCHED -> IDLE, or TOLD while sends of it are under way for too long (patience.h) -> IDLE
 *
 * A start is declined (NOF_EAGAIN), before anything has happened, while the endpoint spills, while it still runs, or when
 * there is no room, beside what every endpoint can count on, for the most messages of one of its rounds. That room is its
 * own until it ends, so no step waits for an object that another rank holds: what a host could have under way at once, its
 * schedule can.
 *
 * REDUCE and COPY steps need no object: they go through the NIC in pieces (combine.h), of which every endpoint has some of
 * its own. Those of a program begin in the order in which they could, and programs of an endpoint take turns.
 *
 * Steps that only the host can do are handed to it (NOF_COMP_SCHED_HOST): HOST steps; receives while the endpoint spills,
 * whose message may be in the library's matcher; and receives whose message is staged already.
 *
 * Work is paid for with the endpoint's steps of a turn (flow/chores.h). */
#ifndef NOF_DRIVE_H
#define NOF_DRIVE_H

#include "msg/taps.h"
#include "nic.h"

/* Descriptors whose fields are in range. */
int nof_drive_open(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc);
void nof_drive_start(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc);
/* False: no host that keeps to the rules says this. A step or program that has ended meanwhile is no fault. */
bool nof_drive_free(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc);
bool nof_drive_continue(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc);
bool nof_drive_cancel(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc);

/* A message has come that no receive waits for; one of another collective, by a rank that this one may not even wait for,
 * ends the run that has its context and tag. */
void nof_drive_arrived(struct nof_nic *nic, const struct nof_env *e);
/* COLL_ABORT has come: NOF_OK or NOF_EPROTO. */
int nof_drive_abort_rx(struct nof_nic *nic, const struct nof_peer *peer, const struct nof_wire_view *view);

/* Of the messages that have come in part; and what it is for: a run that has waited too long fails (patience.h), or one that has
 * failed goes on. */
uint64_t nof_drive_moved_bytes(const struct nof_nic *nic, const struct nof_coll_program *p);
void nof_drive_give_up(struct nof_nic *nic, struct nof_coll_program *p);
/* Go on, as far as the endpoint's steps reach. */
void nof_drive_run(struct nof_nic *nic, struct nof_endpoint *ep);
/* As nof_taps.step_news. */
void nof_drive_news(struct nof_nic *nic, struct nof_endpoint *ep, uint64_t cookie, enum nof_step_news news,
                    int status, uint64_t len);
/* A request of a piece has ended; pieces that were put off go on. */
void nof_drive_dma_done(struct nof_nic *nic, uint32_t combine, int status);
void nof_drive_retry(struct nof_nic *nic, uint32_t *queue);
/* The endpoint closes, and nothing of it is under way: its programs in this bucket (0..colls.mask) are freed. Returns how
 * many there were. */
uint32_t nof_drive_close_bucket(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t bucket);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A collective that failed here fails everywhere: COLL_ABORT frames go along the edges of the collective, from a rank whose
 * part has failed to all that its program names, and each of those, the first time, does the same.
 *
 *   a step fails, or the host says so   -> tell() each peer of the program -> COLL_ABORT
 *   COLL_ABORT comes, its run is here   -> the run fails, as above
 *                      else             -> keep(): the host is told, and a START that comes later finds it with heard()
 *
 * Who waits for a rank has a step with it, and so has it with him: by induction whoever waits, however far away, for one
 * that failed is told, and no host has to do anything for it. Who has ended his part is not needed any more by anybody.
 *
 * A rank that has waited long may ask others, likewise, whether they call the same (status NOF_EAGAIN): a run that is here answers
 * by failing if it does not.
 *
 * A run is named by context, tag and number: contexts are not drawn again, tags are those of one collective, and a persistent
 * one, which keeps its tag, counts its starts. What was heard is kept in a ring of NOF_ABORTS_HEARD of an endpoint. */
#ifndef NOF_ABORT_H
#define NOF_ABORT_H

#include "nic.h"

/* Of a run, whose drive names it: in the table while it is RUNNING or FAILING. */
void nof_abort_enter(struct nof_nic *nic, uint32_t drive, uint32_t ep);
void nof_abort_leave(struct nof_nic *nic, uint32_t drive, uint32_t ep);
/* The drive of this run of the endpoint, or NOF_NIL. */
uint32_t nof_abort_find(const struct nof_nic *nic, uint32_t ep, const struct nof_coll_run *run);
/* One with this context and tag, whatever its number. */
uint32_t nof_abort_find_tag(const struct nof_nic *nic, uint32_t ep, uint32_t ctx, int32_t tag);

/* The fields of a COLL_ABORT to an endpoint of a job of `size` ranks. NOF_OK, NOF_EPROTO. */
int nof_abort_parse(const struct nof_wire_view *view, uint32_t size, struct nof_coll_abort *abort_out);
/* Of a run that is not here. */
void nof_abort_keep(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_coll_abort *abort);
/* NULL: nothing of this run has been heard. */
const struct nof_coll_abort *nof_abort_heard(const struct nof_nic *nic, const struct nof_endpoint *ep,
                                             const struct nof_coll_run *run);
/* A question about a run that is not here goes to the host; lost where the ring is full. */
void nof_abort_ask(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_coll_abort *question);
void nof_abort_forget_all(struct nof_nic *nic, const struct nof_endpoint *ep);

/* The number of a flood, never 0: no peer is told twice in it. */
uint32_t nof_abort_flood(struct nof_nic *nic);
/* Tell job rank `to`, if the endpoint knows it: now, or when its flow is open and the window as well. Paid for with the
 * endpoint's steps. */
void nof_abort_tell(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_coll_abort *abort,
                    uint32_t to, uint32_t flood);
/* Those that were put off, as far as the endpoint's steps reach. */
void nof_abort_run(struct nof_nic *nic, struct nof_endpoint *ep);
/* Soon is now, for those that wait for a window. */
void nof_abort_retry(struct nof_nic *nic);

#endif

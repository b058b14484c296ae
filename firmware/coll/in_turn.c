/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/in_turn.h"

#define AHEAD_US 80u /* a round trip with queues, many times */
#define AHEAD_LEAST 16384u
#define COUNTED_MOST (UINT32_MAX - 1) /* of one step: its `object`, which is not that of one at the host */

void nof_in_turn_set(struct nof_nic *nic)
{
    uint64_t carried = nic->cfg.link_rate_bps / 8000 * AHEAD_US / 1000;
    nic->turn_bytes = carried > AHEAD_LEAST ? carried : AHEAD_LEAST;
}

static struct nof_drive *drive_of(const struct nof_nic *nic, const struct nof_coll_program *p)
{
    return &nic->drives[nof_coll_index(&nic->colls, p)];
}

/* The turn of the last one is over, if little enough is left. */
static bool look(const struct nof_nic *nic, struct nof_coll_program *p)
{
    const struct nof_drive *d = drive_of(nic, p);
    return d->state == NOF_DRIVE_RUNNING && d->ahead_bytes <= nic->turn_bytes && d->turn < p->nsteps &&
           nof_coll_turn_over(&nic->colls, p, d->turn);
}

void nof_in_turn_begun(const struct nof_nic *nic, struct nof_coll_program *p, uint32_t step, uint64_t bytes)
{
    struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, step);
    struct nof_drive *d = drive_of(nic, p);
    s->object = 0;
    if (s->turn == NOF_STEP_NONE)
        return;
    s->object = bytes < COUNTED_MOST ? (uint32_t)bytes : COUNTED_MOST;
    d->ahead_bytes += s->object;
    d->turn = step;
    (void)look(nic, p);
}

bool nof_in_turn_left(const struct nof_nic *nic, struct nof_coll_program *p, uint32_t step, uint64_t bytes)
{
    struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, step);
    struct nof_drive *d = drive_of(nic, p);
    if (s->turn == NOF_STEP_NONE || bytes >= s->object)
        return false;
    d->ahead_bytes -= s->object - bytes;
    s->object = (uint32_t)bytes;
    return look(nic, p);
}

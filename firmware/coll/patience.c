/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/patience.h"

#include "coll/drive.h"

#define MS_NS 1000000u
#define LOOKS 4u /* in a patience */
#define STEPS_MOST 8192u /* that one nof_nic_colls() looks at */

static bool waits_for_sends(const struct nof_drive *d)
{
    return d->state == NOF_DRIVE_FAILING && d->sends_until_ns > 0;
}

static void set_next(struct nof_nic *nic)
{
    nic->patience_at_ns = nic->patience_ns == 0 ? NOF_NO_DEADLINE : nic->now_ns + nic->patience_ns / LOOKS;
    /* bound: max_schedules; paid by who set the feature, and once by each run that fails */
    for (uint32_t i = 0; i < nic->colls.pool.high; i++)
        if (waits_for_sends(&nic->drives[i]) && nic->drives[i].sends_until_ns > nic->now_ns &&
            nic->drives[i].sends_until_ns < nic->patience_at_ns)
            nic->patience_at_ns = nic->drives[i].sends_until_ns;
}

void nof_patience_set(struct nof_nic *nic)
{
    nic->patience_ns = nic->features[NOF_F_COLL_PATIENCE] * MS_NS;
    set_next(nic);
}

/* No step of it has ended for so long: does a message come, all the same? */
static bool creeps(struct nof_nic *nic, uint32_t i)
{
    struct nof_drive *d = &nic->drives[i];
    uint64_t bytes = nof_drive_moved_bytes(nic, nof_coll_at(&nic->colls, i));
    if (bytes == d->moved_bytes)
        return false;
    d->moved_bytes = bytes;
    d->moved_ns = nic->now_ns;
    return true;
}

void nof_patience_run(struct nof_nic *nic)
{
    set_next(nic);
    /* bound: max_schedules; paid by who set the feature, and once by each run that fails */
    for (uint32_t i = 0; i < nic->colls.pool.high; i++) {
        const struct nof_drive *d = &nic->drives[i];
        bool stuck = d->state == NOF_DRIVE_RUNNING && nic->patience_ns > 0 &&
                     nic->now_ns - d->moved_ns > nic->patience_ns && !creeps(nic, i);
        if (stuck || (waits_for_sends(d) && nic->now_ns >= d->sends_until_ns))
            nof_drive_give_up(nic, nof_coll_at(&nic->colls, i));
    }
}

/* The hour of the next look stays: one too many harms nobody. */
void nof_patience_stalled(struct nof_nic *nic, uint64_t stalled_ns)
{
    /* bound: max_schedules; paid by the core that was not scheduled */
    for (uint32_t i = 0; i < nic->colls.pool.high; i++) {
        struct nof_drive *d = &nic->drives[i];
        uint64_t moved_ns = d->moved_ns + stalled_ns;
        d->moved_ns = moved_ns < nic->now_ns ? moved_ns : nic->now_ns;
        if (d->sends_until_ns > 0)
            d->sends_until_ns += stalled_ns;
    }
}

static void add_rank(struct nof_coll_info *info, uint32_t rank)
{
    /* bound: NOF_COLL_RANKS_MOST, 8; paid by nobody: `nof status` asks */
    for (uint32_t k = 0; k < info->nranks; k++)
        if (info->rank[k] == rank)
            return;
    if (info->nranks < NOF_COLL_RANKS_MOST)
        info->rank[info->nranks++] = rank;
}

static void describe(const struct nof_nic *nic, const struct nof_coll_program *p, struct nof_coll_info *info)
{
    const struct nof_drive *d = &nic->drives[nof_coll_index(&nic->colls, p)];
    *info = (struct nof_coll_info){.endpoint = p->ep, .ctx = d->run.ctx, .tag = d->run.tag};
    /* bound: steps of a round, NOF_PROGRAM_STEPS_MAX, 1024; paid by nobody: `nof status` asks */
    for (uint32_t i = p->round_begin; i < p->round_end; i++) {
        const struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, i);
        if (s->state != NOF_COLL_BEGUN || !nof_coll_step_has_peer(s))
            continue;
        info->messages++;
        if (nof_coll_step_awaits(s))
            add_rank(info, (uint32_t)s->peer);
    }
}

unsigned nof_nic_colls(const struct nof_nic *nic, uint64_t now_ns, uint64_t least_ns,
                       struct nof_coll_info *out, unsigned max)
{
    unsigned n = 0;
    uint32_t steps = 0;
    /* bound: max_schedules, of which some are looked at closely; paid by nobody: `nof status` asks */
    for (uint32_t i = 0; i < nic->colls.pool.high && n < max && steps < STEPS_MOST; i++) {
        const struct nof_drive *d = &nic->drives[i];
        if (d->state != NOF_DRIVE_RUNNING || now_ns < d->moved_ns + least_ns)
            continue;
        const struct nof_coll_program *p = nof_coll_at(&nic->colls, i);
        steps += p->round_end - p->round_begin;
        describe(nic, p, &out[n]);
        out[n++].waited_ns = now_ns - d->moved_ns;
    }
    return n;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target: the core against a hostile NIC. NIC 0 has two ranks of job A, whose hosts are honest, and one of job B;
 * the other rank of job B is on NIC 1. A NIC that knows job A's key (rogue.h) says what the input says. What must hold
 * is in guard.h.
 *
 * Input: records of 16 bytes. The first is the setting (setting.h); of the others byte 0 says what it is:
 *   low four bits  0 to 4 frames of the rogue (rogue.c)   5, 6 chunks   7 its transport   8 to 11 a rank of job A does
 *                  something (moves.h; bit 4: which)      12 time       13 job B sends    14 the setting changes
 *                  15 ends and beginnings, the link, the port */
#include <stdlib.h>
#include <string.h>

#include "nic.h"
#include "transport/state.h"
#include "moves_delta.h"
#include "rogue.h"
#include "setting.h"

#define US 1000ull
#define MS 1000000ull
#define SIZE 4u /* of job A */
#define ROGUE_NIC 3u
#define ROGUE_CARD (WORLD_RANKS - 1u) /* world rank that stands for it */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A world that is ready, and what stands around it. */
struct stage {
    struct guard guard, guard_new;
    struct rogue rogue, rogue_new;
    struct world *w;
};

static struct stage *stages[SETTING_WORLDS];

static void set_flow(struct stage *s, unsigned flow, uint16_t ours, unsigned rank)
{
    const struct nof_card *card = &world_rank(s->w, rank)->card;
    s->rogue.flow[flow].ours = ours;
    s->rogue.flow[flow].theirs = card->endpoint;
    s->rogue.flow[flow].generation = card->generation;
}

static void run(struct stage *s, uint64_t ns)
{
    rogue_turn(&s->rogue);
    guard_run(&s->guard, ns);
    rogue_turn(&s->rogue);
}

static void open_ranks(struct stage *s)
{
    struct world *w = s->w;
    world_open_job(w, 0, 0, 0, SIZE, GUARD_JOB_A);
    world_open_job(w, 0, 1, 2, SIZE, GUARD_JOB_A);
    world_open_job(w, 0, 2, 0, 2, GUARD_JOB_B);
    world_open_job(w, 1, 3, 1, 2, GUARD_JOB_B);
    for (unsigned i = 0; i < 4; i++)
        guard_rank(&s->guard, i, i < 2 ? GUARD_JOB_A : GUARD_JOB_B, 1);
    s->guard.innocent[0] = 2;
    s->guard.innocent[1] = 3;
    world_introduce(w, 2, 3, 1);
    world_introduce(w, 3, 2, 0);
    world_introduce(w, 0, 0, 0);
    world_introduce(w, 0, 1, 2);
    world_introduce(w, 1, 0, 0);
    world_introduce(w, 1, 1, 2);
}

/* The rogue's numbers, and the core's towards it, come to their wrap. */
static void wrap(struct stage *s)
{
    const uint32_t by = UINT32_MAX - 4;
    struct nof_nic *nic = world_nic(s->w, 0);
    for (unsigned i = 0; i < 2; i++)
        setting_wrap(world_nic(s->w, i), by);
    for (unsigned i = 0; i < ROGUE_FLOWS; i++)
        s->rogue.flow[i].seq += by;
    for (uint32_t i = 0; i < nic->transport->max_paths; i++) {
        struct nof_path *p = &nic->transport->paths[i];
        if (p->state != NOF_PATH_UP || p->job_id != GUARD_JOB_A)
            continue;
        p->sent.next_pn = p->sent.cum_pn = UINT32_MAX - 6;
        s->rogue.got = UINT32_MAX - 6;
        p->reorder.next_pn = p->reorder.high_pn = UINT32_MAX - 9;
        s->rogue.pn = UINT32_MAX - 9;
    }
}

static struct stage *make(uint8_t which)
{
    struct stage *s = calloc(1, sizeof *s);
    guard_init(&s->guard);
    struct world_config cfg = setting_config(&s->guard, which, 2);
    s->w = world_init(&cfg);
    guard_new_nics(&s->guard, s->w, 2);
    guard_hide_secrets(&s->guard, s->w);
    s->guard.rogue_nic = ROGUE_NIC;
    s->guard.rogue = rogue_hear;
    s->guard.rogue_ctx = &s->rogue;
    open_ranks(s);
    rogue_init(&s->rogue, s->w, 0, &world_rank(s->w, 0)->card, GUARD_JOB_A);
    struct nof_card *card = &world_rank(s->w, ROGUE_CARD)->card;
    *card = (struct nof_card){.nic_id = s->rogue.nic_id,
                              .mac = {2, 0, 0, 0, 0, ROGUE_NIC},
                              .udp_port = s->rogue.self.udp_port,
                              .ip4 = s->rogue.self.ip4,
                              .endpoint = 20,
                              .generation = 1,
                              .host_id = ROGUE_NIC};
    set_flow(s, 0, 20, 0);
    set_flow(s, 1, 21, 0);
    set_flow(s, 2, 20, 1);
    world_introduce(s->w, 0, ROGUE_CARD, 1);
    world_introduce(s->w, 1, ROGUE_CARD, 1);
    for (unsigned i = 0; i < 20; i++)
        run(s, MS / 2);
    rogue_open_flow(&s->rogue, 0, 1, SIZE);
    rogue_open_flow(&s->rogue, 1, 3, SIZE);
    rogue_open_flow(&s->rogue, 2, 1, SIZE);
    guard_innocent(&s->guard, 0, 100);
    guard_innocent(&s->guard, 1, 100);
    for (unsigned i = 0; i < 20; i++)
        run(s, MS);
    if (nof_nic_counters(world_nic(s->w, 0))[NOF_C_PATHS_OPEN] != 2 ||
        nof_nic_counters(world_nic(s->w, 0))[NOF_C_DROP_PROTO] != 0)
        guard_fail("the rogue has not got in");
    if (setting_wraps(which))
        wrap(s);
    world_save(s->w);
    s->guard_new = s->guard;
    s->rogue_new = s->rogue;
    return s;
}

static void reopen(struct stage *s)
{
    if (world_rank(s->w, 1)->open || world_try_open(s->w, 0, 1, 2, SIZE, GUARD_JOB_A) != NOF_OK)
        return;
    guard_rank(&s->guard, 1, GUARD_JOB_A, 1);
    set_flow(s, 2, 20, 1);
    world_introduce(s->w, 1, ROGUE_CARD, 1);
    world_introduce(s->w, 1, 0, 0);
}

static void port_fault(struct stage *s, const uint8_t *rec)
{
    static const unsigned ops[] = {1u << WORLD_ALLOC, 1u << WORLD_SEND, 1u << WORLD_SEND | 1u << WORLD_ALLOC,
                                   1u << WORLD_COMPLETE};
    struct world_fault fault = {.ops = ops[rec[2] % 4],
                                .at = 1u + rec[3] % 8u,
                                .count = 1u + rec[4] % 16u,
                                .how = rec[5] & 1 ? WORLD_SHORT : WORLD_BUSY};
    world_fault(s->w, &fault);
}

static void upheaval(struct stage *s, const uint8_t *rec)
{
    struct nof_nic *nic = world_nic(s->w, 0);
    switch (rec[1] % 8) {
    case 0:
        if (world_rank(s->w, 1)->open && !world_rank(s->w, 1)->closing)
            guard_close(&s->guard, 1, rec[2] & 1 ? NOF_OK : NOF_EPEERDEAD);
        break;
    case 1:
        reopen(s);
        break;
    case 2:
        nof_nic_link(nic, world_now(s->w), false);
        guard_run(&s->guard, rec[2] * 50 * US);
        nof_nic_link(nic, world_now(s->w), true);
        break;
    case 3:
        nof_nic_stalled(nic, world_now(s->w), rec[2] * MS);
        break;
    case 4:
    case 5:
        port_fault(s, rec);
        break;
    case 6:
        world_dma_give_up(s->w);
        break;
    default:
        rogue_open_flow(&s->rogue, rec[2] % ROGUE_FLOWS, rec[3] % SIZE, SIZE);
        break;
    }
}

static void record(struct stage *s, const uint8_t *rec)
{
    unsigned rank = rec[0] >> 4 & 1;
    switch (rec[0] & 15) {
    case 5:
    case 6:
        rogue_chunk(&s->rogue, rec);
        break;
    case 7:
        rogue_transport(&s->rogue, rec);
        break;
    case 8:
    case 9:
    case 10:
    case 11:
        if (world_rank(s->w, rank)->open && !world_rank(s->w, rank)->closing)
            move(&s->guard, rank, rec, false);
        break;
    case 12:
        guard_run(&s->guard, (rec[1] & 1 ? 100 : 10000) * US * rec[2] / 16);
        break;
    case 13:
        if (rec[3] >= INNOCENT_DELTA)
            guard_innocent_delta(&s->guard, rec[1] & 1, move_len(rec[2]),
                                 move_least_log2(rec[4], move_len(rec[2])));
        else
            guard_innocent(&s->guard, rec[1] & 1, move_len(rec[2]));
        break;
    case 14:
        setting_change(&s->guard, rec[1], rec[2]);
        s->guard.rank[rank].blind = rec[3] & 1;
        break;
    case 15:
        upheaval(s, rec);
        break;
    default:
        rogue_frame(&s->rogue, rec);
        break;
    }
    if (rec[0] >= 224)
        return; /* what follows comes at the same moment */
    run(s, 20 * US);
    for (unsigned i = 0; i < 2; i++)
        if (!s->guard.rank[i].blind)
            guard_reap(&s->guard, i, rec[15] == 255);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < RECORD_BYTES)
        return 0;
    unsigned which = data[SETTING_WORLD] % SETTING_WORLDS;
    if (stages[which] == NULL)
        stages[which] = make((uint8_t)which);
    struct stage *s = stages[which];
    world_restore(s->w);
    s->guard = s->guard_new;
    s->rogue = s->rogue_new;
    rogue_forget(&s->rogue);
    setting_apply(&s->guard, data);
    for (size_t i = 1; i < RECORDS_MAX && (i + 1) * RECORD_BYTES <= size; i++)
        record(s, data + i * RECORD_BYTES);
    guard_end(&s->guard);
    return 0;
}

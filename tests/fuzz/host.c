/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target: the core against hostile ranks. NIC 0 has two ranks of job A and one of job B, NIC 1 another of each;
 * the hosts of job A submit what the input says, the ranks of job B must not notice. What must hold is in guard.h.
 *
 * Input: records of 16 bytes. The first is the setting (setting.h); of the others byte 0 says what it is:
 *   low four bits  0 to 9 a rank of job A does something (moves.h; bits 4 and 5: which), with bytes changed at will
 *                  10 a descriptor, nearly as it stands in the record   11 completions stay, or are taken   12 time
 *                  13 job B sends   14 the setting changes   15 ends and beginnings, the link, the port */
#include <stdlib.h>
#include <string.h>

#include "nic.h"
#include "moves_delta.h"
#include "setting.h"

#define US 1000ull
#define MS 1000000ull
#define SIZE 4u /* of job A */
#define HOSTILE 3u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct stage {
    struct guard guard, guard_new;
    struct world *w;
};

static struct stage *stages[SETTING_WORLDS];

static const struct {
    unsigned nic, job_rank;
} hostile[HOSTILE] = {{0, 0}, {0, 1}, {1, 2}};

static void know_each_other(struct world *w, unsigned rank)
{
    for (unsigned i = 0; i < HOSTILE; i++)
        if (world_rank(w, i)->open)
            world_introduce(w, rank, i, hostile[i].job_rank);
}

static struct stage *make(uint8_t which)
{
    struct stage *s = calloc(1, sizeof *s);
    guard_init(&s->guard);
    struct world_config cfg = setting_config(&s->guard, which, 2);
    struct world *w = s->w = world_init(&cfg);
    guard_new_nics(&s->guard, w, 2);
    guard_hide_secrets(&s->guard, w);
    for (unsigned i = 0; i < HOSTILE; i++) {
        world_open_job(w, hostile[i].nic, i, hostile[i].job_rank, SIZE, GUARD_JOB_A);
        guard_rank(&s->guard, i, GUARD_JOB_A, 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        world_open_job(w, i, HOSTILE + i, i, 2, GUARD_JOB_B);
        guard_rank(&s->guard, HOSTILE + i, GUARD_JOB_B, 1);
        s->guard.innocent[i] = HOSTILE + i;
    }
    world_introduce(w, HOSTILE, HOSTILE + 1, 1);
    world_introduce(w, HOSTILE + 1, HOSTILE, 0);
    for (unsigned i = 0; i < HOSTILE; i++)
        know_each_other(w, i);
    guard_innocent(&s->guard, 0, 100);
    guard_innocent(&s->guard, 1, 100);
    guard_run(&s->guard, 50 * MS);
    for (unsigned i = 0; setting_wraps(which) && i < 2; i++)
        setting_wrap(world_nic(w, i), UINT32_MAX - 4);
    world_save(w);
    s->guard_new = s->guard;
    return s;
}

static bool alive(struct stage *s, unsigned rank)
{
    return world_rank(s->w, rank)->open && !world_rank(s->w, rank)->closing;
}

/* A descriptor of 64 bytes in which the record stands where it can do most. */
static void anything(struct stage *s, unsigned rank, const uint8_t *rec)
{
    uint8_t raw[NOF_DESC_BYTES] = {0};
    struct nof_desc d;
    raw[0] = rec[1] & 31;
    raw[1] = rec[2];
    memcpy(raw + 4 + rec[3] % 48u, rec + 4, 12);
    memcpy(&d, raw, sizeof d);
    if (rec[2] & 128) {
        d.flags &= 127;
        d.addr = (uint64_t)(uintptr_t)world_rank(s->w, rank)->arena + (uint64_t)rec[4] * 500u;
    }
    guard_post_raw(&s->guard, rank, &d);
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

static void upheaval(struct stage *s, unsigned rank, const uint8_t *rec)
{
    struct nof_nic *nic = world_nic(s->w, rec[6] & 1);
    switch (rec[1] % 6) {
    case 0:
        if (alive(s, rank))
            guard_close(&s->guard, rank, rec[2] & 1 ? NOF_OK : NOF_EPEERDEAD);
        break;
    case 1:
        if (!world_rank(s->w, rank)->open &&
            world_try_open(s->w, hostile[rank].nic, rank, hostile[rank].job_rank, SIZE, GUARD_JOB_A) ==
                NOF_OK) {
            guard_rank(&s->guard, rank, GUARD_JOB_A, 0);
            know_each_other(s->w, rank);
        }
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
        port_fault(s, rec);
        break;
    default:
        world_dma_give_up(s->w);
        break;
    }
}

static void record(struct stage *s, const uint8_t *rec)
{
    unsigned rank = (rec[0] >> 4 & 3) % HOSTILE;
    switch (rec[0] & 15) {
    case 10:
        if (alive(s, rank))
            anything(s, rank, rec);
        break;
    case 11:
        s->guard.rank[rank].blind = rec[1] & 1;
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
        break;
    case 15:
        upheaval(s, rank, rec);
        break;
    default:
        if (alive(s, rank))
            move(&s->guard, rank, rec, true);
        break;
    }
    if (rec[0] < 192)
        guard_run(&s->guard, 20 * US);
    for (unsigned i = 0; i < HOSTILE; i++) {
        if (alive(s, i) && world_rank(s->w, i)->failed != 0)
            guard_close(&s->guard, i, world_rank(s->w, i)->failed);
        else if (alive(s, i) && rec[0] < 192 && !s->guard.rank[i].blind)
            guard_reap(&s->guard, i, rec[15] == 255);
    }
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
    setting_apply(&s->guard, data);
    for (size_t i = 1; i < RECORDS_MAX && (i + 1) * RECORD_BYTES <= size; i++)
        record(s, data + i * RECORD_BYTES);
    guard_end(&s->guard);
    return 0;
}

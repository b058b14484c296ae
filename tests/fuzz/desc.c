/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hostile descriptors: two endpoints of one job submit what the input says, to a NIC that a second job shares. The
 * second job must not notice: its messages go through before, and after. Input: records that begin with one byte;
 * its low three bits say what follows, bit 3 which endpoint.
 *   0, 1  a descriptor, 64 bytes as they are
 *   2..4  a descriptor that is nearly right, from 12 bytes
 *   5     the host takes its completions; time passes, by the next byte's value in 10 us
 *   6     the next byte's value of bytes for the program area
 *   7     a card that is nearly right */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/world.h"

#define MS 1000000ull
#define RING 16u
#define ARENA (1u << 19)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *at;
    size_t left;
};

struct memory { /* what a hostile host has heard */
    uint64_t handle;
    uint32_t staged;
};

static uint8_t byte(struct input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

static void bytes(struct input *in, void *to, size_t n)
{
    uint8_t *out = to;

    for (size_t i = 0; i < n; i++)
        out[i] = byte(in);
}

static void submit(struct world *w, unsigned rank, const struct nof_desc *d)
{
    if (world_rank(w, rank)->open && world_rank(w, rank)->failed == 0)
        world_post(w, rank, d);
    if (world_rank(w, rank)->open && world_rank(w, rank)->failed != 0)
        world_close(w, rank, world_rank(w, rank)->failed);
}

static void nearly(struct world *w, unsigned rank, struct input *in, const struct memory *mem)
{
    static const uint64_t len[] = {0, 1, 8, 32, 33, 100, 1500, 8193, 16385, 70000, 300000, 1ull << 62};
    uint8_t b[12];
    struct nof_desc d = {.ctx = 1};

    bytes(in, b, sizeof(b));
    d.opcode = (uint8_t)(1 + b[0] % 16);
    d.flags = b[1] & 0x7f;
    d.elem = b[1] >> 6 == 3 ? b[1] : 0;
    d.peer = (int32_t)(b[2] % 6) - 1;
    d.tag = (int32_t)(b[3] % 5) - 1;
    d.cookie = b[4] % 8;
    d.len = len[b[5] % 12];
    d.addr = (uint64_t)(uintptr_t)world_rank(w, rank)->arena + (uint64_t)b[6] * (ARENA / 255);
    if (d.flags & NOF_DESC_F_BOUNCE || d.opcode == NOF_DESC_LAYOUT)
        d.addr = (uint64_t)b[6] * 16;
    d.layout = b[7] % 4;
    d.layout_generation = b[7] >> 7;
    d.handle = b[8] & 1 ? mem->handle : (uint64_t)b[8] << (b[9] % 64);
    if (d.opcode == NOF_DESC_RECV || d.opcode == NOF_DESC_MRECV || d.opcode == NOF_DESC_HINT)
        d.callsite = b[10] % 4;
    if (d.opcode == NOF_DESC_RELEASE) {
        d.release.count = b[10] % 9;
        for (unsigned i = 0; i < NOF_RELEASE_MAX; i++)
            d.release.offset[i] = i == 0 ? mem->staged : (uint32_t)b[11] << 8;
    }
    submit(w, rank, &d);
}

static void card(struct world *w, unsigned rank, struct input *in)
{
    struct nof_desc d = {.opcode = NOF_DESC_PEER, .peer = (int32_t)(byte(in) % 4)};
    struct nof_card c = world_rank(w, byte(in) % 4)->card;
    uint8_t *raw = (uint8_t *)&c;

    raw[byte(in) % sizeof(c)] ^= byte(in);
    memcpy(d.inline_data, &c, sizeof(c));
    submit(w, rank, &d);
}

static void reap(struct world *w, unsigned rank, struct memory *mem)
{
    const struct nof_comp *c;

    while ((c = world_take(w, rank)) != NULL) {
        if (c->flags & NOF_COMP_F_STAGED)
            mem->staged = c->staged_offset;
        if (c->opcode == NOF_COMP_MPROBE || c->opcode == NOF_COMP_SPILL || c->opcode == NOF_COMP_GRANT)
            mem->handle = c->handle;
    }
}

static void record(struct world *w, struct input *in, struct memory *mem)
{
    uint8_t kind = byte(in);
    unsigned rank = kind >> 3 & 1;
    struct nof_desc d;
    uint8_t n;

    switch (kind & 7) {
    case 0:
    case 1:
        bytes(in, &d, sizeof(d));
        submit(w, rank, &d);
        break;
    case 5:
        reap(w, rank, &mem[rank]);
        world_run_for(w, byte(in) * 10000ull);
        break;
    case 6:
        n = byte(in);
        bytes(in, world_rank(w, rank)->program_area + 16 * (kind >> 4), n);
        break;
    case 7:
        card(w, rank, in);
        break;
    default:
        nearly(w, rank, in, &mem[rank]);
        break;
    }
}

/* The second job: ranks 2 and 3 of the world, one on each NIC. */
static void innocent(struct world *w)
{
    static const uint64_t len[] = {8, 700, 20000};
    uint8_t *from = world_rank(w, 2)->arena;
    uint8_t *to = world_rank(w, 3)->arena;

    for (unsigned i = 0; i < 3; i++) {
        memset(from, (int)(0x30 + i), len[i]);
        memset(to, 0, len[i]);
        world_recv(w, 3, 0, 1, to, len[i], i);
        world_send(w, 2, 1, 1, from, len[i], i);
        for (unsigned k = 0; k < 50 && world_rank(w, 3)->next == world_rank(w, 3)->ncomps; k++)
            world_run_for(w, k < 40 ? MS / 10 : 100 * MS);
        const struct nof_comp *c = world_expect(w, 3, NOF_COMP_RECV, i);
        if (c->status != NOF_OK || c->len != len[i] || memcmp(world_payload(w, 3, c, to), from, len[i]) != 0)
            abort();
        world_run_for(w, MS);
        if (world_expect(w, 2, NOF_COMP_SEND, i)->status != NOF_OK)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.at = data, .left = size};
    struct memory mem[2] = {{0}};
    uint8_t first = byte(&in);
    struct world_config cfg = {.nics = 2,
                               .mtu = 1500,
                               .dma_inline = first & 1,
                               .seed = 3,
                               .staging_bytes = 32768,
                               .arena_bytes = ARENA,
                               .nic = {.max_endpoints = 3, /* two hostile ones and one that is not */
                                       .max_paths = 8,
                                       .max_peers = 16,
                                       .max_jobs = 2,
                                       .max_sends = 32,
                                       .max_posted = 16,
                                       .max_envelopes = 64,
                                       .max_layouts = 8,
                                       .window_frames = 32,
                                       .sent_frames = 128,
                                       .reorder_frames = 16,
                                       .predict_calls = 16,
                                       .netmem_bytes = 196608}};
    struct world *w = world_init(&cfg);

    for (unsigned i = 0; i < 2; i++)
        nof_nic_feature_set(world_nic(w, i), NOF_F_PREDICTION, (5u + first / 2) % 6);
    for (unsigned i = 0; i < 4; i++)
        world_open_job(w, i < 2 ? 0 : i - 2, i, i % 2, i < 2 ? 4 : 2, 7 + i / 2);
    for (unsigned i = 0; i < 4; i++)
        world_introduce(w, i, i ^ 1, (i ^ 1) % 2);
    world_introduce(w, 0, 0, 0);
    world_rank(w, 0)->ring_slots = RING;
    world_rank(w, 1)->ring_slots = RING;
    innocent(w);
    while (in.left > 0)
        record(w, &in, mem);
    innocent(w);
    for (unsigned i = 0; i < 4; i++)
        if (world_rank(w, i)->open)
            world_close(w, i, NOF_OK);
    world_run_for(w, 3000 * MS);
    for (unsigned i = 0; i < 2; i++)
        if (nof_nic_counters(world_nic(w, i))[NOF_C_NETMEM_BYTES] != 0)
            abort();
    world_fini(w);
    return 0;
}

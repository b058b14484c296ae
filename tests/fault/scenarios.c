/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenarios.h"

#include <stddef.h>

#include "play.h"

#define MS 1000000ull
#define ANY NOF_ANY_SOURCE

#define SMALL_NIC(sends, envelopes) \
    { \
        .max_endpoints = 4, .max_paths = 4, .max_peers = 16, .max_jobs = 2, .max_sends = (sends), \
        .max_posted = 64, .max_envelopes = (envelopes), .max_layouts = 8, .window_frames = 32, \
        .sent_frames = 128, .reorder_frames = 32, .netmem_bytes = 1u << 20 \
    }

/* Receives that are posted before their message comes, and such that come after it. */
static void both_ways(struct play *p, unsigned from, unsigned to, const uint64_t *len, unsigned n,
                      unsigned flags)
{
    for (unsigned i = 0; i < n; i++)
        play_recv(p, to, (int)from, (int)i, len[i] + 8, p->nops + n); /* the n sends follow the n receives */
    for (unsigned i = 0; i < n; i++)
        play_send(p, from, to, (int)i, len[i], flags);
    play_settle(p);
    uint32_t first = p->nops;
    for (unsigned i = 0; i < n; i++)
        play_send(p, from, to, (int)i, len[i], flags);
    play_run(p, MS / 2);
    for (unsigned i = n; i-- > 0;)
        play_recv(p, to, i % 2 ? (int)from : ANY, (int)i, len[i], first + i);
    play_settle(p);
}

static void eager(struct play *p)
{
    static const uint64_t len[] = {0, 8, 33, 1400};
    both_ways(p, 0, 1, len, 4, 0);
    uint32_t s = play_send(p, 1, 0, 1, 32, NOF_DESC_F_INLINE);
    uint32_t t = play_send(p, 1, 0, 2, 700, NOF_DESC_F_BOUNCE);
    play_recv(p, 0, 1, 1, 32, s);
    play_recv(p, 0, 1, 2, 700, t);
    play_settle(p);
}

static void pieces(struct play *p)
{
    static const uint64_t len[] = {3000, 9000, 16000};
    both_ways(p, 0, 1, len, 3, 0);
}

static void rendezvous(struct play *p)
{
    static const uint64_t len[] = {17000, 70000};
    both_ways(p, 0, 1, len, 2, 0);
}

/* Larger than a block, and eager ones before and behind: with compression on. */
static void packed(struct play *p)
{
    static const uint64_t len[] = {1400, 9000, 70001, 3000};
    both_ways(p, 0, 1, len, 4, 0);
    uint32_t s = play_send(p, 0, 1, 9, 2000, NOF_DESC_F_BOUNCE);
    play_recv(p, 1, 0, 9, 2000, s);
    play_settle(p);
}

static void synchronous(struct play *p)
{
    static const uint64_t len[] = {8, 600, 5000, 20000};
    both_ways(p, 0, 1, len, 4, NOF_DESC_F_SYNC);
}

static void truncation(struct play *p)
{
    static const uint64_t len[] = {100, 3000, 12000, 60000};
    for (unsigned i = 0; i < 4; i++)
        play_recv(p, 1, 0, (int)i, i % 2 ? 50 : len[i] - 1, p->nops + 4);
    for (unsigned i = 0; i < 4; i++)
        play_send(p, 0, 1, (int)i, len[i], 0);
    play_settle(p);
    uint32_t first = p->nops;
    for (unsigned i = 0; i < 4; i++)
        play_send(p, 0, 1, (int)i, len[i], 0);
    play_run(p, MS / 2);
    for (unsigned i = 0; i < 4; i++)
        play_recv(p, 1, 0, (int)i, i % 2 ? 0 : len[i] / 2, first + i);
    play_settle(p);
}

static void cancel(struct play *p)
{
    uint32_t idle[4];
    for (unsigned i = 0; i < 4; i++)
        idle[i] = play_recv_idle(p, 1, i % 2 ? 0 : ANY, (int)i);
    for (unsigned i = 0; i < 3; i++)
        (void)play_cancel(p, idle[i]);
    uint32_t s = play_send(p, 0, 1, 1, 500, 0);
    play_recv(p, 1, 0, 1, 500, s);
    play_settle(p);
    (void)play_cancel(p, s); /* names no receive that is posted */
}

static void cancel_send(struct play *p)
{
    static const uint64_t len[] = {0, 8, 600, 5000, 20000};
    for (unsigned i = 0; i < 10; i++) {
        uint32_t s = play_send(p, 0, 1, (int)i, len[i % 5], NOF_DESC_F_SYNC);
        if (i < 5)
            play_run(p, MS / 2);
        (void)play_cancel_send(p, s);
    }
    play_settle(p);
    uint32_t s = play_send(p, 0, 1, 20, 5000, 0);
    play_recv(p, 1, 0, 20, 5000, s);
    play_settle(p);
    (void)play_cancel_send(p, s);
}

static void probe(struct play *p)
{
    play_probe(p, 1, NOF_DESC_PROBE, 0, 1, PLAY_NONE, 0);
    uint32_t s = p->nops + 1;
    play_probe(p, 1, NOF_DESC_PROBE, ANY, 1, s, NOF_DESC_F_WAIT);
    play_send(p, 0, 1, 1, 900, 0);
    play_settle(p);
    play_probe(p, 1, NOF_DESC_PROBE, 0, NOF_ANY_TAG, s, 0);
    play_recv(p, 1, 0, 1, 900, s);
    uint32_t t = p->nops + 1;
    uint32_t m = play_probe(p, 1, NOF_DESC_MPROBE, ANY, 2, t, NOF_DESC_F_WAIT);
    play_send(p, 0, 1, 2, 5000, 0);
    uint32_t big = play_send(p, 0, 1, 3, 30000, 0);
    play_settle_but(p, big, t);
    play_mrecv(p, m, t);
    m = play_probe(p, 1, NOF_DESC_MPROBE, 0, 3, big, NOF_DESC_F_WAIT);
    play_settle_but(p, big, PLAY_NONE);
    play_mrecv(p, m, big);
    play_settle(p);
}

/* More unexpected messages than the credit of a flow: the rest goes to the library. */
static void spill(struct play *p)
{
    static const uint64_t len[] = {8, 300, 2500, 0};
    uint32_t first = p->nops;
    for (unsigned i = 0; i < 16; i++)
        play_send(p, 0, 1, (int)i, len[i % 4], i % 5 == 4 ? NOF_DESC_F_SYNC : 0);
    play_send(p, 0, 1, 16, 30000, 0);
    play_run(p, MS / 2);
    for (unsigned i = 17; i-- > 0;)
        play_recv(p, 1, i % 2 ? 0 : ANY, (int)i, 30000, first + i);
    play_settle(p);
    play_spill_end(p, 1);
    uint32_t s = play_send(p, 0, 1, 3, 64, 0);
    play_recv(p, 1, 0, 3, 64, s);
    play_settle(p);
}

/* More rendezvous than the NIC keeps: the sender's library keeps the rest. */
static void park(struct play *p)
{
    uint32_t first = p->nops;
    for (unsigned i = 0; i < 6; i++)
        play_send(p, 0, 1, (int)i, 18000, 0);
    play_run(p, MS);
    for (unsigned i = 6; i-- > 0;)
        play_recv(p, 1, 0, (int)i, 18000, first + i);
    play_settle(p);
}

static void layout(struct play *p)
{
    static const struct play_vector column = {
        .block = 24, .stride = 40, .count = 10, .extent = 420, .name = 1};
    static const struct play_vector sparse = {
        .block = 16, .stride = 36, .count = 7, .extent = 300, .name = 2};
    play_layout(p, 0, &column);
    play_layout(p, 1, &sparse);
    play_settle(p);
    static const uint64_t len[] = {200, 2000, 6000, 17000};
    for (unsigned i = 0; i < 4; i++) {
        uint32_t s = i % 2 ? play_send_vector(p, 0, 1, (int)i, len[i], &column)
                           : play_send(p, 0, 1, (int)i, len[i], 0);
        play_recv_vector(p, 1, 0, (int)i, len[i], s, i == 1 ? NULL : &sparse);
    }
    play_layout_free(p, 0, &column); /* gone when the last message is */
    play_settle(p);
    play_layout_free(p, 1, &sparse);
}

static void flush(struct play *p)
{
    for (unsigned i = 0; i < 3; i++)
        play_recv(p, 1, 0, (int)i, 2000, p->nops + 3);
    for (unsigned i = 0; i < 3; i++)
        play_send(p, 0, 1, (int)i, 2000, 0);
    play_flush(p, 0);
    play_flush(p, 1);
    play_settle(p);
}

/* Between two ranks of one NIC, beside traffic to the other. */
static void local(struct play *p)
{
    static const uint64_t len[] = {8, 600, 12000, 40000};
    both_ways(p, 0, 2, len, 4, 0);
    uint32_t s = play_send(p, 2, 0, 1, 5000, NOF_DESC_F_SYNC);
    uint32_t t = play_send(p, 2, 1, 1, 5000, 0);
    play_flush(p, 2);
    play_recv(p, 0, ANY, 1, 5000, s);
    play_recv(p, 1, ANY, 1, 5000, t);
    play_settle(p);
}

/* A rank leaves while others wait for it and its own operations are under way. */
static void parting(struct play *p)
{
    uint32_t s = play_send(p, 0, 1, 1, 700, 0);
    play_recv(p, 1, 0, 1, 700, s);
    play_settle(p);
    play_send(p, 0, 1, 2, 50000, 0);
    play_send(p, 0, 1, 3, 100, NOF_DESC_F_SYNC);
    play_send(p, 0, 1, 4, 7000, 0);
    play_send(p, 1, 0, 5, 9000, 0);
    play_send(p, 1, 2, 6, 60000, 0);
    play_recv_idle(p, 0, 1, 7);
    play_recv_idle(p, 1, 0, 8);
    play_recv_idle(p, 2, ANY, 9);
    play_run(p, MS / 4);
    play_close(p, 1);
    play_settle(p);
    s = play_send(p, 2, 0, 1, 700, 0);
    play_recv(p, 0, 2, 1, 700, s);
    play_settle(p);
}

/* Each kind of send to each kind of receive, and units in any order. */
static void delta(struct play *p)
{
    const uint64_t len = 5 * 4096 + 700;
    uint32_t s = p->nops + 1;
    play_recv_delta(p, 1, 0, 1, len + 50, s);
    play_send_delta(p, 0, 1, 1, len, 12);
    play_run(p, MS / 4);
    play_ready(p, s, 3, 2);
    play_run(p, MS / 4);
    play_ready(p, s, 0, 1);
    play_ready(p, s, 5, 1);
    play_run(p, MS / 4);
    play_send_end(p, s, len);
    play_settle(p);
    uint32_t early = play_send_delta(p, 0, 1, 2, len, 11); /* it ends within its third unit */
    play_run(p, MS / 4);
    play_ready(p, early, 1, 1);
    play_recv_delta(p, 1, ANY, 2, len, early);
    play_run(p, MS / 4);
    play_send_end(p, early, 4096 + 10);
    play_settle(p);
    uint32_t plain = p->nops + 1;
    play_recv(p, 1, 0, 3, len / 2, plain); /* the first half is wanted */
    play_send_delta(p, 0, 1, 3, len, 10);
    play_ready(p, plain, 4, 3);
    play_ready(p, plain, 15, 2);
    play_run(p, MS / 4);
    play_send_end(p, plain, len);
    play_recv_delta(p, 1, 0, 4, 20000, p->nops + 2);
    play_recv_delta(p, 1, 0, 5, 3000, p->nops + 2);
    play_send(p, 0, 1, 4, 18000, 0);
    play_send(p, 0, 1, 5, 3000, 0);
    play_settle(p);
    uint32_t local = p->nops + 1;
    play_recv_delta(p, 2, 0, 6, 9000, local);
    play_send_delta(p, 0, 2, 6, 9000, 12);
    play_ready(p, local, 1, 1);
    play_run(p, MS / 4);
    play_send_end(p, local, 9000);
    play_settle(p);
}

const struct scenario scenarios[] = {
    {"eager", eager, {.nics = 2, .nic = SMALL_NIC(64, 128)}},
    {"pieces", pieces, {.nics = 2, .nic = SMALL_NIC(64, 128)}},
    {"pieces_unstaged", pieces, {.nics = 2, .staging_bytes = SIZE_MAX, .nic = SMALL_NIC(64, 128)}},
    {"rendezvous", rendezvous, {.nics = 2, .mtu = 9000, .nic = SMALL_NIC(64, 128)}},
    {"packed", packed, {.nics = 2, .compression = 1, .nic = SMALL_NIC(64, 128)}},
    {"synchronous", synchronous, {.nics = 2, .nic = SMALL_NIC(64, 128)}},
    {"truncation", truncation, {.nics = 2, .nic = SMALL_NIC(64, 128)}},
    {"cancel", cancel, {.nics = 2, .nic = SMALL_NIC(64, 128)}},
    {"cancel_send", cancel_send, {.nics = 2, .nic = SMALL_NIC(64, 128)}},
    {"probe", probe, {.nics = 2, .nic = SMALL_NIC(64, 128)}},
    {"spill", spill, {.nics = 2, .mtu = 9000, .staging_bytes = 4096, .nic = SMALL_NIC(64, 32)}},
    {"park", park, {.nics = 2, .mtu = 9000, .nic = SMALL_NIC(32, 128)}},
    {"layout", layout, {.nics = 2, .mtu = 9000, .nic = SMALL_NIC(64, 128)}},
    {"flush", flush, {.nics = 2, .nic = SMALL_NIC(64, 128)}},
    {"local", local, {.nics = 2, .mtu = 9000, .nic = SMALL_NIC(64, 128)}},
    {"parting", parting, {.nics = 2, .nic = SMALL_NIC(64, 128)}},
    {"delta", delta, {.nics = 2, .mtu = 9000, .delta = 1, .nic = SMALL_NIC(64, 128)}},
    {"one_nic", rendezvous, {.nics = 1, .mtu = 9000, .nic = SMALL_NIC(64, 128)}},
};
const unsigned scenarios_count = sizeof scenarios / sizeof scenarios[0];

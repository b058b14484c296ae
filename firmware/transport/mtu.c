/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sizes that handshakes test, and the MTU of a path after its handshake, as RFC 8899 has it: by padded PROBEs alone,
 * whatever ICMP says, which anybody can forge.
 *
 * Wider: the handshake takes what passes in fractions of dead_after, so a few lost HELLOs leave a path narrower than its
 * network. A path that is used tries all larger sizes now and then: nothing waits for the answer, and where they do not pass
 * they are only lost.
 *
 * Narrower: when a frame was sent several times in vain, the sizes from the one in use downwards are asked for, that one
 * three times, then, behind them, a small one. Where that is answered and the one in use is not, twice in a row, the path is as
 * narrow as what passed. */
#include "transport/state.h"

#define RAISE_FIRST_MS 1000u
#define RAISE_EVERY_MS 10000u /* after RAISE_FIRST_MS: a few full frames in ten seconds are no load */
#define DOUBTS_MAX 2u
#define DOUBTED_ASKS 3u /* of the size in use: that none is answered should not be chance */
#define DOUBT_EVERY_MS 10u /* while nothing is answered; at an MTU of 9000 that is 33 KB */
#define SMALL_BYTES (NOF_PACKET_IP_OVERHEAD_BYTES + 4u) /* passes everywhere; no other probe has this size */

/* Handshakes try every level in turn, so those that few networks have are PROBEs' alone. */
static const struct {
    uint16_t bytes;
    bool hello;
} levels[] = {{9000, true},  {1500, true}, {1450, false},
              {1400, false}, {1280, true}, {NOF_MTU_MIN_BYTES, true}};

uint16_t nof_mtu_level_below(uint16_t mtu_bytes)
{
    for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (levels[i].hello && levels[i].bytes < mtu_bytes)
            return levels[i].bytes;
    return mtu_bytes;
}

static uint32_t now_ms(const struct nof_path *p)
{
    return (uint32_t)(p->t->now_ns / NOF_MS);
}

static uint32_t most(const struct nof_path *p)
{
    uint32_t own = p->t->cfg.nic->mtu_bytes;

    return p->peer_mtu_bytes < own ? p->peer_mtu_bytes : own;
}

/* When to try; 0 is "never", so a time is never 0. */
static void plan(struct nof_path *p, uint32_t after_ms)
{
    p->raise_at_ms = p->mtu_bytes < most(p) ? (now_ms(p) + after_ms) | 1u : 0;
}

void nof_mtu_settled(struct nof_path *p)
{
    p->asked_ms = (uint16_t)(now_ms(p) - DOUBT_EVERY_MS);
    plan(p, RAISE_FIRST_MS);
}

static bool ask(struct nof_path *p, uint32_t ip_bytes)
{
    if (!nof_tx_unreliable(p, NOF_WIRE_PROBE, 0, NULL, 0, ip_bytes - NOF_PACKET_IP_OVERHEAD_BYTES))
        return false;
    nof_transport_count(p->t, NOF_C_PROBES_TX, 1);
    return true;
}

/* `to`, and the levels below it that are above `from`, from the largest on. */
static bool ask_sizes(struct nof_path *p, uint32_t from, uint32_t to)
{
    bool all = ask(p, to);

    for (unsigned i = 0; all && i < sizeof(levels) / sizeof(levels[0]); i++)
        if (levels[i].bytes > from && levels[i].bytes < to)
            all = ask(p, levels[i].bytes);
    return all;
}

void nof_mtu_raise(struct nof_path *p)
{
    if (nof_serial_before(now_ms(p), p->raise_at_ms))
        return;
    plan(p, RAISE_EVERY_MS);
    (void)ask_sizes(p, p->mtu_bytes, most(p));
}

void nof_mtu_doubt(struct nof_path *p, uint32_t len_bytes)
{
    bool all = true;

    if (p->mtu_bytes == NOF_MTU_MIN_BYTES || len_bytes > nof_path_mss(p))
        return; /* nothing smaller is to be had, or was too large anyway */
    if ((uint16_t)(now_ms(p) - p->asked_ms) < DOUBT_EVERY_MS)
        return;
    p->asked_ms = (uint16_t)now_ms(p);
    if (!p->asking)
        p->passed_bytes = 0;
    for (unsigned i = 1; all && i < DOUBTED_ASKS; i++)
        all = ask(p, p->mtu_bytes);
    p->asking = all && ask_sizes(p, NOF_MTU_MIN_BYTES, p->mtu_bytes) && ask(p, SMALL_BYTES);
}

void nof_mtu_undoubt(struct nof_path *p)
{
    p->doubts = 0;
    p->asking = false;
}

static void narrow(struct nof_path *p)
{
    uint32_t bytes = p->passed_bytes > NOF_MTU_MIN_BYTES ? p->passed_bytes : NOF_MTU_MIN_BYTES;

    p->doubts = 0;
    p->mtu_bytes = (uint16_t)bytes;
    plan(p, RAISE_EVERY_MS);
    nof_transport_count(p->t, NOF_C_PATHS_NARROWED, 1);
    nof_path_log(p, 1, "the network carries less than before: frames are smaller from now on");
}

void nof_mtu_probe_rx(struct nof_path *p, const struct nof_packet *packet)
{
    uint8_t f[NOF_WIRE_PROBE_ACK_BYTES];
    uint32_t padded = packet->len_bytes > NOF_WIRE_COMMON_BYTES;

    nof_put32(f, packet->len_bytes + NOF_PACKET_IP_OVERHEAD_BYTES - NOF_WIRE_COMMON_BYTES);
    (void)nof_tx_unreliable(p, NOF_WIRE_PROBE_ACK, 0, f, padded ? sizeof(f) : 0, 0);
}

/* What the peer got of nof_mtu_doubt()'s probes it has answered by now. */
static void conclude(struct nof_path *p)
{
    p->asking = false;
    p->asked_ms = (uint16_t)(now_ms(p) - DOUBT_EVERY_MS);
    if (p->passed_bytes >= p->mtu_bytes)
        p->doubts = 0;
    else if (++p->doubts == DOUBTS_MAX)
        narrow(p);
}

void nof_mtu_probe_ack_rx(struct nof_path *p, const struct nof_packet *packet)
{
    uint32_t passed;

    if (packet->fields_bytes != NOF_WIRE_PROBE_ACK_BYTES)
        return;
    passed = nof_get32(packet->common + NOF_WIRE_COMMON_BYTES);
    if (passed > most(p))
        return;
    if (passed == SMALL_BYTES && p->asking)
        conclude(p);
    else if (passed > p->passed_bytes)
        p->passed_bytes = (uint16_t)passed;
    if (passed <= p->mtu_bytes)
        return;
    p->mtu_bytes = (uint16_t)passed;
    plan(p, RAISE_FIRST_MS);
}

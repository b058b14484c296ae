/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sizes that handshakes test, and the MTU of a path after its handshake. That takes what passes in
 * fractions of dead_after, so a few lost HELLOs leave a path narrower than its network. A path that is used
 * tries the next larger size now and then, with one padded PROBE: nothing waits for it, and where it does not
 * pass it is only lost. */
#include "transport/state.h"

#define RAISE_FIRST_MS 1000u
#define RAISE_EVERY_MS 10000u /* after RAISE_FIRST_MS: a full frame in ten seconds is no load */

static const uint16_t levels[] = {9000, 1500, 1280, 576};

uint16_t nof_mtu_level_below(uint16_t mtu_bytes)
{
    for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (levels[i] < mtu_bytes)
            return levels[i];
    return mtu_bytes;
}

static uint32_t level_above(uint32_t mtu_bytes)
{
    uint32_t above = UINT16_MAX;

    for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (levels[i] > mtu_bytes)
            above = levels[i];
    return above;
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
    plan(p, RAISE_FIRST_MS);
}

void nof_mtu_raise(struct nof_path *p)
{
    uint32_t next = level_above(p->mtu_bytes);

    if (nof_serial_before(now_ms(p), p->raise_at_ms))
        return;
    if (next > most(p))
        next = most(p);
    plan(p, RAISE_EVERY_MS);
    if (nof_tx_unreliable(p, NOF_WIRE_PROBE, 0, NULL, 0, next - NOF_PACKET_IP_OVERHEAD_BYTES))
        nof_transport_count(p->t, NOF_C_PROBES_TX, 1);
}

void nof_mtu_narrow(struct nof_path *p, uint16_t mtu_bytes)
{
    p->mtu_bytes = mtu_bytes;
    plan(p, RAISE_EVERY_MS);
}

void nof_mtu_probe_rx(struct nof_path *p, const struct nof_packet *packet)
{
    uint8_t f[NOF_WIRE_PROBE_ACK_BYTES];
    uint32_t padded = packet->len_bytes > NOF_WIRE_COMMON_BYTES;

    nof_put32(f, packet->len_bytes + NOF_PACKET_IP_OVERHEAD_BYTES - NOF_WIRE_COMMON_BYTES);
    (void)nof_tx_unreliable(p, NOF_WIRE_PROBE_ACK, 0, f, padded ? sizeof(f) : 0, 0);
}

void nof_mtu_probe_ack_rx(struct nof_path *p, const struct nof_packet *packet)
{
    uint32_t passed;

    if (packet->fields_bytes != NOF_WIRE_PROBE_ACK_BYTES)
        return;
    passed = nof_get32(packet->common + NOF_WIRE_COMMON_BYTES);
    if (passed <= p->mtu_bytes || passed > most(p))
        return;
    p->mtu_bytes = (uint16_t)passed;
    plan(p, RAISE_FIRST_MS);
}

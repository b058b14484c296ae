/* SPDX-License-Identifier: BSD-3-Clause */
#include "cores_wire.h"

#include <stdio.h>
#include <stdlib.h>

#include "nof/status.h"
#include "port/fabric/fabric.h"

#define BURST 32u
#define QUEUE 16u /* frames that wait for a core */
#define POOL 2048u

static const struct nof_fabric_link links[] = {
    {.rate_bps = 0},
    {.rate_bps = 2000000000, .delay_ns = 5000, .loss_ppm = 3000, .duplicate_ppm = 3000, .reorder_ppm = 3000},
};

const unsigned wires_kinds = sizeof(links) / sizeof(links[0]);

static struct nof_fabric *fabric;
static unsigned nports;

const char *wires_kind(unsigned kind)
{
    return links[kind].delay_ns != 0 ? "through the switch" : "straight";
}

void wires_open(unsigned ncores, unsigned kind, struct wire wires[NICS * CORES_MAX])
{
    uint8_t mac[NICS * CORES_MAX][6] = {{0}};
    struct nof_fabric_config cfg = {.nports = NICS * ncores,
                                    .cores = ncores,
                                    .shared = true,
                                    .mac = (const uint8_t(*)[6])mac,
                                    .seed = 1,
                                    .frame_bytes = 1536,
                                    .pool_frames = POOL,
                                    .queue_frames = QUEUE,
                                    .link = links[kind]};

    nports = cfg.nports;
    for (unsigned i = 0; i < nports; i++) {
        mac[i][0] = 2;
        mac[i][5] = (uint8_t)i;
    }
    if (nof_fabric_create(&cfg, &fabric) != NOF_OK)
        abort();
    for (unsigned i = 0; i < nports; i++)
        wires[i] = (struct wire){.ops = nof_fabric_ops(fabric),
                                 .port = nof_fabric_port(fabric, i),
                                 .mac = {2, 0, 0, 0, 0, (uint8_t)i},
                                 .thread = i};
}

unsigned wire_rx(struct wire *wire, uint64_t now_ns, struct nof_frame **frames, unsigned max)
{
    return nof_fabric_rx_burst(wire->port, now_ns, frames, max);
}

void wire_rx_done(struct wire *wire, struct nof_frame *const *frames, unsigned n)
{
    nof_fabric_rx_done(wire->port, frames, n);
}

void wire_flush(struct wire *wire, uint64_t now_ns)
{
    (void)wire;
    (void)now_ns;
}

uint64_t wires_drops(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < nports; i++)
        n += nof_fabric_stats(fabric, i)->drop_queue;
    return n;
}

bool wires_close(void)
{
    bool good = true;

    for (unsigned i = 0; i < nports; i++) {
        struct nof_fabric_port *port = nof_fabric_port(fabric, i);
        struct nof_frame *frames[BURST];
        unsigned n;

        while ((n = nof_fabric_rx_burst(port, UINT64_MAX, frames, BURST)) > 0)
            nof_fabric_rx_done(port, frames, n);
    }
    for (unsigned i = 0; i < nports; i++) {
        unsigned left = nof_fabric_pool_free(fabric, i);

        if (left != POOL)
            printf("cores: core %u of %u has lost %u frames\n", i, nports, POOL - left);
        good = good && left == POOL;
    }
    nof_fabric_destroy(fabric);
    return good;
}

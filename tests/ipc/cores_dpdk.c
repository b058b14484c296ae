/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two devices of one queue each, whose rings are each other's: core 0 of a NIC has the queue, and hands over what came for
 * the others, and sends what they have. The first cores of both are one thread, so that all that threads have between them goes
 * by the port's own rings, which ThreadSanitizer sees, and nothing by the driver's, which it does not. The driver hands over
 * the sender's own mbuf; we copy it, as a wire does: the sender may send it again, while another core reads what came. */
#include "cores_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "nof/status.h"
#include "port/dpdk/dpdk_port.h"

#define BURST 32u
#define RING 256u
#define FRAMES 2048u
#define ADDRESS 0x0a000001u

const unsigned wires_kinds = 1;

static struct nof_dpdk_port *ports[NICS];
static struct nof_dpdk_queue *queues[NICS * CORES_MAX];
static unsigned cores, opened;

const char *wires_kind(unsigned kind)
{
    (void)kind;
    return "one queue of the device";
}

static void start_eal(void)
{
    static char program[] = "cores", no_huge[] = "--no-huge", no_pci[] = "--no-pci",
                no_shconf[] = "--no-shconf";
    static char no_telemetry[] = "--no-telemetry", mem[] = "-m", mb[] = "512", lcores[] = "--lcores";
    static char map[] = "0@0", log[] = "--log-level=1";
    static char *argv[] = {program, no_huge, no_pci, no_shconf, no_telemetry, mem,
                           mb,      lcores,  map,    log,       NULL};

    if (rte_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv) < 0)
        abort();
}

static struct rte_ring *new_ring(unsigned from)
{
    char name[32];
    struct rte_ring *ring;

    (void)snprintf(name, sizeof(name), "from%u_%u", from, opened);
    ring = rte_ring_create(name, RING, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    if (ring == NULL)
        abort();
    return ring;
}

/* In the thread of both first cores, whose pool the frames are of. Without room for a copy the wire loses the frame. */
static uint16_t copy_all(uint16_t port, uint16_t queue, struct rte_mbuf *mbufs[], uint16_t n, uint16_t max,
                         void *arg)
{
    uint16_t copied = 0;

    (void)port;
    (void)queue;
    (void)max;
    (void)arg;
    for (uint16_t i = 0; i < n; i++) {
        struct rte_mbuf *copy = rte_pktmbuf_copy(mbufs[i], mbufs[i]->pool, 0, UINT32_MAX);

        rte_pktmbuf_free(mbufs[i]);
        if (copy != NULL)
            mbufs[copied++] = copy;
    }
    return copied;
}

static void open_nic(unsigned nic, struct rte_ring *rx, struct rte_ring *tx)
{
    char name[32], device[64], err[NOF_DPDK_ERROR_BYTES];
    struct nof_dpdk_port_config cfg = {
        .devargs = device, .ncores = cores, .core_frames = FRAMES, .ip4 = ADDRESS + nic};
    int device_id;

    (void)snprintf(name, sizeof(name), "nic%u_%u", nic, opened);
    (void)snprintf(device, sizeof(device), "net_ring_%s", name);
    device_id = rte_eth_from_rings(name, &rx, 1, &tx, 1, 0);
    if (device_id < 0)
        abort();
    if (nof_dpdk_port_open(&cfg, &ports[nic], err, sizeof(err)) != NOF_OK) {
        printf("cores: %s\n", err);
        abort();
    }
    if (rte_eth_add_rx_callback((uint16_t)device_id, 0, copy_all, NULL) == NULL)
        abort();
}

void wires_open(unsigned ncores, unsigned kind, struct wire wires[NICS * CORES_MAX])
{
    struct rte_ring *ring[NICS];

    (void)kind;
    if (opened == 0)
        start_eal();
    cores = ncores;
    for (unsigned nic = 0; nic < NICS; nic++)
        ring[nic] = new_ring(nic);
    for (unsigned nic = 0; nic < NICS; nic++)
        open_nic(nic, ring[!nic], ring[nic]);
    opened++;
    for (unsigned i = 0; i < NICS * ncores; i++) {
        queues[i] = nof_dpdk_port_queue(ports[i / ncores], i % ncores);
        wires[i] = (struct wire){.ops = ncores > 1 ? &nof_dpdk_cores_port_ops : &nof_dpdk_port_ops,
                                 .port = queues[i],
                                 .thread = i % ncores};
        memcpy(wires[i].mac, nof_dpdk_port_info(ports[i / ncores])->mac, sizeof(wires[i].mac));
    }
}

unsigned wire_rx(struct wire *wire, uint64_t now_ns, struct nof_frame **frames, unsigned max)
{
    (void)now_ns;
    if (rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() != 0) /* until the thread ends */
        abort();
    return nof_dpdk_queue_rx(wire->port, frames, max);
}

void wire_rx_done(struct wire *wire, struct nof_frame *const *frames, unsigned n)
{
    nof_dpdk_queue_rx_done(wire->port, frames, n);
}

void wire_flush(struct wire *wire, uint64_t now_ns)
{
    nof_dpdk_queue_flush(wire->port, now_ns);
}

uint64_t wires_drops(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < NICS * cores; i++)
        n += nof_dpdk_queue_counter(queues[i], NOF_DPDK_DROP_QUEUE);
    return n;
}

/* What waits in rings of any kind. */
static void drain(void)
{
    struct nof_frame *frames[BURST];

    for (unsigned quiet = 0; quiet < 3;) {
        unsigned n = 0;

        for (unsigned i = 0; i < NICS * cores; i++) {
            unsigned got = nof_dpdk_queue_rx(queues[i], frames, BURST);

            nof_dpdk_queue_rx_done(queues[i], frames, got);
            nof_dpdk_queue_flush(queues[i], 0);
            n += got;
        }
        quiet = n == 0 ? quiet + 1 : 0;
    }
}

bool wires_close(void)
{
    bool good = true;

    drain();
    for (unsigned i = 0; i < NICS * cores; i++) {
        struct nof_dpdk_queue_stats stats;

        nof_dpdk_queue_stats(queues[i], &stats);
        if (stats.frames_free != stats.frames_total)
            printf("cores: core %u of %u has lost %u frames\n", i, NICS * cores,
                   stats.frames_total - stats.frames_free);
        good = good && stats.frames_free == stats.frames_total;
    }
    for (unsigned i = 0; i < NICS * cores; i++)
        nof_dpdk_port_close(ports[i / cores]);
    return good;
}

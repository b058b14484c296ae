/* SPDX-License-Identifier: BSD-3-Clause
 *
 * usage: vm-queues PCI IP QUEUES
 * In a virtual machine: opens that device with so many cores, a queue each, says "ready", and sends every UDP datagram to its
 * address back by the core that it came to. After SIGTERM: how many each has had that are for none by their port, which stay
 * where the device put them, and how many it has handed over. */
#include <arpa/inet.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>

#include "port/dpdk/dpdk_port.h"

#define ETH_BYTES 14u
#define IP_SOURCE 26u
#define IP_TARGET 30u
#define UDP_SOURCE 34u
#define UDP_TARGET 36u
#define HEADERS_BYTES 42u

#define FIRST_PORT 48620u /* of the first core */

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_datagram(const struct nof_frame *frame, uint32_t ip4)
{
    uint32_t target;

    if (frame->len_bytes < HEADERS_BYTES || memcmp(frame->data + 12, "\x08\x00\x45", 3) != 0 ||
        frame->data[ETH_BYTES + 9] != IPPROTO_UDP)
        return false;
    memcpy(&target, frame->data + IP_TARGET, sizeof(target));
    return ntohl(target) == ip4;
}

static void swap(uint8_t *a, uint8_t *b, size_t len_bytes)
{
    for (size_t i = 0; i < len_bytes; i++) {
        uint8_t byte = a[i];

        a[i] = b[i];
        b[i] = byte;
    }
}

/* With source and target changed over the checksums stay right. */
static void send_back(struct nof_dpdk_queue *q, const struct nof_frame *frame)
{
    struct nof_frame *back = nof_dpdk_port_ops.frame_alloc(q, frame->len_bytes);

    if (back == NULL)
        return;
    memcpy(back->data, frame->data, frame->len_bytes);
    back->len_bytes = frame->len_bytes;
    swap(back->data, back->data + 6, 6);
    swap(back->data + IP_SOURCE, back->data + IP_TARGET, 4);
    swap(back->data + UDP_SOURCE, back->data + UDP_TARGET, 2);
    (void)nof_dpdk_port_ops.send(q, &back, 1);
    nof_dpdk_port_ops.frame_free(q, back);
}

static bool for_none(const struct nof_frame *frame, unsigned ncores)
{
    uint16_t port;

    memcpy(&port, frame->data + UDP_TARGET, sizeof(port));
    return (uint16_t)(ntohs(port) - FIRST_PORT) >= ncores;
}

static unsigned serve(struct nof_dpdk_queue *q, uint32_t ip4, unsigned ncores)
{
    struct nof_frame *frames[NOF_DPDK_BURST_MAX];
    unsigned n = nof_dpdk_queue_rx(q, frames, NOF_DPDK_BURST_MAX), datagrams = 0;

    for (unsigned i = 0; i < n; i++)
        if (is_datagram(frames[i], ip4)) {
            send_back(q, frames[i]);
            datagrams += for_none(frames[i], ncores);
        }
    nof_dpdk_queue_rx_done(q, frames, n);
    nof_dpdk_queue_flush(q, now_ns());
    return datagrams;
}

static int start_eal(char *program, char *pci)
{
    char in_memory[] = "--in-memory", allow[] = "-a", memory[] = "-m", mb[] = "192",
         no_telemetry[] = "--no-telemetry";
    char *argv[] = {program, in_memory, no_telemetry, memory, mb, allow, pci, NULL};

    return rte_eal_init(sizeof(argv) / sizeof(argv[0]) - 1, argv);
}

int main(int argc, char **argv)
{
    struct nof_dpdk_port_config cfg = {0};
    uint64_t came[NOF_DPDK_QUEUES_MAX] = {0};
    char err[NOF_DPDK_ERROR_BYTES];
    struct nof_dpdk_port *port;

    if (argc != 4 || start_eal(argv[0], argv[1]) < 0)
        return 2;
    cfg.devargs = argv[1];
    cfg.ip4 = ntohl(inet_addr(argv[2]));
    cfg.udp_port = FIRST_PORT;
    cfg.ncores = (unsigned)atoi(argv[3]);
    if (nof_dpdk_port_open(&cfg, &port, err, sizeof(err)) != 0) {
        fprintf(stderr, "%s\n", err);
        return 1;
    }
    (void)signal(SIGTERM, stop);
    printf("ready\n");
    (void)fflush(stdout);
    while (!stopped)
        for (unsigned i = 0; i < cfg.ncores; i++)
            came[i] += serve(nof_dpdk_port_queue(port, i), cfg.ip4, cfg.ncores);
    for (unsigned i = 0; i < cfg.ncores; i++)
        printf("core %u: %llu datagrams, %llu handed over\n", i, (unsigned long long)came[i],
               (unsigned long long)nof_dpdk_queue_counter(nof_dpdk_port_queue(port, i), NOF_DPDK_HANDED));
    nof_dpdk_port_close(port);
    (void)rte_eal_cleanup();
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The firmware core in a program of your own: two NICs on the fabric's switch, one endpoint on each, one message from the
 * first to the second. No daemon, no MPI, no thread, no clock but a number that the program makes larger.
 *
 * What is yours in a port of your own: the wire (here nof_fabric_port_ops) and the host (host_ops below). The loop at the
 * end is all that a NIC core does. Compile against pkg-config nof-core, or see examples/meson.build. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nof/core.h"
#include "port/fabric/fabric.h"

#define NICS 2
#define BURST 32
#define STEPS_MAX 1000000 /* of the loop: then something is broken */
#define MESSAGE_BYTES 1000000
#define COOKIE 42

/* One host: a NIC, and the one program that uses it. */
struct host {
    struct nof_nic *nic;
    struct nof_fabric_port *port;
    void *memory;
    uint32_t endpoint;
    struct nof_card card;
    unsigned completed[NOF_COMP_REVOKE + 1];
    int16_t worst; /* status of a completion that was not NOF_OK */
};

/* The host's side of the core: copies and completions. Its calls never call back into the core. */

static int copy(const struct nof_segment *remote, const struct nof_buf *local, unsigned nlocal, int to_remote)
{
    uint64_t in_segment = 0;

    for (unsigned i = 0; i < nlocal; i++) {
        uint8_t *ours = local[i].base;

        for (size_t left = local[i].len_bytes; left > 0;) {
            uint8_t *theirs = (uint8_t *)(uintptr_t)remote->addr + in_segment;
            size_t room = (size_t)(remote->len_bytes - in_segment);
            size_t n = left < room ? left : room;

            if (to_remote)
                memcpy(theirs, ours, n);
            else
                memcpy(ours, theirs, n);
            ours += n;
            left -= n;
            in_segment += n;
            if (in_segment == remote->len_bytes) {
                remote++;
                in_segment = 0;
            }
        }
    }
    return NOF_DMA_DONE; /* all copied: we promise `dma_inline` below */
}

static int dma_read(void *host, uint32_t endpoint, const struct nof_segment *remote, unsigned nremote,
                    const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    (void)host;
    (void)endpoint;
    (void)nremote; /* both lists have the same number of bytes */
    (void)token;
    return copy(remote, local, nlocal, 0);
}

static int dma_write(void *host, uint32_t endpoint, const struct nof_segment *remote, unsigned nremote,
                     const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    (void)host;
    (void)endpoint;
    (void)nremote;
    (void)token;
    return copy(remote, local, nlocal, 1);
}

static unsigned complete(void *host, uint32_t endpoint, const struct nof_comp *comps, unsigned n)
{
    struct host *h = host;

    (void)endpoint;
    for (unsigned i = 0; i < n; i++) {
        h->completed[comps[i].opcode]++;
        if (comps[i].status != NOF_OK)
            h->worst = comps[i].status;
    }
    return n;
}

static void endpoint_failed(void *host, uint32_t endpoint, int status)
{
    struct host *h = host;

    (void)endpoint;
    h->worst = (int16_t)status;
}

static uint64_t cycles(void *host)
{
    (void)host;
    return 0; /* a constant: compression never counts as too dear */
}

static void say(void *host, int level, const char *text)
{
    (void)host;
    fprintf(stderr, "core, level %d: %s\n", level, text);
}

static const struct nof_host_ops host_ops = {.dma_read = dma_read,
                                             .dma_write = dma_write,
                                             .complete = complete,
                                             .endpoint_failed = endpoint_failed,
                                             .cycles = cycles,
                                             .log = say};

static void must(int rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s: error %d (include/nof/status.h)\n", what, rc);
    exit(1);
}

static void open_host(struct host *h, unsigned index, struct nof_fabric *fabric, const uint8_t *mac,
                      uint64_t now_ns)
{
    struct nof_nic_config cfg = {.nic_id = 1000 + index, /* random in earnest, as are seed and key */
                                 .seed = {(uint8_t)(1 + index)},
                                 .ip4 = 0x0a000001 + index,
                                 .host_id = index,
                                 .mtu_bytes = 9000};
    struct nof_endpoint_params params = {
        .job_id = 7, .job_key = {1, 2, 3}, .rank = index, .size = NICS, .dma_inline = true};

    memcpy(cfg.mac, mac, sizeof(cfg.mac));
    h->port = nof_fabric_port(fabric, index);
    h->memory = aligned_alloc(64, (nof_nic_mem_size(&cfg) + 63) / 64 * 64);
    if (h->memory == NULL)
        must(NOF_ENOMEM, "memory of a NIC");
    must(nof_nic_init(h->memory, nof_nic_mem_size(&cfg), &cfg, &nof_fabric_port_ops, h->port, &host_ops, h,
                      now_ns, &h->nic),
         "nof_nic_init");
    must(nof_nic_endpoint_open(h->nic, now_ns, &params, &h->endpoint, &h->card), "nof_nic_endpoint_open");
}

static void submit(struct host *h, uint64_t now_ns, const struct nof_desc *desc)
{
    if (nof_nic_host_room(h->nic, h->endpoint) == 0)
        must(NOF_EAGAIN, "room for a descriptor");
    nof_nic_host(h->nic, now_ns, h->endpoint, desc, 1);
}

/* Each knows the other by its business card, which PMI or a file would carry between hosts. */
static void introduce(struct host *h, const struct host *other, int32_t rank, uint64_t now_ns)
{
    struct nof_desc desc = {.opcode = NOF_DESC_PEER, .peer = rank};

    memcpy(desc.inline_data, &other->card, sizeof(other->card));
    submit(h, now_ns, &desc);
}

/* The loop of a NIC core: what came in, then what is due. Returns when it must be called again. */

static uint64_t turn(struct host *h, uint64_t now_ns)
{
    struct nof_frame *frames[BURST];
    unsigned n = nof_fabric_rx_burst(h->port, now_ns, frames, BURST);

    if (n > 0) {
        nof_nic_rx(h->nic, now_ns, frames, n);
        nof_fabric_rx_done(h->port, frames, n);
    }
    if (nof_nic_poll(h->nic, now_ns, BURST))
        return now_ns;
    return nof_nic_next_deadline(h->nic);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Until both sides have their completion. A real program sleeps until `next_ns`; here the time jumps there. */
static uint64_t run(struct host *hosts, struct nof_fabric *fabric, uint64_t now_ns)
{
    for (unsigned step = 0; hosts[0].completed[NOF_COMP_SEND] == 0 || hosts[1].completed[NOF_COMP_RECV] == 0;
         step++) {
        uint64_t next_ns = NOF_NO_DEADLINE;

        if (step == STEPS_MAX)
            must(NOF_EPEERDEAD, "no completion");
        for (unsigned i = 0; i < NICS; i++)
            next_ns = earlier(next_ns, turn(&hosts[i], now_ns));
        next_ns = earlier(next_ns, nof_fabric_next_deadline(fabric));
        if (next_ns > now_ns)
            now_ns = next_ns;
    }
    return now_ns;
}

int main(void)
{
    static const uint8_t macs[NICS][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};
    struct nof_fabric_config wire = {
        .nports = NICS, .mac = macs, .link = {.rate_bps = 10000000000, .delay_ns = 1000}};
    struct host hosts[NICS] = {0};
    struct nof_fabric *fabric;
    uint8_t *sent = malloc(MESSAGE_BYTES);
    uint8_t *received = calloc(1, MESSAGE_BYTES);
    uint64_t began_ns = 1000000, now_ns = began_ns;
    int same;

    if (sent == NULL || received == NULL)
        must(NOF_ENOMEM, "two buffers");
    for (size_t i = 0; i < MESSAGE_BYTES; i++)
        sent[i] = (uint8_t)(i * i >> 5);
    must(nof_fabric_create(&wire, &fabric), "nof_fabric_create");
    for (unsigned i = 0; i < NICS; i++)
        open_host(&hosts[i], i, fabric, macs[i], now_ns);
    introduce(&hosts[0], &hosts[1], 1, now_ns);
    introduce(&hosts[1], &hosts[0], 0, now_ns);
    submit(&hosts[1], now_ns,
           &(struct nof_desc){.opcode = NOF_DESC_RECV,
                              .cookie = COOKIE,
                              .peer = NOF_ANY_SOURCE,
                              .tag = 5,
                              .len = MESSAGE_BYTES,
                              .addr = (uint64_t)(uintptr_t)received});
    submit(&hosts[0], now_ns,
           &(struct nof_desc){.opcode = NOF_DESC_SEND,
                              .cookie = COOKIE,
                              .peer = 1,
                              .tag = 5,
                              .len = MESSAGE_BYTES,
                              .addr = (uint64_t)(uintptr_t)sent});
    now_ns = run(hosts, fabric, now_ns);
    same = memcmp(sent, received, MESSAGE_BYTES) == 0 && hosts[0].worst == NOF_OK && hosts[1].worst == NOF_OK;
    printf("%d bytes from NIC 0 to NIC 1 in %.1f us of virtual time: %s\n", MESSAGE_BYTES,
           (double)(now_ns - began_ns) / 1e3, same ? "whole" : "damaged");
    for (unsigned i = 0; i < NICS; i++) {
        nof_nic_fini(hosts[i].nic);
        free(hosts[i].memory);
    }
    nof_fabric_destroy(fabric);
    free(received);
    free(sent);
    return same ? 0 : 1;
}

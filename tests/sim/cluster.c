/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cluster: the event loop of the simulator. */
#include "cluster.h"

#include <limits.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"
#include "rng.h"
#include "trace.h"
#include "wrap.h"

#define UDP_PORT 48620u
#define RX_BURST 32u
#define RX_BURSTS_PER_ROUND 8u
#define DESC_BURST 32u
#define POLL_FRAMES 64u
#define GUARD_BYTES 4096u
#define GUARD_BYTE 0x5a
/* Rounds in a row without time passing or anything moving: a core that asks to be called at once
 * for ever. */
#define IDLE_ROUNDS_MAX 2000000u

struct event {
    uint64_t when_ns;
    uint64_t order;
    nof_cluster_event *fn;
    void *user;
    uint64_t arg;
};

struct endpoint {
    bool open;
    bool starved; /* the host may have more than the core took: look again when it has room */
    bool failed; /* to be closed after the current call of the core */
    int status;
    const struct nof_cluster_host_ops *ops;
    void *host;
};

struct done {
    uint64_t token;
    int status;
};

struct nic {
    struct nof_cluster *cluster;
    struct nof_nic *core;
    struct nof_fabric_port *port;
    struct nof_gate *gate; /* in front of it */
    uint8_t *mem;
    size_t mem_bytes;
    struct nof_nic_config cfg;
    uint32_t incarnation;
    unsigned index;

    struct endpoint *endpoint; /* cfg.max_endpoints */
    struct done *done;
    unsigned ndone, done_room;

    bool kicked;
    bool any_failed;
    bool told_up; /* what the core knows of its link */
    bool up;
    uint64_t deadline_ns;
    uint64_t next_round_ns;
    uint64_t stalled_ns; /* to be told */
    uint64_t cycles;
    uint64_t descs; /* of all rounds */
    uint64_t frames, bytes; /* that were paid for, with descriptors */
};

struct nof_cluster {
    uint64_t now_ns;
    struct nof_cluster_config cfg;
    struct nof_fabric *fabric;
    struct nic *nic;
    struct nof_rng rng;
    struct event *heap;
    unsigned nevents, event_room;
    uint64_t order;
    uint64_t idle_rounds;
    uint64_t stalls, restarts, pulls_refused;
    bool violated;
    char violation[512];
};

void nof_cluster_fail(struct nof_cluster *c, const char *format, ...)
{
    if (c->violated)
        return;
    c->violated = true;
    va_list args;
    va_start(args, format);
    int n = snprintf(c->violation, sizeof(c->violation), "at %.6f s: ", (double)c->now_ns / 1e9);
    (void)vsnprintf(c->violation + n, sizeof(c->violation) - (size_t)n, format, args);
    va_end(args);
    nof_cluster_trace(c, "VIOLATION %s", c->violation);
}

void nof_cluster_trace(struct nof_cluster *c, const char *format, ...)
{
    if (c->cfg.trace == NULL)
        return;
    va_list args;
    va_start(args, format);
    fprintf(c->cfg.trace, "%12.6f ms  ", (double)c->now_ns / 1e6);
    vfprintf(c->cfg.trace, format, args);
    fputc('\n', c->cfg.trace);
    va_end(args);
}

bool nof_cluster_tracing(const struct nof_cluster *c)
{
    return c->cfg.trace != NULL;
}

const char *nof_cluster_violation(const struct nof_cluster *c)
{
    return c->violated ? c->violation : NULL;
}

static struct endpoint *endpoint_of(struct nic *n, uint32_t endpoint)
{
    if (endpoint < n->cfg.max_endpoints && n->endpoint[endpoint].open)
        return &n->endpoint[endpoint];
    nof_cluster_fail(n->cluster, "NIC %u calls the host of endpoint %u, which is not open", n->index,
                     endpoint);
    return NULL;
}

static int host_dma(struct nic *n, bool write, uint32_t endpoint, const struct nof_segment *remote,
                    unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    struct endpoint *e = endpoint_of(n, endpoint);
    return e != NULL ? e->ops->dma(e->host, write, remote, nremote, local, nlocal, token) : NOF_EFAULT;
}

static int host_dma_read(void *host, uint32_t endpoint, const struct nof_segment *remote, unsigned nremote,
                         const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    return host_dma(host, false, endpoint, remote, nremote, local, nlocal, token);
}

static int host_dma_write(void *host, uint32_t endpoint, const struct nof_segment *remote, unsigned nremote,
                          const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    return host_dma(host, true, endpoint, remote, nremote, local, nlocal, token);
}

static unsigned host_complete(void *host, uint32_t endpoint, const struct nof_comp *comps, unsigned n)
{
    struct nic *nic = host;
    struct endpoint *e = endpoint_of(nic, endpoint);
    if (e == NULL)
        return n;
    nic->cluster->idle_rounds = 0;
    unsigned taken = e->ops->complete(e->host, comps, n);
    for (unsigned i = 0; i < taken; i++) /* what is asked again (include/nof/desc.h, PULL) */
        nic->cluster->pulls_refused += comps[i].opcode == NOF_COMP_RECV && comps[i].status == NOF_EAGAIN;
    return taken;
}

static void host_arrived(void *host, uint32_t endpoint)
{
    struct endpoint *e = endpoint_of(host, endpoint);
    if (e != NULL && e->ops->arrived != NULL)
        e->ops->arrived(e->host);
}

static bool host_claim(void *host, uint32_t endpoint, uint32_t slot, uint32_t generation)
{
    struct endpoint *e = endpoint_of(host, endpoint);
    return e != NULL && e->ops->claim(e->host, slot, generation);
}

static void host_endpoint_failed(void *host, uint32_t endpoint, int status)
{
    struct nic *n = host;
    struct endpoint *e = endpoint_of(n, endpoint);
    if (e == NULL)
        return;
    e->failed = true;
    e->status = status;
    n->any_failed = true;
}

static uint64_t host_cycles(void *host)
{
    struct nic *n = host;
    return n->cluster->now_ns + n->cycles++;
}

static void host_log(void *host, int level, const char *text)
{
    struct nic *n = host;
    nof_cluster_trace(n->cluster, "nic%u log %d: %s", n->index, level, text);
}

static const struct nof_host_ops host_ops = {
    .dma_read = host_dma_read,
    .dma_write = host_dma_write,
    .complete = host_complete,
    .arrived = host_arrived,
    .claim = host_claim,
    .endpoint_failed = host_endpoint_failed,
    .cycles = host_cycles,
    .log = host_log,
};

static struct nof_frame *port_frame_alloc(void *port, uint32_t len_bytes)
{
    struct nic *n = port;
    return nof_fabric_ops(n->cluster->fabric)->frame_alloc(n->port, len_bytes);
}

static void port_frame_free(void *port, struct nof_frame *frame)
{
    struct nic *n = port;
    nof_fabric_ops(n->cluster->fabric)->frame_free(n->port, frame);
}

static unsigned port_send(void *port, struct nof_frame *const *frames, unsigned count)
{
    struct nic *n = port;
    return nof_fabric_ops(n->cluster->fabric)->send(n->port, frames, count);
}

static int port_group(void *port, uint32_t ip4, const uint8_t mac[6], bool join)
{
    struct nic *n = port;
    int status = nof_fabric_ops(n->cluster->fabric)->group(n->port, ip4, mac, join);
    if (status == NOF_OK)
        nof_gate_group(n->gate, ip4, join);
    return status;
}

static void port_conn(void *port, uint32_t slot, uint64_t id)
{
    struct nic *n = port;
    nof_gate_conn(n->gate, slot, id);
}

static const struct nof_port_ops port_ops = {
    .frame_alloc = port_frame_alloc,
    .frame_free = port_frame_free,
    .send = port_send,
    .group = port_group,
    .conn = port_conn,
};

static int nic_start(struct nof_cluster *c, struct nic *n)
{
    n->cfg.nic_id = nof_rng_next(&c->rng) | 1;
    for (unsigned i = 0; i < sizeof(n->cfg.seed); i++)
        n->cfg.seed[i] = (uint8_t)nof_rng_next(&c->rng);
    memset(n->mem, 0xee, n->mem_bytes);
    memset(n->mem + n->mem_bytes, GUARD_BYTE, GUARD_BYTES);
    n->kicked = true;
    n->told_up = true;
    n->ndone = 0;
    n->stalled_ns = 0;
    nof_gate_close(n->gate);
    n->gate = nof_gate_open(n->cfg.nic_id, n->cfg.ip4, n->cfg.max_paths);
    if (n->gate == NULL)
        return NOF_ENOMEM;
    int status = nof_nic_init(n->mem, n->mem_bytes, &n->cfg, &port_ops, n, &host_ops, n, c->now_ns, &n->core);
    if (status == NOF_OK && c->cfg.near_wrap != 0)
        nof_wrap_nic(n->core, c->cfg.near_wrap);
    return status;
}

static void nic_stop(struct nof_cluster *c, struct nic *n)
{
    nof_nic_fini(n->core);
    for (unsigned i = 0; i < GUARD_BYTES; i++) {
        if (n->mem[n->mem_bytes + i] != GUARD_BYTE) {
            nof_cluster_fail(c, "NIC %u wrote %u bytes behind its memory", n->index, i);
            break;
        }
    }
    memset(n->endpoint, 0, n->cfg.max_endpoints * sizeof(*n->endpoint));
}

static int nic_create(struct nof_cluster *c, unsigned index, const uint8_t mac[6])
{
    struct nic *n = &c->nic[index];
    n->cluster = c;
    n->index = index;
    n->up = true;
    n->port = nof_fabric_port(c->fabric, index);
    n->cfg = c->cfg.nic;
    n->cfg.nic_id = 1;
    memcpy(n->cfg.mac, mac, 6);
    n->cfg.ip4 = 0x0a000001 + index / c->cfg.cores;
    n->cfg.host_id = index / c->cfg.cores + 1;
    n->cfg.udp_port = (uint16_t)(UDP_PORT + index % c->cfg.cores);
    n->cfg.group_port = UDP_PORT;
    n->mem_bytes = nof_nic_mem_size(&n->cfg);
    if (n->mem_bytes == 0)
        return NOF_EINVAL;
    n->mem = aligned_alloc(64, (n->mem_bytes + GUARD_BYTES + 63) & ~(size_t)63);
    n->endpoint = calloc(n->cfg.max_endpoints, sizeof(*n->endpoint));
    if (n->mem == NULL || n->endpoint == NULL)
        return NOF_ENOMEM;
    return nic_start(c, n);
}

/* What one cluster had serves the next: to have the kernel clear as many pages anew takes longer than many a run. */
static void keep_memory(void)
{
    (void)mallopt(M_MMAP_MAX, 0);
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

int nof_cluster_create(const struct nof_cluster_config *cfg, struct nof_cluster **cluster_out)
{
    keep_memory();
    struct nof_cluster *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return NOF_ENOMEM;
    c->cfg = *cfg;
    c->cfg.cores = cfg->cores != 0 ? cfg->cores : 1;
    c->cfg.loop_ns = cfg->loop_ns != 0 ? cfg->loop_ns : 500;
    c->cfg.nic.max_endpoints = cfg->nic.max_endpoints != 0 ? cfg->nic.max_endpoints : 16;
    if (cfg->nic.max_predictors == 0)
        c->cfg.nic.max_predictors = 2;
    if (cfg->nic.predictor_log2 == 0)
        c->cfg.nic.predictor_log2 = 8; /* memory that every start of a NIC fills */
    c->now_ns = 1000000000;
    c->rng.state = cfg->seed;
    uint8_t(*mac)[6] = calloc(cfg->nnics, sizeof(*mac));
    c->nic = calloc(cfg->nnics, sizeof(*c->nic));
    int status = NOF_ENOMEM;
    if (mac == NULL || c->nic == NULL)
        goto err;
    for (unsigned i = 0; i < cfg->nnics; i++) {
        mac[i][0] = 2;
        mac[i][4] = (uint8_t)(i >> 8);
        mac[i][5] = (uint8_t)i;
    }
    struct nof_fabric_config fabric = {
        .nports = cfg->nnics,
        .cores = c->cfg.cores,
        .shared = cfg->cores != 0,
        .mac = (const uint8_t(*)[6])mac,
        .seed = nof_rng_next(&c->rng),
        .frame_bytes = (cfg->nic.mtu_bytes != 0 ? cfg->nic.mtu_bytes : 1500) + 18,
        .pool_frames = cfg->pool_frames,
        .queue_frames = cfg->queue_frames,
        .tx_queue_bytes = cfg->tx_queue_bytes,
        .link = cfg->link,
        .switches = cfg->switches,
        .trunk_rate_bps = cfg->link.rate_bps,
        .trunk_delay_ns = cfg->link.delay_ns,
    };
    status = nof_fabric_create(&fabric, &c->fabric);
    nof_fabric_advance(c->fabric, c->now_ns);
    for (unsigned i = 0; status == NOF_OK && i < cfg->nnics; i++)
        status = nic_create(c, i, mac[i]);
err:
    free(mac);
    if (status != NOF_OK) {
        nof_cluster_destroy(c);
        return status;
    }
    *cluster_out = c;
    return NOF_OK;
}

void nof_cluster_destroy(struct nof_cluster *c)
{
    if (c == NULL)
        return;
    for (unsigned i = 0; c->nic != NULL && i < c->cfg.nnics; i++) {
        nof_gate_close(c->nic[i].gate);
        free(c->nic[i].mem);
        free(c->nic[i].endpoint);
        free(c->nic[i].done);
    }
    free(c->nic);
    free(c->heap);
    nof_fabric_destroy(c->fabric);
    free(c);
}

void nof_cluster_fini(struct nof_cluster *c)
{
    for (unsigned i = 0; i < c->cfg.nnics; i++)
        nic_stop(c, &c->nic[i]);
    struct nof_frame *frames[RX_BURST];
    for (unsigned i = 0; i < c->cfg.nnics; i++) {
        unsigned n;
        while ((n = nof_fabric_rx_burst(c->nic[i].port, UINT64_MAX, frames, RX_BURST)) > 0)
            nof_fabric_rx_done(c->nic[i].port, frames, n);
    }
    unsigned pool = c->cfg.pool_frames != 0 ? c->cfg.pool_frames : 1024;
    for (unsigned i = 0; i < c->cfg.nnics; i++) {
        unsigned left = nof_fabric_pool_free(c->fabric, i);
        if (left != pool)
            nof_cluster_fail(c, "NIC %u ended and kept %u frames", i, pool - left);
    }
}

uint64_t nof_cluster_now(const struct nof_cluster *c)
{
    return c->now_ns;
}

struct nof_fabric *nof_cluster_fabric(struct nof_cluster *c)
{
    return c->fabric;
}

struct nof_nic *nof_cluster_nic(struct nof_cluster *c, unsigned nic)
{
    return c->nic[nic].core;
}

unsigned nof_cluster_nnics(const struct nof_cluster *c)
{
    return c->cfg.nnics;
}

unsigned nof_cluster_cores(const struct nof_cluster *c)
{
    return c->cfg.cores;
}

uint32_t nof_cluster_incarnation(const struct nof_cluster *c, unsigned nic)
{
    return c->nic[nic].incarnation;
}

bool nof_cluster_quiet(struct nof_cluster *c)
{
    if (nof_fabric_next_deadline(c->fabric) != NOF_NO_DEADLINE)
        return false;
    for (unsigned i = 0; i < c->cfg.nnics; i++) {
        if (!nof_nic_quiet(c->nic[i].core))
            return false;
    }
    return true;
}

struct nof_cluster_faults nof_cluster_faults(const struct nof_cluster *c)
{
    struct nof_cluster_faults f = {
        .stalls = c->stalls, .restarts = c->restarts, .pulls_refused = c->pulls_refused};
    for (unsigned i = 0; i < c->cfg.nnics; i++) {
        const struct nof_fabric_stats *s = nof_fabric_stats(c->fabric, i);
        f.lost += s->lost;
        f.duplicated += s->duplicated;
        f.reordered += s->reordered;
        f.corrupted += s->corrupted;
        f.rings_full += s->drop_queue;
    }
    return f;
}

int nof_cluster_endpoint_open(struct nof_cluster *c, unsigned nic, const struct nof_endpoint_params *params,
                              const struct nof_cluster_host_ops *ops, void *host, uint32_t *endpoint_out,
                              struct nof_card *card_out)
{
    struct nic *n = &c->nic[nic];
    uint32_t index;
    int status = nof_nic_endpoint_open(n->core, c->now_ns, params, &index, card_out);
    if (status != NOF_OK)
        return status;
    n->endpoint[index] = (struct endpoint){.open = true, .ops = ops, .host = host};
    n->kicked = true;
    *endpoint_out = index;
    return NOF_OK;
}

void nof_cluster_endpoint_close(struct nof_cluster *c, unsigned nic, uint32_t endpoint, int reason)
{
    struct nic *n = &c->nic[nic];
    nof_nic_endpoint_close(n->core, c->now_ns, endpoint, reason);
    n->endpoint[endpoint].open = false;
    n->kicked = true;
}

void nof_cluster_kick(struct nof_cluster *c, unsigned nic)
{
    c->nic[nic].kicked = true;
}

void nof_cluster_dma_done(struct nof_cluster *c, unsigned nic, uint32_t incarnation, uint64_t token,
                          int status)
{
    struct nic *n = &c->nic[nic];
    if (n->incarnation != incarnation)
        return;
    if (n->ndone == n->done_room) {
        n->done_room = n->done_room != 0 ? 2 * n->done_room : 16;
        n->done = realloc(n->done, n->done_room * sizeof(*n->done));
        if (n->done == NULL)
            abort();
    }
    n->done[n->ndone++] = (struct done){token, status};
    n->kicked = true;
}

void nof_cluster_stall(struct nof_cluster *c, unsigned nic, uint64_t for_ns)
{
    struct nic *n = &c->nic[nic];
    uint64_t from_ns = n->next_round_ns > c->now_ns ? n->next_round_ns : c->now_ns;
    n->next_round_ns = from_ns + for_ns;
    n->stalled_ns += for_ns;
    n->kicked = true;
    c->stalls++;
    nof_cluster_trace(c, "nic%u FAULT stalls for %.3f ms", nic, (double)for_ns / 1e6);
}

void nof_cluster_set_cost(struct nof_cluster *c, uint64_t loop_ns, uint64_t frame_ns)
{
    c->cfg.loop_ns = loop_ns;
    c->cfg.frame_ns = frame_ns;
}

void nof_cluster_restart(struct nof_cluster *c, unsigned nic)
{
    struct nic *n = &c->nic[nic];
    nof_cluster_trace(c, "nic%u FAULT restarts", nic);
    n->bytes -= nof_nic_counters(n->core)[NOF_C_COLL_REDUCED_BYTES]; /* which begins anew */
    nic_stop(c, n);
    n->incarnation++;
    c->restarts++;
    if (nic_start(c, n) != NOF_OK)
        nof_cluster_fail(c, "NIC %u does not start again", nic);
}

void nof_cluster_set_link_up(struct nof_cluster *c, unsigned nic, bool up)
{
    nof_cluster_trace(c, "nic%u FAULT link %s", nic, up ? "up" : "down");
    nic -= nic % c->cfg.cores;
    for (unsigned i = nic; i < nic + c->cfg.cores; i++) {
        nof_fabric_set_up(c->fabric, i, up);
        c->nic[i].up = up;
        c->nic[i].kicked = true;
    }
}

static bool event_before(const struct event *a, const struct event *b)
{
    return a->when_ns != b->when_ns ? a->when_ns < b->when_ns : a->order < b->order;
}

void nof_cluster_at(struct nof_cluster *c, uint64_t when_ns, nof_cluster_event *fn, void *user, uint64_t arg)
{
    if (c->nevents == c->event_room) {
        c->event_room = c->event_room != 0 ? 2 * c->event_room : 256;
        c->heap = realloc(c->heap, c->event_room * sizeof(*c->heap));
        if (c->heap == NULL)
            abort();
    }
    struct event e = {when_ns > c->now_ns ? when_ns : c->now_ns, c->order++, fn, user, arg};
    unsigned i = c->nevents++;
    while (i > 0 && event_before(&e, &c->heap[(i - 1) / 2])) {
        c->heap[i] = c->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    c->heap[i] = e;
}

static struct event event_pop(struct nof_cluster *c)
{
    struct event first = c->heap[0];
    struct event last = c->heap[--c->nevents];
    unsigned i = 0;
    for (;;) {
        unsigned down = 2 * i + 1;
        if (down >= c->nevents)
            break;
        if (down + 1 < c->nevents && event_before(&c->heap[down + 1], &c->heap[down]))
            down++;
        if (!event_before(&c->heap[down], &last))
            break;
        c->heap[i] = c->heap[down];
        i = down;
    }
    c->heap[i] = last;
    return first;
}

static void round_rx(struct nof_cluster *c, struct nic *n)
{
    struct nof_frame *frames[RX_BURST];
    for (unsigned burst = 0; burst < RX_BURSTS_PER_ROUND; burst++) {
        unsigned got = nof_fabric_rx_burst(n->port, c->now_ns, frames, RX_BURST);
        if (got == 0)
            return;
        c->idle_rounds = 0;
        if (c->cfg.trace != NULL) {
            for (unsigned i = 0; i < got; i++)
                nof_trace_frame(c, n->index, frames[i]);
        }
        struct nof_frame *let_in[RX_BURST];
        bool gated = c->cfg.cores == 1; /* as net_af_xdp has */
        unsigned nlet_in = gated ? nof_gate_pass(n->gate, let_in, frames, got) : got;
        nof_nic_rx(n->core, c->now_ns, gated ? let_in : frames, nlet_in);
        nof_fabric_rx_done(n->port, frames, got);
    }
}

static void round_host(struct nof_cluster *c, struct nic *n)
{
    for (unsigned i = 0; i < n->ndone; i++)
        nof_nic_dma_done(n->core, c->now_ns, n->done[i].token, n->done[i].status);
    n->ndone = 0;
    struct nof_desc descs[DESC_BURST];
    for (uint32_t e = 0; e < n->cfg.max_endpoints; e++) {
        if (!n->endpoint[e].open)
            continue;
        unsigned room = nof_nic_host_room(n->core, e);
        room = room < DESC_BURST ? room : DESC_BURST;
        unsigned got = n->endpoint[e].ops->fetch(n->endpoint[e].host, descs, room);
        n->endpoint[e].starved = got == room;
        if (got == 0)
            continue;
        c->idle_rounds = 0;
        n->descs += got;
        nof_nic_host(n->core, c->now_ns, e, descs, got);
    }
}

static void round_failed(struct nof_cluster *c, struct nic *n)
{
    n->any_failed = false;
    for (uint32_t e = 0; e < n->cfg.max_endpoints; e++) {
        struct endpoint *ep = &n->endpoint[e];
        if (!ep->open || !ep->failed)
            continue;
        ep->ops->failed(ep->host, ep->status);
        nof_cluster_endpoint_close(c, n->index, e, ep->status);
    }
}

/* What there was to do since the last round's end. */
static uint64_t work_ns(const struct nof_cluster *c, struct nic *n)
{
    const struct nof_fabric_stats *s = nof_fabric_stats(c->fabric, n->index);
    uint64_t frames = n->descs + s->rx_frames + s->tx_frames;
    uint64_t bytes = s->rx_bytes + s->tx_bytes + nof_nic_counters(n->core)[NOF_C_COLL_REDUCED_BYTES];
    uint64_t ns = (frames - n->frames) * c->cfg.frame_ns + (bytes - n->bytes) * c->cfg.byte_ps / 1000;
    n->frames = frames;
    n->bytes = bytes;
    return ns;
}

static void nic_round(struct nof_cluster *c, struct nic *n)
{
    n->kicked = false;
    if (n->stalled_ns != 0) {
        nof_nic_stalled(n->core, c->now_ns, n->stalled_ns);
        n->stalled_ns = 0;
    }
    if (n->told_up != n->up) {
        n->told_up = n->up;
        nof_nic_link(n->core, c->now_ns, n->up);
    }
    round_rx(c, n);
    round_host(c, n);
    int more = nof_nic_poll(n->core, c->now_ns, POLL_FRAMES);
    n->next_round_ns = c->now_ns + c->cfg.loop_ns + work_ns(c, n);
    if (n->any_failed)
        round_failed(c, n);
    for (uint32_t e = 0; e < n->cfg.max_endpoints; e++) {
        if (n->endpoint[e].open && n->endpoint[e].starved && nof_nic_host_room(n->core, e) > 0)
            n->kicked = true;
    }
    n->deadline_ns = more ? c->now_ns : nof_nic_next_deadline(n->core);
    if (++c->idle_rounds > IDLE_ROUNDS_MAX)
        nof_cluster_fail(c, "NIC %u has had %u rounds in which nothing moved", n->index, IDLE_ROUNDS_MAX);
}

/* When this NIC's next round is due. */
static uint64_t nic_due(const struct nic *n)
{
    uint64_t due_ns = n->deadline_ns;
    if (n->kicked || n->ndone > 0 || nof_fabric_rx_ready(n->port) > 0)
        due_ns = 0;
    return due_ns > n->next_round_ns ? due_ns : n->next_round_ns;
}

bool nof_cluster_run(struct nof_cluster *c, uint64_t until_ns, bool (*done)(void *user), void *user)
{
    while (!c->violated) {
        if (done != NULL && done(user))
            return true;
        uint64_t next_ns = nof_fabric_next_event(c->fabric);
        if (c->nevents > 0 && c->heap[0].when_ns < next_ns)
            next_ns = c->heap[0].when_ns;
        for (unsigned i = 0; i < c->cfg.nnics; i++) {
            uint64_t due_ns = nic_due(&c->nic[i]);
            next_ns = due_ns < next_ns ? due_ns : next_ns;
        }
        if (next_ns > until_ns) {
            if (until_ns != NOF_NO_DEADLINE)
                c->now_ns = until_ns > c->now_ns ? until_ns : c->now_ns;
            return false;
        }
        if (next_ns > c->now_ns)
            c->now_ns = next_ns;
        nof_fabric_advance(c->fabric, c->now_ns);
        while (c->nevents > 0 && c->heap[0].when_ns <= c->now_ns) {
            struct event e = event_pop(c);
            c->idle_rounds = 0;
            e.fn(c, e.user, e.arg);
        }
        for (unsigned i = 0; i < c->cfg.nnics && !c->violated; i++) {
            if (nic_due(&c->nic[i]) <= c->now_ns)
                nic_round(c, &c->nic[i]);
        }
    }
    return false;
}

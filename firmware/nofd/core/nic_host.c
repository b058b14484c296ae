/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/core/nic_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_cycles.h>

#include "nof_private/fence.h"

#include "nofd/core/assist.h"
#include "nofd/dma/dma_arena.h"
#include "nofd/sys/clock.h"
#include "nofd/sys/limits.h"
#include "nofd/sys/log.h"

#define LINK_LOOK_NS (10 * NOFD_MS)
#define DOUBT_NS (1 * NOFD_MS) /* between two looks at a port that has not woken us yet */
#define DOUBT_BUSY_NS (50 * NOFD_US) /* the same while something is under way */
#define RELEASE_AGAIN_NS NOFD_S
#define LINK_ASLEEP_NS (100 * NOFD_MS) /* the same, while the core sleeps */
#define FULL_LOOK_NS (1 * NOFD_MS) /* at a host that does not reap */

static struct nofd_endpoint *endpoint_of(struct nofd_nic *nic, uint32_t index)
{
    return index < nic->cfg.max_endpoints ? nic->by_index[index] : NULL;
}

static int host_dma(struct nofd_nic *nic, uint32_t index, bool write, const struct nof_segment *remote,
                    unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    struct nofd_endpoint *ep = endpoint_of(nic, index);
    int rc;

    if (ep == NULL)
        return NOF_EPEERDEAD;
    if (nofd_dma_in_arena(remote, nremote))
        return nofd_dma_arena(nofd_bar_at(&ep->bar, ep->bar.identity->bounce_offset),
                              ep->bar.identity->bounce_bytes, write, remote, nremote, local, nlocal);
    rc = ep->memory.ops->copy(&ep->memory, write, remote, nremote, local, nlocal, token);
    if (rc == NOF_DMA_PENDING)
        ep->memory.pending++;
    return rc;
}

static int host_dma_read(void *host, uint32_t index, const struct nof_segment *remote, unsigned nremote,
                         const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    return host_dma(host, index, false, remote, nremote, local, nlocal, token);
}

static int host_dma_write(void *host, uint32_t index, const struct nof_segment *remote, unsigned nremote,
                          const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    return host_dma(host, index, true, remote, nremote, local, nlocal, token);
}

static unsigned host_complete(void *host, uint32_t index, const struct nof_comp *comps, unsigned n)
{
    struct nofd_endpoint *ep = endpoint_of(host, index);

    /* Nobody reads them any more: taken, so that the core forgets them. */
    if (ep == NULL)
        return n;
    return nofd_endpoint_give(ep, comps, n);
}

static void host_arrived(void *host, uint32_t index)
{
    struct nofd_endpoint *ep = endpoint_of(host, index);

    if (ep != NULL)
        ep->arrived = true;
}

static bool host_claim(void *host, uint32_t index, uint32_t slot, uint32_t generation)
{
    struct nofd_endpoint *ep = endpoint_of(host, index);

    return ep != NULL && nof_claim_take(&ep->claims->word[slot], generation, NOF_CLAIM_NIC);
}

static void host_endpoint_failed(void *host, uint32_t index, int status)
{
    struct nofd_endpoint *ep = endpoint_of(host, index);

    if (ep == NULL)
        return;
    ep->told_failed = true;
    nofd_doom_set(&ep->doom, status);
}

uint64_t nofd_nic_cycles_per_s(void)
{
    return rte_get_tsc_hz();
}

static uint64_t host_cycles(void *host)
{
    (void)host;
    return rte_rdtsc();
}

static void host_log(void *host, int level, const char *text)
{
    struct nofd_nic *nic = host;

    /* A kind each, for the limit: what peers cause is said at the first two. */
    if (level == 0)
        nofd_error("%s: %s", nic->name, text);
    else if (level == 1)
        nofd_warning("%s: %s", nic->name, text);
    else
        nofd_log(level == 2 ? NOFD_LOG_INFO : NOFD_LOG_DEBUG, "%s: %s", nic->name, text);
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

static int allocate(struct nofd_nic *nic)
{
    size_t n = nic->cfg.max_endpoints;

    nic->by_index = calloc(n, sizeof(*nic->by_index));
    nic->live = calloc(n, sizeof(*nic->live));
    nic->closing = calloc(n, sizeof(*nic->closing));
    nic->mem_bytes = nof_nic_mem_size(&nic->cfg);
    if (nic->mem_bytes == 0)
        return NOF_EINVAL;
    nic->mem = mmap(NULL, nic->mem_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    if (nic->mem == MAP_FAILED)
        nic->mem = NULL;
    if (nic->by_index == NULL || nic->live == NULL || nic->closing == NULL || nic->mem == NULL)
        return NOF_ENOMEM;
    /* Fewer TLB misses on the tables that every frame touches; a wish, not a need. */
    (void)madvise(nic->mem, nic->mem_bytes, MADV_HUGEPAGE);
    return NOF_OK;
}

/* Without a table the program takes what is well formed for core 0, and leaves to the kernel what is for any other: that it has
 * a table is all that it knows of how many there are. */
static int guard(struct nofd_nic *nic, char *err, size_t err_bytes)
{
    uint32_t max_paths = nic->cfg.max_paths != 0 ? nic->cfg.max_paths : NOF_PATHS_DEFAULT;
    const char *hint;
    int error = 0;

    if (nic->wire.ops->guard != NULL)
        (void)nic->wire.ops->guard(&nic->wire, nic->cfg.nic_id, max_paths, &error);
    hint = error == EPERM    ? " (start nofd as root, or with CAP_BPF)"
           : error == ENOMEM ? nofd_limits_hint(error)
                             : "";
    if (error != 0 && nic->core > 0) {
        snprintf(
            err, err_bytes,
            "%s: the kernel gives no table of connections to the XDP program: %s%s; no frame would reach "
            "this core. Go on with one: --cores-per-nic 1",
            nic->name, strerror(error), hint);
        return error == EPERM ? NOF_EPERM : NOF_ENOTSUP;
    }
    if (error != 0)
        nofd_warning(
            "%s: the kernel gives no table of connections to the XDP program: %s%s; frames of strangers "
            "reach the NIC core, which drops them",
            nic->name, strerror(error), hint);
    return NOF_OK;
}

int nofd_nic_create(struct nofd_nic *nic, unsigned index, const struct nofd_wire *wire,
                    const struct nof_nic_config *cfg, uint64_t now_ns, char *err, size_t err_bytes)
{
    int rc;

    memset(nic, 0, sizeof(*nic));
    nic->index = index;
    nic->wire = *wire;
    nic->cfg = *cfg;
    memcpy(nic->cfg.mac, wire->mac, sizeof(nic->cfg.mac));
    nic->cfg.ip4 = wire->ip4;
    nic->cfg.mtu_bytes = wire->mtu_bytes;
    nic->cfg.link_rate_bps = wire->rate_bps;
    nic->core = wire->core;
    if (wire->ncores > 1)
        snprintf(nic->name, sizeof(nic->name), "nic%u core %u (%.13s)", index, nic->core, wire->kind);
    else
        snprintf(nic->name, sizeof(nic->name), "nic%u (%.20s)", index, wire->kind);
    nic->link_up = true;
    rc = allocate(nic);
    if (rc == NOF_OK)
        rc = nof_nic_init(nic->mem, nic->mem_bytes, &nic->cfg, wire->port_ops, wire->port, &host_ops, nic,
                          now_ns, &nic->nic);
    if (rc == NOF_ENOMEM)
        snprintf(err, err_bytes, "%s: no memory for its firmware core, %zu MB%s", nic->name,
                 nic->mem_bytes >> 20, nofd_limits_hint(ENOMEM));
    else if (rc != NOF_OK)
        snprintf(err, err_bytes, "%s: cannot start the firmware core: %s", nic->name, nof_strstatus(rc));
    if (rc == NOF_OK)
        rc = guard(nic, err, err_bytes);
    if (rc != NOF_OK)
        nofd_nic_destroy(nic);
    return rc;
}

void nofd_nic_destroy(struct nofd_nic *nic)
{
    if (nic->nic != NULL)
        nof_nic_fini(nic->nic);
    nic->nic = NULL;
    nofd_wire_close(&nic->wire);
    if (nic->mem != NULL)
        munmap(nic->mem, nic->mem_bytes);
    nic->mem = NULL;
    free(nic->by_index);
    free(nic->live);
    free(nic->closing);
    nic->by_index = NULL;
    nic->live = NULL;
    nic->closing = NULL;
}

static void remove_from(struct nofd_endpoint **list, unsigned *n, const struct nofd_endpoint *ep)
{
    for (unsigned i = 0; i < *n; i++) {
        if (list[i] != ep)
            continue;
        list[i] = list[--*n];
        return;
    }
}

int nofd_nic_attach(struct nofd_nic *nic, uint64_t now_ns, struct nofd_endpoint *ep,
                    const struct nof_endpoint_params *params)
{
    int rc =
        nic->lost ? NOF_EUNPLUGGED : nof_nic_endpoint_open(nic->nic, now_ns, params, &ep->index, &ep->card);

    if (rc != NOF_OK)
        return rc;
    if (nofd_lcore_watch(nic->lcore, ep->bar.fd[NOF_BAR_FD_DOORBELL], true) != 0) {
        nof_nic_endpoint_close(nic->nic, now_ns, ep->index, NOF_OK);
        return NOF_ENOMEM;
    }
    nic->by_index[ep->index] = ep;
    nic->live[nic->nlive++] = ep;
    nofd_endpoint_set_state(ep, NOFD_EP_LIVE);
    return NOF_OK;
}

/* Out of the core and out of the turn; stays in `closing` while a DMA uses its memory. */
static void close_endpoint(struct nofd_nic *nic, uint64_t now_ns, struct nofd_endpoint *ep, int reason)
{
    nofd_segment_gone(&ep->slot, reason); /* before its peers are told */
    nof_nic_endpoint_close(nic->nic, now_ns, ep->index, reason);
    nic->by_index[ep->index] = NULL;
    remove_from(nic->live, &nic->nlive, ep);
    nofd_lcore_unwatch(nic->lcore, ep->bar.fd[NOF_BAR_FD_DOORBELL]);
    if (ep->memory.ops->cancel != NULL)
        ep->memory.ops->cancel(&ep->memory);
    if (ep->memory.pending > 0)
        nic->closing[nic->nclosing++] = ep;
}

static void tell_host(struct nofd_endpoint *ep, int reason)
{
    __atomic_store_n(&ep->nic_words->endpoint_failed, (uint32_t)reason, __ATOMIC_RELEASE);
    nof_fence_full();
    nofd_endpoint_wake(ep);
    nofd_endpoint_wake_waiters(ep);
}

/* A process whose connection has ended may live: then it has closed that itself, and does not know. */
void nofd_nic_detach(struct nofd_nic *nic, uint64_t now_ns, struct nofd_endpoint *ep, int reason)
{
    if (nofd_endpoint_state(ep) == NOFD_EP_LIVE) {
        close_endpoint(nic, now_ns, ep, reason);
        if (reason == NOF_EPEERDEAD)
            tell_host(ep, reason);
    }
    nofd_endpoint_set_state(ep, ep->memory.pending > 0 ? NOFD_EP_CLOSED : NOFD_EP_GONE);
}

/* The host hears it three ways: a last completion, the word in its BAR, and the socket (by main). */
static void fail_endpoint(struct nofd_nic *nic, uint64_t now_ns, struct nofd_endpoint *ep)
{
    struct nof_comp last = {.opcode = NOF_COMP_FAILED, .status = (int16_t)ep->doom.reason};

    ep->failure = ep->doom.reason;
    close_endpoint(nic, now_ns, ep, ep->failure);
    if (!ep->ring_broken && !ep->told_failed) {
        ep->doom.reason = 0;
        (void)nofd_endpoint_give(ep, &last, 1);
        ep->doom.reason = ep->failure;
    }
    tell_host(ep, ep->failure);
    nofd_warning("%s: endpoint of rank %u (pid %d) failed: %s", nic->name, ep->memory.rank,
                 (int)ep->memory.pid, nof_strstatus(ep->failure));
    nofd_endpoint_set_state(ep, NOFD_EP_FAILED);
    nofd_lcore_tell_main(nic->lcore);
}

static void fail_doomed(struct nofd_nic *nic, uint64_t now_ns)
{
    nic->doomed = false;
    for (unsigned i = nic->nlive; i > 0; i--)
        if (nic->live[i - 1]->doom.reason != 0)
            fail_endpoint(nic, now_ns, nic->live[i - 1]);
}

/* Closed endpoints whose last DMA has ended. */
static void retire_closed(struct nofd_nic *nic)
{
    for (unsigned i = nic->nclosing; i > 0; i--) {
        struct nofd_endpoint *ep = nic->closing[i - 1];

        if (ep->memory.pending > 0)
            continue;
        nic->closing[i - 1] = nic->closing[--nic->nclosing];
        if (nofd_endpoint_state(ep) != NOFD_EP_CLOSED)
            continue;
        nofd_endpoint_set_state(ep, NOFD_EP_GONE);
        nofd_lcore_tell_main(nic->lcore);
    }
}

static void wake_hosts(struct nofd_nic *nic)
{
    bool fenced = false;

    for (unsigned i = 0; i < nic->nlive; i++) {
        struct nofd_endpoint *ep = nic->live[i];

        if (!ep->wake_host && !ep->arrived)
            continue;
        if (!fenced)
            nof_fence_full();
        fenced = true;
        if (ep->wake_host)
            nofd_endpoint_wake(ep);
        if (ep->arrived)
            nofd_endpoint_wake_waiters(ep);
    }
}

bool nofd_nic_let_go(struct nofd_nic *nic, uint64_t now_ns)
{
    char err[NOF_DPDK_ERROR_BYTES];
    int rc;

    if (nic->released || nic->core != 0 || !nofd_nic_gone(nic))
        return false;
    if (now_ns < nic->release_ns)
        return true;
    rc = nic->wire.ops->release(&nic->wire, err, sizeof(err));
    if (rc == NOF_EAGAIN)
        return false; /* another core of it notices later, and tells main */
    nic->released = rc == NOF_OK;
    nic->release_ns = now_ns + RELEASE_AGAIN_NS;
    if (nic->released)
        nofd_notice("%s: its device %s is let go", nic->name, nic->wire.device_name);
    else if (!nic->stuck)
        nofd_error("%s: its device %s is not let go: %s. It is tried again every second; who waits for it "
                   "can end this "
                   "daemon: nof down",
                   nic->name, nic->wire.device_name, err);
    nic->stuck = !nic->released;
    return nic->stuck;
}

/* Its ranks cannot reach anybody any more, and never will: they are told at once. */
static void look_at_device(struct nofd_nic *nic, uint64_t now_ns)
{
    if (nic->lost || nic->wire.ops->gone == NULL || !nic->wire.ops->gone(&nic->wire))
        return;
    nofd_error("%s: its device %s has gone, unplugged or taken from its driver; %u rank(s) of this NIC end, "
               "and none can come",
               nic->name, nic->wire.device_name, nic->nlive);
    for (unsigned i = 0; i < nic->nlive; i++)
        nofd_doom_set(&nic->live[i]->doom, NOF_EUNPLUGGED);
    fail_doomed(nic, now_ns);
    __atomic_store_n(&nic->lost, true, __ATOMIC_RELEASE);
    nofd_lcore_tell_main(nic->lcore);
}

static void look_at_link(struct nofd_nic *nic, uint64_t now_ns)
{
    bool up = nic->wire.ops->link(&nic->wire, now_ns);

    nic->link_look_ns = now_ns + LINK_LOOK_NS;
    if (nic->wire.rate_bps != nic->cfg.link_rate_bps) {
        nic->cfg.link_rate_bps = nic->wire.rate_bps;
        nof_nic_rate(nic->nic, now_ns, nic->wire.rate_bps);
    }
    if (up == nic->link_up)
        return;
    nic->link_up = up;
    nofd_notice("%s: link %s", nic->name, up ? "up" : "down");
    nof_nic_link(nic->nic, now_ns, up);
}

static struct nofd_nic *nic_of(struct nofd_source *source)
{
    return (struct nofd_nic *)source; /* first member */
}

/* One round: frames, descriptors, DMA results, timers, wake-ups. */
static unsigned turn(struct nofd_source *source, uint64_t now_ns)
{
    struct nofd_nic *nic = nic_of(source);
    struct nof_frame *frames[NOFD_RX_BURST];
    unsigned work = nic->wire.ops->rx(&nic->wire, now_ns, frames, NOFD_RX_BURST);

    if (work > 0) {
        nof_nic_rx(nic->nic, now_ns, frames, work);
        nic->wire.ops->rx_done(&nic->wire, frames, work);
    }
    for (unsigned i = 0; i < nic->nlive; i++) {
        if (nic->live[i]->assist != NULL)
            work += nofd_assist_turn(nic->live[i]);
        work += nofd_endpoint_take(nic->live[i], now_ns);
    }
    if (nof_nic_poll(nic->nic, now_ns, NOFD_FRAME_BUDGET))
        work++;
    work += nic->wire.ops->flush(&nic->wire, now_ns);
    if (nic->doomed)
        fail_doomed(nic, now_ns);
    wake_hosts(nic);
    if (nic->nclosing > 0)
        retire_closed(nic);
    if (now_ns >= nic->link_look_ns) {
        look_at_link(nic, now_ns);
        look_at_device(nic, now_ns);
    }
    return work;
}

/* Nothing is under way here, nor at others whose frames may come to us first. */
static bool at_rest(struct nofd_nic *nic)
{
    bool rest = nof_nic_quiet(nic->nic);

    return nic->wire.ops->quiet != NULL ? nic->wire.ops->quiet(&nic->wire, rest) : rest;
}

/* A host that does not reap is looked at from time to time, and so is a cable. */
static uint64_t deadline(struct nofd_source *source, uint64_t now_ns)
{
    struct nofd_nic *nic = nic_of(source);
    uint64_t at_ns = nofd_earlier(nof_nic_next_deadline(nic->nic), nic->wire.ops->deadline(&nic->wire));
    bool rest = at_rest(nic); /* others hear of it, whether we need it or not */

    if (nic->wire.fabric == NULL)
        at_ns = nofd_earlier(at_ns, now_ns + LINK_ASLEEP_NS);
    if (nic->wire.ops->wakes != NULL && !nic->wire.ops->wakes(&nic->wire))
        at_ns = nofd_earlier(at_ns, now_ns + (rest ? DOUBT_NS : DOUBT_BUSY_NS));
    for (unsigned i = 0; i < nic->nlive; i++)
        if (nic->live[i]->complete_full)
            at_ns = nofd_earlier(at_ns, now_ns + FULL_LOOK_NS);
    return at_ns;
}

static bool quiet(struct nofd_source *source)
{
    return at_rest(nic_of(source));
}

/* A port's socket is watched only while we sleep: who sends to it would call epoll for every frame. Returns false if
 * frames came meanwhile, or the port cannot wake us now. */
static bool arm(struct nofd_nic *nic)
{
    struct nofd_wire *wire = &nic->wire;
    bool armed = wire->ops->sleep(wire);

    if (!wire->naps && wire->wait_fd >= 0)
        armed = (wire->full ? nofd_lcore_watch_room(nic->lcore, wire->wait_fd)
                            : nofd_lcore_watch(nic->lcore, wire->wait_fd, false)) == 0 &&
                armed;
    return armed;
}

static void disarm(struct nofd_nic *nic)
{
    struct nofd_wire *wire = &nic->wire;

    if (!wire->naps && wire->wait_fd >= 0)
        nofd_lcore_unwatch(nic->lcore, wire->wait_fd);
    wire->ops->wake(wire);
}

static void asleep(struct nofd_source *source, bool is)
{
    struct nofd_nic *nic = nic_of(source);

    if (!is)
        disarm(nic);
    for (unsigned i = 0; i < nic->nlive; i++)
        __atomic_store_n(&nic->live[i]->nic_words->nic_asleep, is ? 1 : 0, __ATOMIC_RELAXED);
}

static bool ready(struct nofd_source *source)
{
    struct nofd_nic *nic = nic_of(source);

    if (!arm(nic) || nof_nic_rung(nic->nic))
        return true;
    for (unsigned i = 0; i < nic->nlive; i++) {
        const struct nofd_endpoint *ep = nic->live[i];

        if ((ep->assist != NULL && nofd_assist_has_work(ep)) || nofd_endpoint_has_work(ep))
            return true;
    }
    return false;
}

static void stalled(struct nofd_source *source, uint64_t now_ns, uint64_t stalled_ns)
{
    struct nofd_nic *nic = nic_of(source);

    nof_nic_stalled(nic->nic, now_ns, stalled_ns);
    for (unsigned i = 0; i < nic->nlive; i++)
        nofd_endpoint_tell_away(nic->live[i], (uint32_t)(stalled_ns / NOFD_MS));
}

static void late(struct nofd_source *source, uint64_t now_ns)
{
    nof_nic_late(nic_of(source)->nic, now_ns);
}

static void wake(void *arg)
{
    nofd_lcore_wake(arg);
}

bool nofd_nic_place(struct nofd_nic *nic, struct nofd_lcore *lcore, struct nofd_dma *dma)
{
    static const struct nofd_source_ops ops = {
        .turn = turn,
        .deadline = deadline,
        .quiet = quiet,
        .asleep = asleep,
        .ready = ready,
        .stalled = stalled,
        .late = late,
    };
    struct nofd_wire *wire = &nic->wire;

    nic->source.ops = &ops;
    nic->lcore = lcore;
    nic->dma = dma;
    if (wire->ops->on_arrival != NULL)
        wire->ops->on_arrival(wire, wake, lcore);
    if (wire->wait_fd >= 0 && nofd_lcore_watch(lcore, wire->wait_fd, false) != 0)
        wire->naps = true;
    else if (wire->wait_fd >= 0)
        nofd_lcore_unwatch(lcore, wire->wait_fd);
    return !wire->naps;
}

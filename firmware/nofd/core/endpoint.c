/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data path between a host's rings and the firmware core.
 *
 * Budget per turn and idle endpoint: one load of the producer's index, and of what it owes. Per burst: one
 * copy of each descriptor, no lock, no allocation, no system call but the wake-up of a sleeping host.
 *
 * Turns that an endpoint owes go by without its descriptors, whether or not it has some: who leaves its ring
 * empty meanwhile saves nothing. At most 64 KiB of each descriptor count, so that no more than 17 turns are
 * owed; with less than one it is served as ever. */
#include "nofd/core/endpoint.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nof_private/fence.h"

#include "nofd/core/nic_host.h"

/* Bytes; most of eager_max_bytes: longer sends go by rendezvous, as the flow's share. */
#define BOUNCED_MAX 65536u
#define PIECE 8u /* descriptors of a burst that are looked at together */
#define WAITERS 16 /* for an arrival, woken at once; more look again by themselves (nof_pmd_delta_wait()) */

static void ring_fault(struct nofd_endpoint *ep)
{
    if (ep->ring_broken)
        return;
    ep->ring_broken = true;
    ep->counters[NOF_C_RING_FAULTS]++;
    ep->nic->counters[NOF_C_RING_FAULTS]++;
    nofd_doom_set(&ep->doom, NOF_EPROTO);
}

/* It had to wait for the turn before this one, or for part of it. */
static void count_pause(struct nofd_endpoint *ep, uint64_t pause_ns)
{
    if (pause_ns > ep->counters[NOF_C_PAUSE_NS])
        ep->counters[NOF_C_PAUSE_NS] = pause_ns;
    if (pause_ns > ep->nic->counters[NOF_C_PAUSE_NS])
        ep->nic->counters[NOF_C_PAUSE_NS] = pause_ns;
}

/* The core copies it itself. */
static bool is_bounced(const struct nof_desc *desc)
{
    bool in_arena = (desc->flags & NOF_DESC_F_INLINE) == 0 && (desc->addr & NOF_BAR_ARENA) != 0;
    return desc->opcode == NOF_DESC_SEND && ((desc->flags & NOF_DESC_F_BOUNCE) || in_arena);
}

/* A KiB that the core copies out of the bounce arena takes it about as long as a descriptor: sends of 32 to 4096 bytes by
 * eight ranks took 2.2 times the time of empty ones (bench neighbour, staging_churn). Bytes that wait for the
 * flow's share are paid twice, which costs their own rank some turns. */
static uint32_t bounced(const struct nof_desc *descs, unsigned n)
{
    uint64_t bytes = 0;

    /* bound: NOFD_BURST; paid by the endpoint's turn */
    for (unsigned i = 0; i < n; i++)
        if (is_bounced(&descs[i]))
            bytes += descs[i].len < BOUNCED_MAX ? descs[i].len : BOUNCED_MAX;
    return (uint32_t)(bytes / 1024);
}

/* At most n of those that wait: no more once their bytes are worth half a burst. However the host changes indices from here on, a burst
 * of n <= capacity stays inside the ring; a lie shows at the next turn. */
static unsigned take(struct nofd_endpoint *ep, struct nof_desc *descs, unsigned n)
{
    unsigned taken = 0;
    uint32_t kib = 0;

    /* bound: NOFD_BURST; paid by the endpoint's turn */
    while (taken < n && kib < NOFD_BURST / 2) {
        unsigned some = nof_ring_get(ep->submit, descs + taken, n - taken < PIECE ? n - taken : PIECE);
        if (some == 0)
            break;
        kib += bounced(descs + taken, some);
        taken += some;
    }
    ep->submit_cons += taken;
    ep->owed += kib;
    return taken;
}

unsigned nofd_endpoint_take(struct nofd_endpoint *ep, uint64_t now_ns)
{
    struct nof_desc descs[NOFD_BURST];
    struct rte_ring *ring = ep->submit;
    uint32_t used = nof_ring_used(ring, ep->submit_cons);
    unsigned room;
    unsigned n;

    if (ep->owed >= NOFD_BURST) {
        ep->owed -= NOFD_BURST;
        return used != 0; /* then the core must not sleep */
    }
    if (used == 0)
        return 0;
    if (ep->nic->lcore->watch_pauses)
        count_pause(ep, ep->nic->lcore->pause_ns);
    /* The consumer index is ours, but on a page that the host can write. */
    if (used > rte_ring_get_capacity(ring) ||
        __atomic_load_n(&ring->cons.head, __ATOMIC_RELAXED) != ep->submit_cons) {
        ring_fault(ep);
        return 0;
    }
    room = nof_nic_host_room(ep->nic->nic, ep->index);
    n = used < room ? used : room;
    if (n > NOFD_BURST)
        n = NOFD_BURST;
    if (n == 0)
        return 0;
    n = take(ep, descs, n);
    nof_nic_host(ep->nic->nic, now_ns, ep->index, descs, n);
    return n;
}

bool nofd_endpoint_has_work(const struct nofd_endpoint *ep)
{
    return nof_ring_used(ep->submit, ep->submit_cons) != 0 && nof_nic_host_room(ep->nic->nic, ep->index) > 0;
}

unsigned nofd_endpoint_give_room(struct nofd_endpoint *ep)
{
    struct rte_ring *ring = ep->complete;
    uint32_t capacity = rte_ring_get_capacity(ring);
    uint32_t unread;

    if (ep->doom.reason != 0)
        return 0;
    unread = nof_ring_unread(ring, ep->complete_prod);
    if (unread > capacity || __atomic_load_n(&ring->prod.head, __ATOMIC_RELAXED) != ep->complete_prod) {
        ring_fault(ep);
        return 0;
    }
    return capacity - unread;
}

unsigned nofd_endpoint_give(struct nofd_endpoint *ep, const struct nof_comp *comps, unsigned n)
{
    unsigned room = nofd_endpoint_give_room(ep);

    ep->complete_full = n > room;
    if (n > room)
        n = room;
    if (n == 0)
        return 0;
    n = nof_ring_put(ep->complete, comps, n);
    ep->complete_prod += n;
    ep->wake_host = true;
    return n;
}

/* The caller has passed a full fence since it wrote what they wait for. `most`: how many wait must not be our time. */
static void wake(struct nofd_endpoint *ep, uint32_t *asleep, uint32_t *word, int most)
{
    if (__atomic_load_n(asleep, __ATOMIC_RELAXED) == 0)
        return;
    /* Taken back here, so that a host that is slow to get up costs one system call, not many. */
    __atomic_store_n(asleep, 0, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
    (void)syscall(SYS_futex, word, FUTEX_WAKE, most, NULL, NULL, 0);
    ep->counters[NOF_C_WAKES]++;
    ep->nic->counters[NOF_C_WAKES]++;
}

void nofd_endpoint_wake(struct nofd_endpoint *ep)
{
    ep->wake_host = false;
    /* A driver waits with one thread. */
    if (ep->bell != NULL)
        wake(ep, &ep->bell->asleep, &ep->bell->wake, 1);
    else
        wake(ep, &ep->host_words->host_asleep, &ep->host_words->wake, 1);
}

void nofd_endpoint_wake_waiters(struct nofd_endpoint *ep)
{
    ep->arrived = false;
    wake(ep, &ep->delta->asleep, &ep->delta->wake, WAITERS);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The hot path of the host driver: submit, reap, wait, wake.
 *
 * Budget of submit and reap when there is something to do: one ring operation, one full fence, no lock,
 * no system call while the NIC is awake (a look at the doorbell and its write() otherwise), no allocation. */
#include "pmd_state.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nof_private/fence.h"

#define IDLE_REAPS_PER_LOOK 256u

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint32_t state_of(const struct nof_pmd *pmd)
{
    return __atomic_load_n(&pmd->state, __ATOMIC_ACQUIRE);
}

/* Sets the state and the sentence once; later calls change nothing. */
__attribute__((format(printf, 2, 3))) static void die(struct nof_pmd *pmd, const char *fmt, ...)
{
    va_list args;

    pthread_mutex_lock(&pmd->death_lock);
    if (pmd->state == NOF_PMD_ALIVE) {
        va_start(args, fmt);
        vsnprintf(pmd->death, sizeof(pmd->death), fmt, args);
        va_end(args);
        __atomic_store_n(&pmd->state, NOF_PMD_DEAD, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&pmd->death_lock);
}

/* What was ours under that number. */
static void die_of_closed(struct nof_pmd *pmd, int fd, const char *what)
{
    die(pmd,
        "this program has closed descriptor %d, the library's %s nofd: who closes all descriptors must do so "
        "before MPI_Init, or spare those that he did not open",
        fd, what);
}

/* The daemon never writes to the socket after attach: readable means closed, by it, or by our program, which closes what it has not
 * opened: then poll() says POLLNVAL, or what it knows of another file, and the daemon takes us for dead. */
static void look_at_life_line(struct nof_pmd *pmd)
{
    struct pollfd line = {.fd = pmd->socket.fd, .events = POLLIN | POLLRDHUP};
    int failed = (int)__atomic_load_n(&pmd->nic_words->endpoint_failed, __ATOMIC_ACQUIRE);

    bool ended = poll(&line, 1, 0) > 0;

    __atomic_store_n(&pmd->looked_ns, now_ns(), __ATOMIC_RELAXED);
    if ((ended || failed != 0) && !nof_descriptor_is(&pmd->socket))
        die_of_closed(pmd, pmd->socket.fd, "connection to");
    else if (failed != 0)
        die(pmd, "the NIC %.32s gave up this process's endpoint: %s", pmd->identity.nic_name,
            nof_strstatus(failed));
    else if (ended)
        die(pmd, "the daemon nofd (pid %u) that plays the NIC %.32s has ended", pmd->identity.nofd_pid,
            pmd->identity.nic_name);
}

static void look_if_due(struct nof_pmd *pmd)
{
    if (now_ns() - __atomic_load_n(&pmd->looked_ns, __ATOMIC_RELAXED) >= NOF_PMD_LOOK_NS)
        look_at_life_line(pmd);
}

/* After descriptors or answers: wakes the NIC if it sleeps. */
static void ring_doorbell(struct nof_pmd *pmd)
{
    uint64_t one = 1;

    /* Pairs with the NIC's fence between "I am asleep" and its last look at the ring: either it sees the
     * descriptors, or we see that it sleeps. */
    nof_fence_full();
    if (__atomic_load_n(&pmd->nic_words->nic_asleep, __ATOMIC_RELAXED) == 0)
        return;
    if (!nof_descriptor_is(&pmd->doorbell)) {
        die_of_closed(pmd, pmd->doorbell.fd, "doorbell of");
    } else {
        /* EAGAIN: the eventfd is full of earlier rings, which wake it just as well. */
        while (write(pmd->doorbell.fd, &one, sizeof(one)) < 0 && errno == EINTR)
            ;
    }
}

int nof_pmd_submit(struct nof_pmd *pmd, const struct nof_desc *descs, unsigned n)
{
    unsigned done;

    if (state_of(pmd) != NOF_PMD_ALIVE)
        return NOF_ENICDEAD;
    done = nof_ring_put(pmd->submit_ring, descs, n);
    ring_doorbell(pmd);
    if (done == 0 && n > 0) {
        look_if_due(pmd);
        if (state_of(pmd) != NOF_PMD_ALIVE)
            return NOF_ENICDEAD;
    }
    return (int)done;
}

/* Nothing came. A spinning caller never sleeps in wait(), so the life line is looked at from here. */
static int reap_nothing(struct nof_pmd *pmd)
{
    if (state_of(pmd) != NOF_PMD_ALIVE)
        return NOF_ENICDEAD;
    if (__atomic_load_n(&pmd->nic_words->endpoint_failed, __ATOMIC_RELAXED) != 0) {
        look_at_life_line(pmd);
    } else if (++pmd->reap_idle >= IDLE_REAPS_PER_LOOK) {
        pmd->reap_idle = 0;
        look_if_due(pmd);
    }
    return 0;
}

/* Takes the assist requests out of a burst, keeping the order of the rest. */
static unsigned without_assists(struct nof_pmd *pmd, struct nof_comp *comps, unsigned n)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < n; i++) {
        if (comps[i].opcode == NOF_COMP_ASSIST)
            nof_pmd_assist(pmd, &comps[i]);
        else if (kept++ != i)
            comps[kept - 1] = comps[i];
    }
    if (kept < n)
        ring_doorbell(pmd);
    return kept;
}

int nof_pmd_reap(struct nof_pmd *pmd, struct nof_comp *comps, unsigned n)
{
    unsigned got;

    if (state_of(pmd) == NOF_PMD_FORKED)
        return NOF_ENICDEAD;
    got = nof_ring_get(pmd->complete_ring, comps, n);
    if (got == 0)
        return reap_nothing(pmd);
    pmd->reap_idle = 0;
    if (pmd->assist)
        got = without_assists(pmd, comps, got);
    return (int)got;
}

static void futex_wait(const uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
    struct timespec ts = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                          .tv_nsec = (long)(timeout_ns % 1000000000u)};

    syscall(SYS_futex, word, FUTEX_WAIT, seen, &ts, NULL, 0);
}

/* rte_ring_empty() beside a reap of another thread. */
static bool nothing_complete(const struct nof_pmd *pmd)
{
    const struct rte_ring *ring = pmd->complete_ring;

    return __atomic_load_n(&ring->prod.tail, __ATOMIC_RELAXED) ==
           __atomic_load_n(&ring->cons.tail, __ATOMIC_RELAXED);
}

static bool something_there(const struct nof_pmd *pmd, uint32_t seen)
{
    return !nothing_complete(pmd) || __atomic_load_n(pmd->wake, __ATOMIC_RELAXED) != seen ||
           __atomic_load_n(&pmd->nic_words->endpoint_failed, __ATOMIC_RELAXED) != 0;
}

void nof_pmd_wait_begin(struct nof_pmd *pmd)
{
    if (state_of(pmd) == NOF_PMD_FORKED)
        return;
    __atomic_store_n(pmd->asleep, 1, __ATOMIC_RELAXED);
    /* Pairs with the fence of the NIC, and of peers, between what they put in and their look at `asleep`. */
    nof_fence_full();
}

void nof_pmd_wait_end(struct nof_pmd *pmd)
{
    if (state_of(pmd) != NOF_PMD_FORKED)
        __atomic_store_n(pmd->asleep, 0, __ATOMIC_RELAXED);
}

int nof_pmd_wait(struct nof_pmd *pmd, uint32_t seen, uint64_t timeout_ns)
{
    uint64_t start = now_ns();
    uint64_t waited = 0;

    if (state_of(pmd) != NOF_PMD_ALIVE)
        return NOF_ENICDEAD;
    nof_pmd_wait_begin(pmd);
    while (!something_there(pmd, seen) && state_of(pmd) == NOF_PMD_ALIVE && waited < timeout_ns) {
        uint64_t nap = timeout_ns - waited < NOF_PMD_LOOK_NS ? timeout_ns - waited : NOF_PMD_LOOK_NS;

        futex_wait(pmd->wake, seen, nap);
        look_if_due(pmd);
        waited = now_ns() - start;
    }
    nof_pmd_wait_end(pmd);
    if (!nothing_complete(pmd) || state_of(pmd) == NOF_PMD_ALIVE)
        return NOF_OK;
    return NOF_ENICDEAD;
}

uint32_t nof_pmd_wake_count(const struct nof_pmd *pmd)
{
    if (state_of(pmd) == NOF_PMD_FORKED)
        return 0;
    return __atomic_load_n(pmd->wake, __ATOMIC_ACQUIRE);
}

void nof_pmd_wake(struct nof_pmd *pmd)
{
    if (state_of(pmd) == NOF_PMD_FORKED)
        return;
    __atomic_fetch_add(pmd->wake, 1, __ATOMIC_SEQ_CST);
    nof_fence_full();
    if (__atomic_load_n(pmd->asleep, __ATOMIC_RELAXED) != 0)
        syscall(SYS_futex, pmd->wake, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

const char *nof_pmd_death(const struct nof_pmd *pmd)
{
    uint32_t state = state_of(pmd);

    if (state == NOF_PMD_FORKED)
        return "this process is a fork of the rank: the NIC belongs to its parent";
    return state == NOF_PMD_DEAD ? pmd->death : "";
}

const struct nof_bar_identity *nof_pmd_identity(const struct nof_pmd *pmd)
{
    return &pmd->identity;
}

const struct nof_pmd_segment *nof_pmd_segment(const struct nof_pmd *pmd)
{
    return state_of(pmd) == NOF_PMD_FORKED || pmd->shared.nslots == 0 ? NULL : &pmd->shared;
}

void *nof_pmd_bounce_alloc(struct nof_pmd *pmd, size_t len_bytes, uint64_t *offset_out)
{
    uint64_t offset;

    if (state_of(pmd) == NOF_PMD_FORKED || len_bytes > pmd->identity.bounce_max_bytes)
        return NULL;
    if (nof_bounce_alloc(&pmd->bounce, len_bytes, &offset) != NOF_OK)
        return NULL;
    *offset_out = offset;
    return pmd->bar + pmd->identity.bounce_offset + offset;
}

void nof_pmd_bounce_free(struct nof_pmd *pmd, uint64_t offset)
{
    if (state_of(pmd) != NOF_PMD_FORKED)
        nof_bounce_free(&pmd->bounce, offset);
}

const void *nof_pmd_staged(const struct nof_pmd *pmd, uint32_t offset, uint32_t len_bytes)
{
    if (state_of(pmd) == NOF_PMD_FORKED || offset > pmd->identity.staging_bytes ||
        len_bytes > pmd->identity.staging_bytes - offset)
        return NULL;
    return pmd->bar + pmd->identity.staging_offset + offset;
}

void *nof_pmd_program_area(struct nof_pmd *pmd)
{
    return state_of(pmd) == NOF_PMD_FORKED ? NULL : pmd->bar + pmd->identity.program_area_offset;
}

struct nof_delta_host *nof_pmd_delta_host(const struct nof_pmd *pmd)
{
    return state_of(pmd) == NOF_PMD_FORKED
               ? NULL
               : (struct nof_delta_host *)(void *)(pmd->bar + pmd->identity.delta_host_offset);
}

const struct nof_delta_nic *nof_pmd_delta_nic(const struct nof_pmd *pmd)
{
    return state_of(pmd) == NOF_PMD_FORKED
               ? NULL
               : (const struct nof_delta_nic *)(const void *)(pmd->bar + pmd->identity.delta_nic_offset);
}

struct nof_claim_words *nof_pmd_claims(const struct nof_pmd *pmd)
{
    return state_of(pmd) == NOF_PMD_FORKED
               ? NULL
               : (struct nof_claim_words *)(void *)(pmd->bar + pmd->identity.claim_offset);
}

uint64_t *nof_pmd_library_counts(const struct nof_pmd *pmd, uint32_t n)
{
    return state_of(pmd) == NOF_PMD_FORKED || pmd->identity.nlibrary_counts != n
               ? NULL
               : (uint64_t *)(void *)(pmd->bar + pmd->identity.library_counts_offset);
}

void nof_pmd_delta_ring(struct nof_pmd *pmd, uint32_t slot)
{
    struct nof_delta_host *board = nof_pmd_delta_host(pmd);
    uint64_t bit = 1ull << slot;

    if (board == NULL)
        return;
    /* Behind what has become ready: a bit that is still set is one that the NIC has yet to clear, and whoever set it rings. */
    nof_fence_full();
    if ((__atomic_load_n(&board->rung, __ATOMIC_RELAXED) & bit) != 0)
        return;
    (void)__atomic_fetch_or(&board->rung, bit, __ATOMIC_RELAXED);
    ring_doorbell(pmd);
}

bool nof_pmd_delta_gone(const struct nof_pmd *pmd)
{
    struct pollfd line = {.fd = pmd->socket.fd, .events = POLLIN | POLLRDHUP};

    return state_of(pmd) != NOF_PMD_ALIVE ||
           __atomic_load_n(&pmd->nic_words->endpoint_failed, __ATOMIC_ACQUIRE) != 0 || poll(&line, 1, 0) > 0;
}

int nof_pmd_delta_wait(struct nof_pmd *pmd, uint32_t seen, uint64_t timeout_ns)
{
    struct nof_delta_host *board = nof_pmd_delta_host(pmd);

    if (board == NULL)
        return NOF_ENICDEAD;
    if (__atomic_load_n(&board->wake, __ATOMIC_RELAXED) == seen)
        futex_wait(&board->wake, seen, timeout_ns < NOF_PMD_LOOK_NS ? timeout_ns : NOF_PMD_LOOK_NS);
    return nof_pmd_delta_gone(pmd) ? NOF_ENICDEAD : NOF_OK;
}

bool nof_pmd_runs_collectives(const struct nof_pmd *pmd)
{
    return state_of(pmd) != NOF_PMD_FORKED &&
           __atomic_load_n(&pmd->nic_words->runs_collectives, __ATOMIC_RELAXED) != 0;
}

uint32_t nof_pmd_coll_patience_ms(const struct nof_pmd *pmd)
{
    return state_of(pmd) == NOF_PMD_FORKED
               ? 0
               : __atomic_load_n(&pmd->nic_words->coll_patience_ms, __ATOMIC_RELAXED);
}

uint32_t nof_pmd_away_ms(const struct nof_pmd *pmd)
{
    return state_of(pmd) == NOF_PMD_FORKED ? 0 : __atomic_load_n(&pmd->nic_words->away_ms, __ATOMIC_ACQUIRE);
}

bool nof_pmd_took_all(const struct nof_pmd *pmd)
{
    const struct rte_ring *ring = pmd->submit_ring;

    return state_of(pmd) == NOF_PMD_FORKED || __atomic_load_n(&ring->cons.tail, __ATOMIC_ACQUIRE) ==
                                                  __atomic_load_n(&ring->prod.tail, __ATOMIC_RELAXED);
}

bool nof_pmd_multicast(const struct nof_pmd *pmd)
{
    return state_of(pmd) != NOF_PMD_FORKED &&
           __atomic_load_n(&pmd->nic_words->multicast, __ATOMIC_RELAXED) != 0;
}

enum nof_channels nof_pmd_channels(const struct nof_pmd *pmd)
{
    uint32_t channels = state_of(pmd) == NOF_PMD_FORKED
                            ? (uint32_t)NOF_CHANNELS_NIC
                            : __atomic_load_n(&pmd->nic_words->channels, __ATOMIC_RELAXED);

    return channels <= NOF_CHANNELS_SINGLE_COPY ? (enum nof_channels)channels : NOF_CHANNELS_AUTO;
}

struct nof_pmd_polling nof_pmd_polling(const struct nof_pmd *pmd)
{
    if (state_of(pmd) == NOF_PMD_FORKED)
        return (struct nof_pmd_polling){.ratio = 1, .update = 1};
    return (struct nof_pmd_polling){
        .dynamic = __atomic_load_n(&pmd->nic_words->polling, __ATOMIC_RELAXED) != 0,
        .ratio = __atomic_load_n(&pmd->nic_words->poll_ratio, __ATOMIC_RELAXED),
        .update = __atomic_load_n(&pmd->nic_words->poll_update, __ATOMIC_RELAXED)};
}

uint64_t nof_pmd_unexpected(const struct nof_pmd *pmd)
{
    return state_of(pmd) == NOF_PMD_FORKED ? 0 : __atomic_load_n(pmd->unexpected, __ATOMIC_RELAXED);
}

uint64_t nof_pmd_counter(const struct nof_pmd *pmd, enum nof_counter counter)
{
    if (state_of(pmd) == NOF_PMD_FORKED || (uint32_t)counter >= pmd->identity.ncounters)
        return 0;
    return __atomic_load_n(&pmd->counters[counter], __ATOMIC_RELAXED);
}

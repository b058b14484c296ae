/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/shm/chan_shm.h"

#include "base/wait_board.h"
#include "chan/nic/chan_nic.h"
#include "comm/comm.h"

/* Messages of one lane in a turn: the others come before it has all of its 63. */
#define TURN 16u
/* What ran out of memory is tried again, and who has left is looked for, though nothing rings. */
#define STUCK_NAP_NS 1000000u
#define LEFT_NAP_NS 100000000u
#define CLOSING_NAP_NS 5000000u

/* A lane that is not hot has brought messages: it may become so, and another be told of no longer. */
static void promote(struct nof_shm_peer *peer, uint32_t messages)
{
    uint32_t leaves, place = nof_hot_place(&nof_shm.hot, nof_shm_slot_of(peer), messages, &leaves);
    if (place == NOF_HOT_NONE)
        return;
    if (leaves != NOF_HOT_NONE) {
        struct nof_shm_peer *old = &nof_shm.peers[leaves];
        old->place = NOF_HOT_NONE;
        __atomic_store_n(&old->in.lane->head.hot, 0, __ATOMIC_RELAXED);
        nof_barrier_heavy();
        if (nof_lane_peek(&old->in) != NULL) /* it was published by one who saw it hot */
            nof_hot_tell(&nof_shm.part->map, leaves);
    }
    peer->place = place;
    __atomic_store_n(&peer->in.lane->head.hot, 1, __ATOMIC_RELAXED);
}

static bool brings(const struct nof_shm_peer *peer)
{
    return !peer->gone && !peer->stuck && nof_lane_peek(&peer->in) != NULL;
}

/* There is more in a lane that is looked at only when something is said to be there. */
static void tell_if_left(uint32_t slot)
{
    if (nof_shm.peers[slot].place == NOF_HOT_NONE && brings(&nof_shm.peers[slot]))
        nof_hot_tell(&nof_shm.part->map, slot);
}

static int poll_word(uint32_t word)
{
    uint64_t bits = nof_hot_take(&nof_shm.part->map, word);
    int n = 0;
    while (bits != 0) {
        uint32_t slot = word * 64 + (uint32_t)__builtin_ctzll(bits);
        bits &= bits - 1;
        if (slot >= nof_shm.memory.nslots || nof_shm.peers[slot].world_rank < 0)
            continue;
        struct nof_shm_peer *peer = &nof_shm.peers[slot];
        uint32_t brought = nof_shm_drain(peer, TURN);
        n += (int)brought;
        if (peer->place == NOF_HOT_NONE && brought > 0)
            promote(peer, brought);
        tell_if_left(slot);
    }
    return n;
}

static int poll_told(void)
{
    uint64_t words = nof_hot_take_words(&nof_shm.part->map);
    int n = 0;
    for (uint32_t i = 0; words != 0 && i < NOF_SEGMENT_SLOTS_MAX / 64; i++, words >>= 1)
        n += (words & 1) != 0 ? poll_word(i) : 0;
    return n;
}

/* Lanes whose next message could not be taken for lack of memory. */
static int retry_stuck(void)
{
    int n = 0;
    for (uint32_t slot = 0; slot < nof_shm.memory.nslots; slot++) {
        if (!nof_shm.peers[slot].stuck)
            continue;
        n += (int)nof_shm_drain(&nof_shm.peers[slot], TURN);
        tell_if_left(slot);
    }
    return n;
}

/* The map is anybody's to clear: what this process says to itself is looked for beside it. */
static bool itself_says(void)
{
    const struct nof_shm_peer *self = &nof_shm.peers[nof_shm.self];
    return self->world_rank >= 0 && self->place == NOF_HOT_NONE && !self->gone &&
           nof_lane_peek(&self->in) != NULL;
}

static int shm_poll(void)
{
    int n = 0;
    if (nof_shm.dead)
        return 0;
    if (itself_says())
        nof_hot_tell(&nof_shm.part->map, nof_shm.self);
    for (uint32_t i = 0; i < nof_shm.hot.count; i++) {
        struct nof_shm_peer *peer = &nof_shm.peers[nof_shm.hot.lane[i]];
        if (nof_lane_peek(&peer->in) == NULL)
            continue;
        uint32_t brought = nof_shm_drain(peer, TURN);
        nof_hot_brought(&nof_shm.hot, i, brought);
        n += (int)brought;
    }
    if (nof_hot_told(&nof_shm.part->map))
        n += poll_told();
    if (nof_shm.stuck_count > 0)
        n += retry_stuck();
    if (nof_shm.blocked != NULL)
        n += nof_shm_pump();
    if (nof_shm.pulls != NULL)
        n += nof_shm_pull_look();
    if (nof_shm.moves.waiting != 0)
        n += nof_shm_move(false);
    if (__atomic_load_n(&nof_shm.memory.roster->deaths, __ATOMIC_RELAXED) != nof_shm.deaths)
        n += nof_shm_look_at_roster(false);
    return n;
}

/* A poll would find something. Behind nof_barrier_heavy(), for who is about to sleep. */
static bool something_there(void)
{
    if (nof_shm.dead || __atomic_load_n(&nof_shm.memory.roster->deaths, __ATOMIC_RELAXED) != nof_shm.deaths)
        return !nof_shm.dead;
    for (uint32_t i = 0; i < nof_shm.hot.count; i++)
        if (brings(&nof_shm.peers[nof_shm.hot.lane[i]]))
            return true;
    return nof_hot_told(&nof_shm.part->map) || itself_says() || nof_shm_could_pump() ||
           nof_shm_pull_has_news();
}

/* A receive or a probe that memory may answer, or something that a peer has to say. */
static bool shm_awaited(bool standing)
{
    const struct nof_match_table *posted = &nof_chan_claims.memory.posted;
    return posted->count > (standing ? 0 : posted->standing) || nof_chan_probes != NULL || nof_shm.in_use > 0;
}

static uint64_t shm_nap_ns(void)
{
    static uint64_t looked_ns;
    if (nof_shm.moves.waiting != 0 && nof_shm_move(true) > 0)
        return 0;
    if (nof_shm.stuck_count > 0)
        return STUCK_NAP_NS;
    if (!shm_awaited(true))
        return UINT64_MAX;
    uint64_t now_ns = nof_lib_now_ns(), often_ns = nof_shm.closing ? CLOSING_NAP_NS : LEFT_NAP_NS;
    if (now_ns - looked_ns >= often_ns) {
        looked_ns = now_ns;
        if (nof_shm_look_at_roster(true) > 0)
            return 0;
    }
    return often_ns;
}

static void shm_describe(const struct nof_sched *of)
{
    struct nof_match_entry *e = nof_chan_claims.memory.posted.first;
    unsigned looks = NOF_BOARD_LOOKS;
    for (; e != NULL && looks > 0; e = e->next, looks--) {
        const struct nof_request *req =
            (const struct nof_request *)(const void *)((const char *)e -
                                                       offsetof(struct nof_request, claim.memory));
        if (req->channel_op != NULL) /* the NIC describes it */
            continue;
        bool ours = req->owner == NULL && req->on_done == NULL;
        if (ours)
            nof_board->posted++;
        if (of != NULL ? req->owner == of : ours && nof_board->kind == NOF_BOARD_CALL)
            nof_board_add_peer(e->source == NOF_MATCH_ANY ? NOF_BOARD_ANY : e->source);
    }
    if (e != NULL)
        nof_board->unlooked = 1;
    nof_board->sends += nof_shm.in_use;
    nof_board->unexpected += (uint32_t)nof_chan_claims.memory.waiting.count;
}

/* Who asks again and again calls nothing else: what has come is taken first. */
static void shm_probe(struct nof_request *req)
{
    if (!req->probe_wait && !nof_wait_polling())
        (void)nof_wait_poll();
    nof_shm_probe(req);
}

static void shm_commit(struct nof_type *type)
{
    (void)type;
}

static bool shm_streams(const struct nof_type *type, size_t bytes)
{
    (void)type;
    (void)bytes;
    return true; /* into slots and cells, and out of them */
}

/* Where a rank has died, others may never ask for what they were sent: they are given this long. */
#define FLUSH_DEAD_NS 2000000000u

static bool goes_on(uint64_t began_ns)
{
    return !nof_shm.dead && (nof_chan_nic_dead_member(nof_comm_world()) == MPI_UNDEFINED ||
                             nof_lib_now_ns() - began_ns < FLUSH_DEAD_NS);
}

/* All that was sent is in the lanes, from which its receivers take it, though we are gone. */
static void shm_flush(void)
{
    struct nof_wait wait = NOF_WAIT_START;
    uint64_t began_ns = nof_lib_now_ns();
    while (nof_shm.blocked != NULL && goes_on(began_ns))
        nof_wait_step(&wait);
}

/* Sends that nobody has matched when all are in MPI_Finalize; those of whom the receiver has left by now have ended. */
static void shm_withdraw(void)
{
    struct nof_wait wait = NOF_WAIT_START;
    uint64_t began_ns = nof_lib_now_ns();
    nof_shm.closing = true;
    nof_shm_withdraw();
    while (nof_shm.in_use > 0 && goes_on(began_ns))
        nof_wait_step(&wait);
}

static void shm_close(void)
{
    nof_shm.open = false;
    for (uint32_t slot = 0; slot < nof_shm.memory.nslots; slot++)
        if (nof_shm.peers[slot].cma.tried)
            nof_cma_close(&nof_shm.peers[slot].cma);
}

const struct nof_chan nof_chan_by_shm = {
    .name = "shm",
    .delta = &nof_shm_delta,
    .delta_ended = nof_shm_delta_ended,
    .tell_failure = nof_chan_nic_tell_failure,
    .coll_patience_ms = nof_chan_nic_coll_patience_ms,
    .away_ms = nof_chan_nic_away_ms,
    .heard = nof_chan_nic_heard,
    .send = nof_shm_send,
    .recv = nof_shm_recv,
    .send_now = nof_shm_send_now,
    .recv_now = nof_shm_recv_now,
    .cancel = nof_shm_cancel,
    .cancelling = nof_shm_cancelling,
    .probe = shm_probe,
    .commit = shm_commit,
    .streams = shm_streams,
    .source = {.poll = shm_poll,
               .nap_ns = shm_nap_ns,
               .describe = shm_describe,
               .came = &nof_shm.came,
               .awaited = shm_awaited},
    .flush = shm_flush,
    .withdraw = shm_withdraw,
    .dead_member = nof_chan_nic_dead_member,
    .close = shm_close,
};

static uint32_t bell_count(void)
{
    return nof_pmd_wake_count(nof_chan_nic.pmd);
}

/* Lanes that have brought nothing for long are hot no longer: how many, and whose. */
static uint32_t cool(uint32_t slots_out[NOF_HOT_LANES])
{
    uint32_t n = 0;
    for (uint32_t place = nof_shm.hot.count; place-- > 0;) {
        uint32_t slot = nof_shm.hot.lane[place];
        struct nof_shm_peer *peer = &nof_shm.peers[slot];
        if (!nof_hot_idle(&nof_shm.hot, place) || peer->stuck)
            continue;
        uint32_t moved = nof_hot_leave(&nof_shm.hot, place);
        if (moved != NOF_HOT_NONE)
            nof_shm.peers[moved].place = place;
        peer->place = NOF_HOT_NONE;
        __atomic_store_n(&peer->in.lane->head.hot, 0, __ATOMIC_RELAXED);
        slots_out[n++] = slot;
    }
    return n;
}

/* Behind nof_barrier_heavy(): what was published by one who saw it hot. */
static void look_at_cooled(uint32_t n, const uint32_t slots[NOF_HOT_LANES])
{
    for (uint32_t i = 0; i < n; i++)
        if (nof_lane_peek(&nof_shm.peers[slots[i]].in) != NULL)
            nof_hot_tell(&nof_shm.part->map, slots[i]);
}

/* Peers do not fence: behind begin() they are brought past one, and what they had put in before is seen. */
static void bell_sleep(uint32_t seen, uint64_t timeout_ns)
{
    uint32_t cooled[NOF_HOT_LANES];
    nof_lib_lock();
    uint32_t n = cool(cooled);
    nof_lib_unlock();
    nof_pmd_wait_begin(nof_chan_nic.pmd);
    nof_barrier_heavy();
    nof_lib_lock();
    look_at_cooled(n, cooled);
    bool something = something_there();
    nof_lib_unlock();
    if (something)
        nof_pmd_wait_end(nof_chan_nic.pmd);
    else
        (void)nof_pmd_wait(nof_chan_nic.pmd, seen, timeout_ns);
}

static void bell_ring(void)
{
    nof_pmd_wake(nof_chan_nic.pmd);
}

static const struct nof_wait_bell bell = {.count = bell_count, .sleep = bell_sleep, .ring = bell_ring};

void nof_shm_open(void)
{
    nof_shm_open_peers();
    if (!nof_shm.open)
        return;
    nof_claims_init(&nof_chan_claims, nof_pmd_claims(nof_chan_nic.pmd), NOF_CLAIM_SLOTS);
    nof_chan_use_beside(&nof_chan_by_shm, nof_shm.slot_of, nof_shm.started, nof_shm.way);
    nof_chan_on_gone(nof_shm_gone);
    nof_chan_on_lost(nof_shm_lost);
    nof_wait_at(&bell);
}

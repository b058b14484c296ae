/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "chan/nic/chan_nic.h"
#include "chan/shm/chan_shm.h"
#include "comm/comm.h"
#include "launch/launch.h"

/* The name of an operation: 12 bits of its generation, which are never 0, then its index. */
#define INDEX_BITS 20u
#define CHUNK 64u
#define CHUNKS_MAX ((1u << INDEX_BITS) / CHUNK)

struct nof_shm nof_shm;
struct nof_delta_board nof_shm_delta; /* the NIC's, but for what of sends is ready */

static uint64_t probe_word;

/* The lane to itself: nobody else can stop it, or put a message in, so that what is of this process alone ends by its own doing. */
static _Alignas(64) struct nof_lane to_self;

static struct nof_part *part_of(uint32_t slot)
{
    uint64_t offset =
        nof_segment_part_offset(nof_shm.memory.nslots) + slot * nof_segment_part_bytes(nof_shm.memory.nslots);
    return (struct nof_part *)(void *)(nof_shm.memory.base + offset);
}

static const struct nof_roster_rank *entry(uint32_t slot)
{
    const struct nof_roster *roster = nof_shm.memory.roster;
    return (const struct nof_roster_rank *)(const void *)(roster + 1) + slot;
}

/* The lane from each that has come: others never will. */
static bool allocate_lanes(struct nof_part *part)
{
    for (uint32_t slot = 0; slot < nof_shm.memory.nslots; slot++)
        if (__atomic_load_n(&entry(slot)->state, __ATOMIC_ACQUIRE) != NOF_ROSTER_FREE &&
            !nof_part_allocate(nof_part_lane(part, slot), NOF_LANE_BYTES))
            return false;
    return true;
}

static uint32_t ranks_told(void)
{
    int told = nof_launch_ranks_here();
    return told > 0 ? (uint32_t)told : 0;
}

bool nof_shm_publish(const enum nof_channels *way, char *text, size_t text_bytes)
{
    const struct nof_pmd_segment *memory = nof_pmd_segment(nof_chan_nic.pmd);
    text[0] = '\0';
    if (memory == NULL || memory->base == NULL)
        return false;
    nof_shm.memory = *memory;
    struct nof_part *part = part_of(memory->slot);
    if (!nof_part_allocate(part, sizeof(*part)) || !allocate_lanes(part)) {
        snprintf(text, text_bytes, "no memory for messages of the ranks of this host (%s)", strerror(errno));
        return false;
    }
    nof_shm.part = part;
    nof_shm.way = way == NULL ? nof_pmd_channels(nof_chan_nic.pmd) : *way;
    if (nof_shm.way == NOF_CHANNELS_NIC) /* set since it gave us a slot */
        nof_shm.way = NOF_CHANNELS_AUTO;
    nof_shm.self = memory->slot;
    probe_word = nof_lib_now_ns() ^ (uint64_t)getpid() << 40;
    part->head.magic = NOF_PART_MAGIC;
    part->head.registered = nof_barrier_register();
    nof_seats_mine(&part->cpus);
    part->head.ranks_here = ranks_told();
    part->head.started_by_nic = nof_pmd_runs_collectives(nof_chan_nic.pmd);
    part->head.probe =
        (struct nof_cma_probe){.address = (uint64_t)(uintptr_t)&probe_word, .value = probe_word};
    __atomic_store_n(&part->head.state, NOF_PART_SHM, __ATOMIC_RELEASE);
    return true;
}

static struct nof_segment_bell *bell_of(uint32_t slot)
{
    return (struct nof_segment_bell *)(void *)nof_shm.memory.base + slot;
}

/* It has come, and says that it takes messages this way. */
static bool open_peer(uint32_t slot, bool *registered)
{
    struct nof_shm_peer *peer = &nof_shm.peers[slot];
    const struct nof_roster_rank *who = entry(slot);
    *peer = (struct nof_shm_peer){
        .world_rank = -1, .place = NOF_HOT_NONE, .cma = {.pidfd = -1}, .bell = bell_of(slot)};
    if (__atomic_load_n(&who->state, __ATOMIC_ACQUIRE) == NOF_ROSTER_FREE ||
        who->rank >= (uint32_t)nof_lib.world_size)
        return false;
    peer->part = part_of(slot);
    if (__atomic_load_n(&peer->part->head.state, __ATOMIC_ACQUIRE) != NOF_PART_SHM ||
        peer->part->head.magic != NOF_PART_MAGIC)
        return false;
    *registered = *registered && peer->part->head.registered != 0;
    peer->world_rank = (int32_t)who->rank;
    nof_shm.slot_of[who->rank] = (int32_t)slot;
    nof_shm.started[who->rank] = (peer->part->head.started_by_nic | nof_shm.part->head.started_by_nic) == 0;
    bool itself = slot == nof_shm.self;
    nof_lane_out_init(&peer->out, itself ? &to_self : nof_part_lane(peer->part, nof_shm.self));
    nof_lane_in_init(&peer->in, itself ? &to_self : nof_part_lane(nof_shm.part, slot));
    return true;
}

/* Whether ranks outnumber CPUs, by what those here have said of theirs. Of a host the launcher may say how many they are; the rest of
 * them, of other simulated hosts or silent, may want any CPU. All that are here find the same, since nobody's environment counts but
 * as it was published: who wakes with or without a fence depends on it (barrier.h). */
static void find_seats(void)
{
    struct nof_seat *seats = calloc(nof_shm.memory.nslots, sizeof(*seats));
    if (seats == NULL)
        nof_lib_die(1, "no memory for %u peers of this host", nof_shm.memory.nslots);
    uint32_t here = 0, told = 0, all = (uint32_t)nof_lib.world_size;
    bool all_told = true;
    for (uint32_t slot = 0; slot < nof_shm.memory.nslots; slot++)
        if (nof_shm.peers[slot].world_rank >= 0) {
            const struct nof_part *part = nof_shm.peers[slot].part;
            seats[here++].may = &part->cpus;
            told = part->head.ranks_here > told ? part->head.ranks_here : told;
            all_told = all_told && part->head.ranks_here != 0;
        }
    if (all_told && told < all)
        all = told;
    int others = all > here ? (int)(all - here) : 0, left = nof_seats_left(seats, here);
    nof_lib_share_cpus(left >= others, left <= others);
    free(seats);
}

/* In our part, which the first delta send allocates. Of slots: the NIC's come first. */
static struct nof_delta_ready *delta_ready(uint32_t slot)
{
    static bool allocated;
    struct nof_part_delta *boards = nof_part_delta(nof_shm.part);
    if (slot < NOF_DELTA_SLOTS || slot >= 2 * NOF_DELTA_SLOTS)
        return NULL;
    allocated = allocated || nof_part_allocate(boards, NOF_DELTA_SLOTS * sizeof(*boards));
    return allocated ? &boards[slot - NOF_DELTA_SLOTS].ready : NULL;
}

static void delta_ring(uint32_t slot)
{
    struct nof_part_delta *boards = nof_part_delta(nof_shm.part);
    (void)__atomic_fetch_add(&boards[slot - NOF_DELTA_SLOTS].told, 1, __ATOMIC_RELEASE);
}

void nof_shm_open_peers(void)
{
    uint32_t nslots = nof_shm.memory.nslots;
    if (nof_shm.part == NULL)
        return;
    nof_shm.peers = calloc(nslots, sizeof(*nof_shm.peers));
    nof_shm.lent = calloc(nslots + 1, sizeof(*nof_shm.lent));
    nof_shm.slot_of = malloc((size_t)nof_lib.world_size * sizeof(*nof_shm.slot_of));
    nof_shm.started = calloc((size_t)nof_lib.world_size, sizeof(*nof_shm.started));
    if (nof_shm.peers == NULL || nof_shm.lent == NULL || nof_shm.slot_of == NULL || nof_shm.started == NULL)
        nof_lib_die(1, "no memory for %u peers of this host", nslots);
    for (int i = 0; i < nof_lib.world_size; i++)
        nof_shm.slot_of[i] = -1;
    bool registered = true;
    for (uint32_t slot = 0; slot < nslots; slot++)
        (void)open_peer(slot, &registered);
    find_seats();
    nof_barrier_use(registered && nof_lib.seated);
    nof_cells_init(&nof_shm.cells, &nof_shm.part->words, nof_part_cells(nof_shm.part), nof_part_allocate);
    nof_shm_delta = nof_chan_nic_delta;
    nof_shm_delta.by_memory = true;
    nof_shm_delta.ready = delta_ready;
    nof_shm_delta.ring = delta_ring;
    nof_shm.open = true;
}

void nof_shm_ring_asleep(uint32_t slot)
{
    struct nof_segment_bell *bell = bell_of(slot);
    __atomic_store_n(&bell->asleep, 0, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&bell->wake, 1, __ATOMIC_SEQ_CST);
    (void)syscall(SYS_futex, &bell->wake, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static bool more_ops(void)
{
    if (nof_shm.chunk_count == CHUNKS_MAX)
        return false;
    struct nof_shm_op **chunks = realloc(nof_shm.chunks, (nof_shm.chunk_count + 1) * sizeof(*chunks));
    if (chunks == NULL)
        return false;
    nof_shm.chunks = chunks;
    struct nof_shm_op *chunk = calloc(CHUNK, sizeof(*chunk));
    if (chunk == NULL)
        return false;
    for (uint32_t i = CHUNK; i-- > 0;) {
        chunk[i].index = nof_shm.chunk_count * CHUNK + i;
        chunk[i].next = nof_shm.free;
        nof_shm.free = &chunk[i];
    }
    chunks[nof_shm.chunk_count++] = chunk;
    return true;
}

/* Before its receiver can hear of it. */
static void count_unawaited(struct nof_request *req)
{
    req->unawaited = &nof_shm.part->head.unawaited;
    __atomic_store_n(req->unawaited, *req->unawaited + 1, __ATOMIC_RELAXED);
}

struct nof_shm_op *nof_shm_op_new(enum nof_shm_phase phase, uint32_t slot, struct nof_request *req)
{
    if (nof_shm.free == NULL && !more_ops())
        return NULL;
    struct nof_shm_op *op = nof_shm.free;
    nof_shm.free = op->next;
    uint32_t index = op->index, generation = op->generation % 4095 + 1;
    *op = (struct nof_shm_op){
        .index = index, .generation = generation, .phase = phase, .slot = slot, .req = req};
    op->sends = phase == NOF_SHM_WAITS || phase == NOF_SHM_ASKED;
    nof_shm.peers[slot].sends += op->sends;
    if (op->sends && !req->awaited)
        count_unawaited(req);
    if (req != NULL)
        req->channel_op = op;
    nof_shm.in_use++;
    return op;
}

static void let_go_of_request(struct nof_shm_op *op)
{
    if (op->req == NULL)
        return;
    op->req->channel_op = NULL;
    if (op->req->unawaited != NULL)
        nof_request_await(op->req); /* no longer counted */
    op->req = NULL;
}

static uint32_t line_of(uint32_t key)
{
    return key % NOF_PART_MOVES;
}

void nof_shm_op_may_move(struct nof_shm_op *op)
{
    struct nof_shm_moves *moves = &nof_shm.moves;
    if (op->key != 0 || moves->used == UINT32_MAX)
        return;
    uint32_t line = (uint32_t)__builtin_ctz(~moves->used);
    moves->count = moves->count % (UINT32_MAX / NOF_PART_MOVES) + 1;
    op->key = moves->count * NOF_PART_MOVES + line; /* the highest is UINT32_MAX */
    moves->used |= 1u << line;
    moves->waiting |= 1u << line;
    moves->op[line] = op;
}

void nof_shm_op_stays(struct nof_shm_op *op)
{
    nof_shm.moves.waiting &= ~(1u << line_of(op->key));
}

void nof_shm_op_moved(struct nof_shm_op *op, uint32_t cell, uint32_t generation)
{
    nof_shm_op_stays(op);
    let_go_of_request(op);
    op->phase = NOF_SHM_MOVED;
    op->cell = cell;
    op->cell_generation = generation;
    nof_shm.in_use--;
}

void nof_shm_op_free(struct nof_shm_op *op)
{
    let_go_of_request(op);
    if (op->phase == NOF_SHM_MOVED)
        nof_cells_take_back(&nof_shm.cells, op->cell, op->cell_generation, nof_shm.lent);
    else
        nof_shm.in_use--;
    if (op->key != 0) {
        nof_shm_op_stays(op);
        nof_shm.moves.used &= ~(1u << line_of(op->key));
    }
    op->phase = NOF_SHM_FREE;
    nof_shm.peers[op->slot].sends -= op->sends;
    op->next = nof_shm.free;
    nof_shm.free = op;
}

struct nof_shm_op *nof_shm_op_each(uint32_t *at)
{
    while (*at < nof_shm.chunk_count * CHUNK) {
        struct nof_shm_op *op = &nof_shm.chunks[*at / CHUNK][*at % CHUNK];
        (*at)++;
        if (op->phase != NOF_SHM_FREE)
            return op;
    }
    return NULL;
}

uint32_t nof_shm_op_name(const struct nof_shm_op *op)
{
    return op->generation << INDEX_BITS | op->index;
}

struct nof_shm_op *nof_shm_op_of(uint32_t name, uint32_t slot)
{
    uint32_t index = name & ((1u << INDEX_BITS) - 1);
    if (index / CHUNK >= nof_shm.chunk_count)
        return NULL;
    struct nof_shm_op *op = &nof_shm.chunks[index / CHUNK][index % CHUNK];
    return op->phase != NOF_SHM_FREE && op->generation == name >> INDEX_BITS && op->slot == slot ? op : NULL;
}

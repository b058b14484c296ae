/* SPDX-License-Identifier: BSD-3-Clause */
#include "neighbour.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/child.h"

#define NOBODY 65534
#define PATIENCE_NS 60000000000ull
#define NAP_NS 1000000u

_Noreturn static void give_up(const char *what, const char *text)
{
    fprintf(stderr, "nof bench neighbour: %s: %s\n", what, text);
    _exit(1);
}

static bool stopped(const struct neighbour_board *board)
{
    return __atomic_load_n(&board->stop, __ATOMIC_ACQUIRE) != 0;
}

static void bind_to(uint32_t cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
}

/* The ranks share one CPU, and it is the NIC that is looked at: the others run while the pair waits for it, and step
 * back when one of it wakes up. */
static void step_back(void)
{
    const struct sched_param none = {.sched_priority = 0};

    (void)sched_setscheduler(0, SCHED_IDLE, &none);
}

struct innocent {
    struct neighbour_board *board;
    struct nof_pmd *pmd;
    uint32_t rank;
    bool received;
};

static void pair_submit(struct innocent *p, uint8_t opcode)
{
    struct nof_desc desc = {
        .opcode = opcode, .ctx = 3, .cookie = opcode, .peer = (int32_t)(1 - p->rank), .tag = 5, .len = 8};
    int n = 0;

    if (opcode == NOF_DESC_SEND)
        desc.flags = NOF_DESC_F_INLINE;
    while (n == 0)
        n = nof_pmd_submit(p->pmd, &desc, 1);
    if (n < 0)
        give_up("the pair", nof_pmd_death(p->pmd));
}

/* False: it is over. */
static bool pair_wait(struct innocent *p)
{
    while (!p->received) {
        struct nof_comp comps[8];
        uint32_t seen = nof_pmd_wake_count(p->pmd);
        int n = nof_pmd_reap(p->pmd, comps, 8);

        if (n < 0)
            give_up("the pair", nof_pmd_death(p->pmd));
        for (int i = 0; i < n; i++) {
            if (comps[i].opcode == NOF_COMP_PEER_DEAD && comps[i].status == NOF_OK)
                return false; /* the other one has seen the end first */
            if (comps[i].status != NOF_OK)
                give_up("the pair", nof_strstatus(comps[i].status));
            p->received |= comps[i].opcode == NOF_COMP_RECV;
        }
        if (n == 0 && stopped(p->board))
            return false;
        if (n == 0)
            (void)nof_pmd_wait(p->pmd, seen, NAP_NS);
    }
    p->received = false;
    return true;
}

static void pair_meet(struct innocent *p)
{
    struct neighbour_board *board = p->board;
    struct nof_desc peer = {.opcode = NOF_DESC_PEER, .peer = (int32_t)(1 - p->rank)};
    uint64_t until_ns = nof_bench_now_ns() + PATIENCE_NS;

    board->card[p->rank] = nof_pmd_identity(p->pmd)->card;
    __atomic_store_n(&board->have_card[p->rank], 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&board->have_card[1 - p->rank], __ATOMIC_ACQUIRE) == 0) {
        if (nof_bench_now_ns() > until_ns)
            give_up("the pair", "one of it does not come");
        nof_bench_sleep_ms(1);
    }
    memcpy(peer.inline_data, &board->card[1 - p->rank], sizeof(board->card[0]));
    if (nof_pmd_submit(p->pmd, &peer, 1) != 1)
        give_up("the pair", nof_pmd_death(p->pmd));
}

_Noreturn void neighbour_innocent(struct neighbour_board *board, uint32_t rank)
{
    struct innocent p = {.board = board, .rank = rank};
    struct nof_pmd_attach_args args = {
        .socket = board->socket, .job_id = board->job_id, .rank = rank, .size = 2, .nic = rank};
    char text[256];

    bind_to(board->cpu);
    memcpy(args.job_key, board->job_key, sizeof(args.job_key));
    if (nof_pmd_attach(&args, &p.pmd, text, sizeof(text)) != NOF_OK)
        give_up("the pair", text);
    pair_meet(&p);
    do {
        pair_submit(&p, NOF_DESC_RECV);
        if (rank == 0)
            pair_submit(&p, NOF_DESC_SEND);
        if (!pair_wait(&p))
            break;
        if (rank == 1)
            pair_submit(&p, NOF_DESC_SEND);
        if (rank == 0)
            (void)__atomic_add_fetch(&board->rounds, 1, __ATOMIC_RELEASE);
    } while (!stopped(board));
    board->pause_ns[rank] = nof_pmd_counter(p.pmd, NOF_C_PAUSE_NS);
    nof_pmd_detach(p.pmd);
    _exit(0);
}

uint64_t neighbour_random(struct neighbour *n)
{
    n->random ^= n->random << 13;
    n->random ^= n->random >> 7;
    n->random ^= n->random << 17;
    return n->random;
}

struct nof_pmd *neighbour_attach(const struct neighbour *n, uint64_t job_id, uint32_t rank, uint32_t size)
{
    struct nof_pmd_attach_args args = {.socket = n->board->socket,
                                       .job_id = job_id,
                                       .rank = rank,
                                       .size = size,
                                       .nic = (uint32_t)(n->random & 1)};
    struct nof_pmd *pmd;
    char text[256];

    memcpy(args.job_key, &job_id, sizeof(job_id));
    if (nof_pmd_attach(&args, &pmd, text, sizeof(text)) == NOF_OK)
        return pmd;
    return NULL;
}

struct nof_desc *neighbour_desc(struct neighbour *n, uint8_t opcode)
{
    struct nof_desc *d = &n->desc[n->ndescs++];

    *d = (struct nof_desc){.opcode = opcode, .ctx = 3};
    return d;
}

static unsigned reap(struct neighbour *n, const struct neighbour_attack *attack)
{
    struct nof_comp comps[64];
    int got = nof_pmd_reap(n->pmd, comps, 64);

    for (int i = 0; i < got; i++)
        if (attack != NULL && attack->completed != NULL)
            attack->completed(n, &comps[i]);
    if (got < 0 && stopped(n->board))
        _exit(0);
    if (got < 0)
        give_up("a rank beside the pair", nof_pmd_death(n->pmd));
    return (unsigned)got;
}

/* What the ring has room for. */
static unsigned submit_some(struct neighbour *n)
{
    int done = n->ndescs > 0 ? nof_pmd_submit(n->pmd, n->desc, n->ndescs) : 0;

    if (done <= 0)
        return 0;
    n->ndescs -= (unsigned)done;
    memmove(n->desc, n->desc + done, n->ndescs * sizeof(n->desc[0]));
    return (unsigned)done;
}

void neighbour_submit(struct neighbour *n)
{
    while (n->ndescs > 0 && !stopped(n->board))
        if (submit_some(n) + reap(n, NULL) == 0)
            sched_yield();
}

/* As somebody who has no other rights than his own. */
static void become_nobody(void)
{
    if (geteuid() != 0)
        return;
    if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)
        give_up("a rank beside the pair", "cannot leave root");
    (void)prctl(PR_SET_DUMPABLE, 1);
}

_Noreturn void neighbour_beside(struct neighbour_board *board, const struct neighbour_attack *attack,
                                unsigned number)
{
    struct neighbour n = {
        .board = board, .level = attack->level, .random = (uint64_t)getpid() << 20 | number | 2, .fd = -1};
    uint64_t job_id;

    bind_to(board->cpu);
    step_back();
    become_nobody();
    n.arena = calloc(1, NEIGHBOUR_ARENA);
    if (n.arena == NULL || getrandom(&job_id, sizeof(job_id), 0) != sizeof(job_id))
        give_up("a rank beside the pair", "no memory");
    if (attack->attaches) {
        n.pmd = neighbour_attach(&n, job_id, 0, 1u << 20);
        if (n.pmd == NULL)
            give_up("a rank beside the pair", "cannot attach");
    }
    if (attack->begin != NULL)
        attack->begin(&n);
    (void)__atomic_add_fetch(&board->ready, 1, __ATOMIC_RELEASE);
    while (!stopped(board)) {
        if (n.ndescs == 0)
            attack->turn(&n);
        n.turns++;
        if (n.pmd != NULL && submit_some(&n) + reap(&n, attack) == 0)
            sched_yield(); /* nobody sleeps: all of them want as much of their CPU */
    }
    _exit(0);
}

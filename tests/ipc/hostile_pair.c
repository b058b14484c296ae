/* SPDX-License-Identifier: BSD-3-Clause */
#include "hostile_pair.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "pmd_driver.h"

#define LEN_MAX (192u << 10) /* several DMA blocks */
#define LAST_LEN 7u /* the message that says: no more after this one */

/* Inline, bounce or staging, one block, several blocks. */
static const uint32_t lengths[] = {8, 32, 500, 4000, 20000, 65536, LEN_MAX};

struct player {
    struct nof_pmd *pmd;
    uint32_t rank;
    uint8_t *out;
    uint8_t *in;
    bool sent;
    bool received;
    bool flushed;
    uint64_t received_len;
};

static uint64_t now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

_Noreturn static void give_up(const struct player *p, const char *what, int status)
{
    fprintf(stderr, "pair, rank %u: %s: %s %s\n", p->rank, what, nof_strstatus(status),
            p->pmd != NULL ? nof_pmd_death(p->pmd) : "");
    _exit(1);
}

static void submit(struct player *p, const struct nof_desc *desc)
{
    int n = 0;

    while (n == 0)
        n = nof_pmd_submit(p->pmd, desc, 1);
    if (n < 0)
        give_up(p, "submit", n);
}

static void on_completion(struct player *p, const struct nof_comp *comp)
{
    /* With status OK the peer has only left, as it may after the last message. */
    if ((comp->opcode == NOF_COMP_PEER_DEAD && comp->status != NOF_OK) || comp->opcode == NOF_COMP_FAILED)
        give_up(p, comp->opcode == NOF_COMP_FAILED ? "failed" : "peer dead", comp->status);
    if (comp->status != NOF_OK)
        give_up(p, "completion", comp->status);
    if (comp->opcode == NOF_COMP_SEND)
        p->sent = true;
    if (comp->opcode == NOF_COMP_FLUSH)
        p->flushed = true;
    if (comp->opcode != NOF_COMP_RECV)
        return;
    p->received = true;
    p->received_len = comp->len;
    if (comp->flags & NOF_COMP_F_INLINE) {
        memcpy(p->in, comp->inline_data, comp->len);
    } else if (comp->flags & NOF_COMP_F_STAGED) {
        struct nof_desc release = {.opcode = NOF_DESC_RELEASE};

        memcpy(p->in, nof_pmd_staged(p->pmd, comp->staged_offset, comp->staged_len), comp->staged_len);
        release.release.count = 1;
        release.release.offset[0] = comp->staged_offset;
        submit(p, &release);
    }
}

static void wait_for(struct player *p, const bool *flag)
{
    uint64_t until_us = now_us() + CHECK_PATIENCE_MS * 1000ull;

    while (!*flag) {
        struct nof_comp comps[8];
        uint32_t seen = nof_pmd_wake_count(p->pmd);
        int n = nof_pmd_reap(p->pmd, comps, 8);

        if (n < 0)
            give_up(p, "reap", n);
        for (int i = 0; i < n; i++)
            on_completion(p, &comps[i]);
        if (n == 0)
            (void)nof_pmd_wait(p->pmd, seen, 100000000);
        if (now_us() > until_us)
            give_up(p, "no answer", NOF_EAGAIN);
    }
}

static void fill(uint8_t *bytes, uint32_t len, uint32_t seed)
{
    for (uint32_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(seed * 167u + i * 13u + (i >> 8));
}

static void verify(struct player *p, uint32_t len, uint32_t seed)
{
    if (p->received_len != len)
        give_up(p, "length", (int)p->received_len);
    for (uint32_t i = 0; i < len; i++)
        if (p->in[i] != (uint8_t)(seed * 167u + i * 13u + (i >> 8)))
            give_up(p, "wrong byte", (int)i);
}

static void post(struct player *p, bool receive, uint32_t len)
{
    struct nof_desc desc = {
        .opcode = receive ? NOF_DESC_RECV : NOF_DESC_SEND,
        .ctx = 3,
        .cookie = receive ? 1 : 2,
        .peer = (int32_t)(1 - p->rank),
        .tag = 5,
        .len = len,
        .addr = (uint64_t)(uintptr_t)(receive ? p->in : p->out),
    };

    if (receive)
        p->received = false;
    else
        p->sent = false;
    if (!receive && len <= NOF_INLINE_BYTES) {
        desc.flags = NOF_DESC_F_INLINE;
        desc.addr = 0;
        memcpy(desc.inline_data, p->out, len);
    }
    submit(p, &desc);
}

static void open_peer(struct player *p, struct hostile_board *board)
{
    struct nof_desc peer = {.opcode = NOF_DESC_PEER, .peer = (int32_t)(1 - p->rank)};
    struct timespec nap = {.tv_nsec = 1000000};

    board->card[p->rank] = nof_pmd_identity(p->pmd)->card;
    __atomic_store_n(&board->have_card[p->rank], 1, __ATOMIC_RELEASE);
    for (int ms = 0; __atomic_load_n(&board->have_card[1 - p->rank], __ATOMIC_ACQUIRE) == 0; ms++) {
        if (ms > CHECK_PATIENCE_MS)
            give_up(p, "no peer", NOF_EAGAIN);
        nanosleep(&nap, NULL);
    }
    memcpy(peer.inline_data, &board->card[1 - p->rank], sizeof(board->card[0]));
    submit(p, &peer);
}

/* Rank 0 serves, rank 1 returns every message. */
static void play(struct player *p, struct hostile_board *board)
{
    for (uint32_t i = 0;; i++) {
        bool last = __atomic_load_n(&board->stop, __ATOMIC_ACQUIRE) != 0;
        uint32_t len = p->rank == 0 && last ? LAST_LEN : lengths[i % (sizeof(lengths) / sizeof(lengths[0]))];
        uint64_t begin_us = now_us();

        post(p, true, LEN_MAX);
        if (p->rank == 0) {
            fill(p->out, len, i);
            post(p, false, len);
            wait_for(p, &p->sent);
        }
        wait_for(p, &p->received);
        if (p->rank == 1) {
            len = p->received_len == LAST_LEN ? LAST_LEN : len;
            memcpy(p->out, p->in, len);
            post(p, false, len);
            wait_for(p, &p->sent);
        }
        verify(p, len, i);
        if (p->rank == 0) {
            uint64_t waited_us = now_us() - begin_us;

            if (waited_us > board->stall_us)
                board->stall_us = waited_us;
            __atomic_store_n(&board->messages, i + 1, __ATOMIC_RELEASE);
        }
        if (len == LAST_LEN)
            return;
    }
}

_Noreturn void hostile_pair_main(struct hostile_board *board, const char *socket, uint32_t rank)
{
    struct player p = {.rank = rank, .out = malloc(LEN_MAX), .in = malloc(LEN_MAX)};
    struct nof_pmd_attach_args args = {
        .socket = socket, .job_id = board->job_id, .rank = rank, .size = 2, .nic = rank};
    struct nof_desc flush = {.opcode = NOF_DESC_FLUSH, .cookie = 9};
    char text[256];

    if (p.out == NULL || p.in == NULL)
        give_up(&p, "malloc", NOF_ENOMEM);
    memcpy(args.job_key, board->job_key, sizeof(args.job_key));
    if (nof_pmd_attach(&args, &p.pmd, text, sizeof(text)) != NOF_OK) {
        fprintf(stderr, "pair, rank %u: attach: %s\n", rank, text);
        _exit(1);
    }
    open_peer(&p, board);
    play(&p, board);
    submit(&p, &flush);
    wait_for(&p, &p.flushed);
    nof_pmd_detach(p.pmd);
    _exit(0);
}

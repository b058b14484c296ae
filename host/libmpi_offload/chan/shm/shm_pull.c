/* SPDX-License-Identifier: BSD-3-Clause */
/* What a receiver reads out of its sender's memory: a message at once, or a delta message as it becomes ready. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chan/nic/chan_nic.h"
#include "chan/shm/chan_shm.h"
#include "comm/comm.h"
#include "delta/delta_in.h"

/* In one look: others of this rank wait for theirs, and what is ready of the rest is looked at again at once. */
#define LOOK_BYTES (1u << 20)
#define LOOK_RUNS 64u
#define LEFT 1

/* A delta message that is being received. */
struct nof_shm_pull {
    struct nof_shm_op *op; /* names it, as long as it goes on */
    struct nof_shm_pull *next;
    const struct nof_part_delta *board; /* in its sender's part: each word is read once */
    uint64_t told; /* as it was when the board was looked at */
    uint32_t unit_log2;
    uint32_t theirs; /* the send */
    uint64_t address;
    uint64_t len; /* a bound */
    uint64_t taken[NOF_DELTA_WORDS]; /* units that were read */
};

static struct nof_shm_peer *peer_of(const struct nof_shm_pull *pull)
{
    return &nof_shm.peers[pull->op->slot];
}

/* NULL: of a plain receive. */
static struct nof_delta_in *delta_in_of(const struct nof_request *req)
{
    return req->delta == 0 ? NULL : nof_delta_in_at(req->delta - 1);
}

/* Units that follow each other. */
struct run {
    uint64_t first;
    uint64_t n;
};

bool nof_shm_reads(struct nof_shm_peer *peer)
{
    const struct nof_roster_rank *who =
        (const struct nof_roster_rank *)(const void *)(nof_shm.memory.roster + 1) + nof_shm_slot_of(peer);
    if (nof_shm_slot_of(peer) == nof_shm.self)
        return true;
    if (!peer->cma.tried) {
        struct nof_cma_probe probe = peer->part->head.probe;
        nof_cma_open(&peer->cma, (pid_t)who->pid, &probe);
    }
    return peer->cma.works;
}

int nof_shm_read(struct nof_shm_peer *peer, const struct nof_shm_found *found, void *to, size_t bytes)
{
    if (nof_shm_slot_of(peer) != nof_shm.self)
        return nof_cma_read(&peer->cma, found->address, to, bytes);
    const struct nof_shm_op *op = nof_shm_op_of(found->op, nof_shm.self);
    if (op == NULL || op->req == NULL || op->req->bytes < bytes)
        return -EFAULT;
    memmove(to, op->req->data, bytes);
    return 0;
}

void nof_shm_read_failed(struct nof_request *req, const struct nof_shm_peer *peer, int rc)
{
    int world_rank = peer->world_rank;
    if (rc == -ESRCH)
        nof_request_fail(req, nof_chan_nic_status_code(NOF_EPEERDEAD, world_rank));
    else /* its sender's memory: the call that it belongs to has ended there, or should not have begun */
        nof_request_fail(req, req->owner != NULL ? nof_chan_nic_failure_code(NOF_EFAULT, world_rank)
                                                 : nof_chan_nic_status_code(NOF_EFAULT, world_rank));
}

/* Something was told since the last look. */
static bool has_news(const struct nof_shm_pull *pull)
{
    return __atomic_load_n(&pull->board->told, __ATOMIC_ACQUIRE) != pull->told;
}

static int read_there(const struct nof_shm_pull *pull, uint64_t from, uint64_t to)
{
    const struct nof_shm_peer *peer = peer_of(pull);
    uint8_t *to_data = (uint8_t *)pull->op->req->data + from;
    if (nof_shm_slot_of(peer) != nof_shm.self)
        return peer->cma.works ? nof_cma_read(&peer->cma, pull->address + from, to_data, to - from) : -EPERM;
    memmove(to_data, (const uint8_t *)(uintptr_t)pull->address + from, to - from);
    return 0;
}

static int take_run(struct nof_shm_pull *pull, struct run run, uint64_t bytes)
{
    uint64_t from = run.first << pull->unit_log2, to = (run.first + run.n) << pull->unit_log2;
    const struct nof_request *req = pull->op->req;
    uint64_t want = bytes < req->bytes ? bytes : req->bytes;
    to = to < want ? to : want;
    int rc = from < to ? read_there(pull, from, to) : 0;
    if (rc != 0)
        return rc;
    for (uint64_t unit = run.first; unit < run.first + run.n; unit++)
        pull->taken[unit / 64] |= 1ull << unit % 64;
    if (delta_in_of(req) != NULL)
        nof_delta_in_came(delta_in_of(req), run.first, run.n);
    return 0;
}

/* Units of one word that are ready, or, `over`, all, and were not read. */
static uint64_t fresh(const struct nof_shm_pull *pull, uint64_t word, bool over, uint64_t units)
{
    uint64_t ready = over ? UINT64_MAX : __atomic_load_n(&pull->board->ready.unit[word], __ATOMIC_ACQUIRE);
    uint64_t left = units - word * 64;
    return ready & ~pull->taken[word] & (left < 64 ? (1ull << left) - 1 : UINT64_MAX);
}

/* What is ready of the first `bytes` bytes, as far as one look goes. 0; LEFT: there is more; or as nof_shm_read(). */
static int take_ready(struct nof_shm_pull *pull, uint64_t bytes, bool over)
{
    uint64_t units = (bytes + (1ull << pull->unit_log2) - 1) >> pull->unit_log2, taken = 0, runs = 0;
    struct run run = {.n = 0};
    for (uint64_t word = 0; word * 64 < units; word++) {
        for (uint64_t left = fresh(pull, word, over, units); left != 0; left &= left - 1) {
            uint64_t unit = word * 64 + (uint64_t)__builtin_ctzll(left);
            bool follows = run.n > 0 && run.first + run.n == unit;
            if (taken > 0 && (taken << pull->unit_log2 >= LOOK_BYTES || runs + !follows > LOOK_RUNS)) {
                int rc = take_run(pull, run, bytes);
                return rc == 0 ? LEFT : rc;
            }
            int rc = follows ? 0 : take_run(pull, run, bytes);
            if (rc != 0)
                return rc;
            runs += !follows;
            run = follows ? run : (struct run){.first = unit};
            run.n++;
            taken++;
        }
    }
    return take_run(pull, run, bytes);
}

/* Reading is no longer allowed: the message comes in cells, when it has ended. */
static void have_it_sent(struct nof_shm_pull *pull)
{
    struct nof_shm_op *op = pull->op;
    uint32_t theirs = pull->theirs;
    uint64_t want = pull->len < op->req->bytes ? pull->len : op->req->bytes;
    op->len = pull->len;
    nof_cma_close(&peer_of(pull)->cma);
    nof_shm_pull_forget(op);
    op->phase = NOF_SHM_RECEIVES;
    nof_shm_say_ready(op, theirs, want);
}

/* True: it is no longer one of those that read. */
static bool look(struct nof_shm_pull *pull)
{
    uint64_t told = __atomic_load_n(&pull->board->told, __ATOMIC_ACQUIRE);
    uint64_t end = __atomic_load_n(&pull->board->ready.end, __ATOMIC_ACQUIRE);
    uint64_t bytes = end != 0 && end - 1 < pull->len ? end - 1 : pull->len;
    int rc = take_ready(pull, bytes, end != 0);
    pull->told = rc == LEFT ? told - 1 : told;
    if (rc == LEFT || (rc == 0 && end == 0))
        return false;
    if (rc == -EPERM) {
        have_it_sent(pull);
        return true;
    }
    struct nof_shm_peer *peer = peer_of(pull);
    struct nof_shm_op *op = pull->op;
    struct nof_request *req = op->req;
    int32_t tag = op->tag;
    uint32_t theirs = pull->theirs;
    nof_shm_pull_forget(op);
    nof_shm_op_free(op);
    nof_shm_answer(peer, NOF_SHM_DONE, theirs, rc == -EFAULT);
    nof_chan_count(NOF_CHAN_COUNT_MEMORY_SINGLE_COPIES, rc == 0 && bytes > 0);
    if (rc == 0)
        nof_request_done(req, peer->world_rank, tag, bytes);
    else
        nof_shm_read_failed(req, peer, rc);
    return true;
}

void nof_shm_pull_forget(struct nof_shm_op *op)
{
    struct nof_shm_pull **at = &nof_shm.pulls, *pull = op->pull;
    if (pull == NULL)
        return;
    while (*at != pull)
        at = &(*at)->next;
    *at = pull->next;
    op->pull = NULL;
    free(pull);
}

static bool board_is_right(const struct nof_shm_found *found)
{
    return found->board - 1 < NOF_DELTA_SLOTS && found->unit_log2 <= NOF_DELTA_UNIT_LOG2_MOST &&
           found->len > 0 && (found->len - 1) >> found->unit_log2 < NOF_DELTA_UNITS;
}

bool nof_shm_pull(struct nof_request *req, const struct nof_shm_found *found)
{
    struct nof_shm_peer *peer = found->peer;
    if (!board_is_right(found) || req->streamed || !nof_shm_reads(peer))
        return false;
    struct nof_shm_pull *pull = malloc(sizeof(*pull));
    struct nof_shm_op *op = pull == NULL ? NULL : nof_shm_op_new(NOF_SHM_PULLS, nof_shm_slot_of(peer), req);
    if (op == NULL) {
        free(pull);
        return false;
    }
    op->pull = pull;
    op->tag = found->tag;
    *pull = (struct nof_shm_pull){.op = op,
                                  .next = nof_shm.pulls,
                                  .board = &nof_part_delta(peer->part)[found->board - 1],
                                  .unit_log2 = found->unit_log2,
                                  .theirs = found->op,
                                  .address = found->address,
                                  .len = found->len};
    if (delta_in_of(req) != NULL)
        nof_delta_in_matched(delta_in_of(req), peer->world_rank, found->tag, found->len, found->unit_log2);
    nof_shm.pulls = pull;
    (void)look(pull);
    return true;
}

int nof_shm_pull_look(void)
{
    int n = 0;
    for (struct nof_shm_pull *pull = nof_shm.pulls; pull != NULL;) {
        struct nof_shm_pull *next = pull->next;
        bool news = has_news(pull);
        n += news;
        if (news && look(pull))
            next = nof_shm.pulls; /* whoever heard of its end may have begun and ended others */
        pull = next;
    }
    return n;
}

bool nof_shm_pull_has_news(void)
{
    for (const struct nof_shm_pull *pull = nof_shm.pulls; pull != NULL; pull = pull->next)
        if (has_news(pull))
            return true;
    return false;
}

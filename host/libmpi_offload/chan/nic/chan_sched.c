/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that the NIC runs (nof/program.h). What it does not take, or cannot run now, it declines, and its owner goes
 * through the steps with sends and receives. A program that is not open never is: its owner opens it anew. */
#include <string.h>

#include "chan/nic/chan_nic.h"
#include "delta/delta_watch.h"
#include "base/error.h"
#include "base/wait_board.h"
#include "base/wait.h"

#define ANSWER_COUNTS_NS 1000000000ull /* an older one says nothing of now */

static uint64_t last_handle; /* generation and name */

static bool wanted(void)
{
    /* A program says nothing of where its messages lie: pages may be hidden or guarded there. */
    return !nof_chan_nic.nic_dead && !nof_delta_watch_any() && nof_pmd_runs_collectives(nof_chan_nic.pmd);
}

static bool reach_peers(const struct nof_program_head *head)
{
    const struct nof_program_step *step = (const struct nof_program_step *)(const void *)(head + 1);
    for (uint32_t i = 0; i < head->nsteps; i++)
        if ((step[i].opcode == NOF_STEP_SEND || step[i].opcode == NOF_STEP_RECV) &&
            nof_chan_nic_peer_open(step[i].peer) != MPI_SUCCESS)
            return false;
    return true;
}

static struct nof_desc desc_of(uint8_t opcode, uint64_t handle)
{
    struct nof_desc desc = {.opcode = opcode};
    desc.sched.name = (uint32_t)handle;
    desc.sched.generation = (uint32_t)(handle >> 32);
    return desc;
}

static int open_program(struct nof_chan_program *p, const struct nof_program_head *head, size_t bytes)
{
    if (!reach_peers(head))
        return NOF_ENOENT;
    uint64_t area = nof_chan_nic_area_take(bytes);
    struct nof_chan_nic_op *op = area == 0 ? NULL : nof_chan_nic_op_new(NOF_OP_SCHED_OPEN, NULL);
    if (op == NULL) {
        nof_chan_nic_area_give(area);
        return NOF_EAGAIN;
    }
    p->handle = ++last_handle;
    p->head = head;
    p->open = true;
    p->opening = op;
    op->program = p;
    op->handle = p->handle;
    op->area = area;
    size_t offset = nof_chan_nic_area_offset(area);
    memcpy((char *)nof_pmd_program_area(nof_chan_nic.pmd) + offset, head, bytes);
    struct nof_desc desc = desc_of(NOF_DESC_SCHED_OPEN, p->handle);
    desc.cookie = nof_chan_nic_cookie(op);
    desc.len = bytes;
    desc.sched.base[0] = offset;
    nof_chan_nic_submit(&desc);
    return NOF_OK;
}

static void forget(uint64_t handle)
{
    struct nof_desc desc = desc_of(NOF_DESC_SCHED_FREE, handle);
    nof_chan_nic_submit(&desc);
}

void nof_chan_nic_sched_opened(struct nof_chan_nic_op *op, int status)
{
    if (op->program != NULL) {
        op->program->opening = NULL;
        op->program->open = status == NOF_OK;
        op->program->refused = status;
    } else if (status == NOF_OK) {
        forget(op->handle);
    }
    nof_chan_nic_area_give(op->area);
    nof_chan_nic_op_free(op);
    nof_wait_signal(); /* who waits for the area */
}

void nof_chan_nic_sched_describe(const struct nof_chan_nic_op *op)
{
    const struct nof_program_head *head = op->program->head;
    const struct nof_program_step *step = (const struct nof_program_step *)(const void *)(head + 1);
    for (uint32_t i = 0; i < head->nsteps; i++)
        if (step[i].opcode == NOF_STEP_RECV ||
            (step[i].flags & (NOF_STEP_F_AWAITS | NOF_STEP_F_SENDS)) == NOF_STEP_F_AWAITS)
            nof_board_add_peer(step[i].peer);
}

static bool start_program(struct nof_chan_program *p, uint32_t ctx, int32_t tag, uint32_t number,
                          const uint64_t base[NOF_PROGRAM_BASES])
{
    struct nof_chan_nic_op *op = nof_chan_nic_op_new(NOF_OP_SCHED, NULL);
    if (op == NULL)
        return false;
    op->program = p;
    p->running = true;
    struct nof_desc desc = desc_of(NOF_DESC_SCHED_START, p->handle);
    desc.cookie = nof_chan_nic_cookie(op);
    desc.ctx = ctx;
    desc.tag = tag;
    desc.agreed = p->agreed;
    memcpy(desc.sched.base, base, sizeof(desc.sched.base));
    desc.len = number;
    nof_chan_nic_submit(&desc);
    return true;
}

void nof_chan_nic_sched_asked(struct nof_chan_nic_op *op, const struct nof_comp *comp)
{
    if (comp->handle < NOF_PROGRAM_STEPS_MAX)
        op->program->heard(op->program, NOF_CHAN_ASKED, (int)comp->handle);
}

/* Of a message that is shorter than its step, which had to have all. */
static bool too_short(const struct nof_chan_program *p, const struct nof_comp *comp)
{
    const struct nof_program_step *step = (const struct nof_program_step *)(const void *)(p->head + 1);
    return comp->handle < p->head->nsteps && comp->len < step[comp->handle].len;
}

static int code_of(const struct nof_chan_program *p, const struct nof_comp *comp)
{
    int status = comp->status;
    int32_t peer = comp->peer;
    int32_t rank = peer >= 0 && peer < nof_lib.world_size ? peer : nof_lib.world_rank;
    if (status == NOF_OK)
        return MPI_SUCCESS;
    if (status == NOF_ETRUNC && too_short(p, comp))
        return nof_error(MPI_ERR_COUNT,
                         "%llu bytes came from %s where this rank expects more: the ranks' counts differ",
                         (unsigned long long)comp->len, nof_chan_nic_peer_name(rank));
    if (status == NOF_ETRUNC)
        return nof_error(
            MPI_ERR_TRUNCATE,
            "a message from %s has another length than this rank expects: the ranks' counts differ",
            nof_chan_nic_peer_name(rank));
    if (comp->handle == p->head->nsteps) /* none of its steps: another rank has told */
        return nof_chan_nic_failure_code(status, rank);
    return nof_chan_nic_status_code(status, rank);
}

/* The peer of a step that failed is to blame for being gone or late; of none of its steps, the NIC says whose it was. */
static int whose_failure(const struct nof_chan_program *p, const struct nof_comp *comp)
{
    bool peers = comp->handle >= p->head->nsteps || comp->status == NOF_EPEERDEAD ||
                 comp->status == NOF_ELINKDOWN || comp->status == NOF_ETIMEDOUT;
    return peers && comp->peer >= 0 && comp->peer < nof_lib.world_size ? comp->peer : nof_lib.world_rank;
}

void nof_chan_nic_sched_done(struct nof_chan_nic_op *op, const struct nof_comp *comp)
{
    struct nof_chan_program *p = op->program;
    p->running = false;
    p->status = comp->status;
    p->whose = whose_failure(p, comp);
    nof_chan_nic_op_free(op);
    if (comp->flags & NOF_COMP_F_DECLINED) {
        p->open = p->open && comp->status != NOF_ENOENT;
        p->heard(p, NOF_CHAN_DECLINED, 0);
        return;
    }
    bool found =
        comp->status == NOF_EDISAGREE && (comp->handle < p->head->nsteps || comp->peer == nof_lib.world_rank);
    p->heard(p, found ? NOF_CHAN_DISAGREED : NOF_CHAN_ENDED, code_of(p, comp));
}

void nof_chan_nic_sched_lost(struct nof_chan_nic_op *op, int code)
{
    struct nof_chan_program *p = op->program;
    bool run = op->phase == NOF_OP_SCHED;
    nof_chan_nic_op_free(op);
    if (!run) {
        if (p != NULL)
            p->opening = NULL;
        return;
    }
    p->running = false;
    p->status = NOF_EPEERDEAD;
    p->whose = nof_lib.world_rank;
    p->heard(p, NOF_CHAN_ENDED, code);
}

static void *lend(size_t bytes, uint64_t *address_out)
{
    uint64_t offset;
    void *memory = nof_pmd_bounce_alloc(nof_chan_nic.pmd, bytes, &offset);
    if (memory != NULL)
        *address_out = offset | NOF_BAR_ARENA;
    return memory;
}

static void take_back(uint64_t address)
{
    if (nof_chan_nic.pmd != NULL)
        nof_pmd_bounce_free(nof_chan_nic.pmd, address ^ NOF_BAR_ARENA);
}

static void proceed(struct nof_chan_program *p, uint32_t step, int status)
{
    struct nof_desc desc = desc_of(NOF_DESC_SCHED_CONTINUE, p->handle);
    desc.sched.base[0] = step;
    desc.sched.base[1] = (uint64_t)(int64_t)status;
    nof_chan_nic_submit(&desc);
}

static void cancel(struct nof_chan_program *p, int status, int rank)
{
    struct nof_desc desc = desc_of(NOF_DESC_SCHED_CANCEL, p->handle);
    desc.sched.base[0] = (uint64_t)(int64_t)status;
    desc.sched.base[1] = (uint64_t)rank;
    nof_chan_nic_submit(&desc);
}

void nof_chan_nic_tell_failure(int to, const struct nof_chan_failure *failure)
{
    if (nof_chan_nic.nic_dead || nof_chan_nic.peers[to].dead || nof_chan_nic_peer_open(to) != MPI_SUCCESS)
        return;
    struct nof_desc desc = {
        .opcode = NOF_DESC_COLL_ABORT, .ctx = failure->ctx, .peer = to, .tag = failure->tag};
    desc.len = failure->number;
    desc.agreed = failure->agreed;
    desc.sched.name = (uint32_t)failure->rank;
    desc.sched.base[0] = (uint64_t)(int64_t)failure->status;
    nof_chan_nic_submit(&desc);
}

uint32_t nof_chan_nic_coll_patience_ms(void)
{
    return nof_chan_nic.nic_dead ? 0 : nof_pmd_coll_patience_ms(nof_chan_nic.pmd);
}

uint32_t nof_chan_nic_away_ms(void)
{
    return nof_chan_nic.nic_dead ? 0 : nof_pmd_away_ms(nof_chan_nic.pmd);
}

/* Whether it takes a descriptor that changes nothing. */
bool nof_chan_nic_heard(void)
{
    static uint64_t asked_ns;
    uint64_t now_ns = nof_lib_now_ns();
    if (nof_chan_nic.nic_dead)
        return true;
    if (!nof_pmd_took_all(nof_chan_nic.pmd))
        return false;
    bool heard = now_ns - asked_ns < ANSWER_COUNTS_NS;
    asked_ns = heard ? 0 : now_ns;
    if (!heard)
        nof_chan_nic_submit(&(struct nof_desc){.opcode = NOF_DESC_HINT});
    return heard;
}

static void close_program(struct nof_chan_program *p)
{
    struct nof_chan_nic_op *op = p->opening;
    if (op != NULL)
        op->program = NULL;
    else if (p->open && nof_chan_nic.pmd != NULL && !nof_chan_nic.nic_dead)
        forget(p->handle);
    p->opening = NULL;
    p->open = false;
}

const struct nof_chan_programs nof_chan_nic_programs = {
    .wanted = wanted,
    .open = open_program,
    .start = start_program,
    .lend = lend,
    .take_back = take_back,
    .proceed = proceed,
    .cancel = cancel,
    .close = close_program,
};

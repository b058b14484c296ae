/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/nic/chan_nic.h"
#include "base/wait_board.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nof_private/machine.h"

#include "base/wait.h"
#include "comm/comm.h"

/* Completions per reap: enough to pay for the ring's fences, few enough to stay in L1. */
#define REAP_BURST 32u
/* A queue behind a full ring empties without a wake-up: look again after this. Where ranks outnumber the CPUs each nap is twice the
 * one before, as long as nothing moves: a NIC core that shares its CPU with hundreds of ranks gets to their rings only if they let it. */
#define FULL_RING_NAP_NS (100u * 1000u)
#define NAP_MOST_NS (16u * 1000u * 1000u)
#define CLOSING_NAP_NS 100000000u /* a rank that has died is not waited for */
#define SIMULATED_HOSTS_MAX 1024u
/* A stalled window is widened also when nothing comes. */
#define RETRY_NAP_NS (1000u * 1000u)

static unsigned vain_naps; /* since something moved */

int nof_chan_nic_counter(const char *name, uint64_t *value_out)
{
    enum nof_counter counter;
    if (nof_chan_nic.pmd == NULL || nof_pmd_counter_find(name, &counter) != NOF_OK)
        return -1;
    *value_out = nof_pmd_counter(nof_chan_nic.pmd, counter);
    return 0;
}

uint64_t *nof_chan_nic_library_counts(uint32_t n)
{
    return nof_chan_nic.pmd == NULL ? NULL : nof_pmd_library_counts(nof_chan_nic.pmd, n);
}

static int nic_poll(void)
{
    struct nof_comp comps[REAP_BURST];
    int total = 0, n;
    if (nof_chan_nic.nic_dead)
        return 0;
    uint64_t left = nof_chan_nic.queue_left;
    nof_chan_nic_submit_queued();
    do {
        n = nof_pmd_reap(nof_chan_nic.pmd, comps, REAP_BURST);
        for (int i = 0; i < n && !nof_chan_nic.nic_dead; i++)
            nof_chan_nic_complete(&comps[i]);
        total += n > 0 ? n : 0;
    } while (n == (int)REAP_BURST && !nof_chan_nic.nic_dead);
    if (n < 0) {
        nof_chan_nic_died(nof_pmd_death(nof_chan_nic.pmd));
        return 1;
    }
    if (total > 0 || nof_chan_nic.queue_left != left)
        vain_naps = 0;
    if (total > 0)
        nof_chan_nic_release_flush();
    if (nof_chan_nic.blocked != NULL)
        nof_chan_nic_send_pump();
    if (nof_chan_nic.held_first != NULL)
        nof_chan_nic_release_held();
    if (nof_chan_nic.spill)
        nof_chan_nic_spill_check();
    if (nof_chan_nic.pulls_retry_ns != 0)
        nof_chan_nic_pull_check();
    return total;
}

static uint64_t longer_in_vain(uint64_t first_ns)
{
    uint64_t ns = first_ns << vain_naps;
    if (nof_lib.seated)
        return first_ns;
    if (ns >= NAP_MOST_NS)
        return NAP_MOST_NS;
    vain_naps++;
    return ns;
}

static uint64_t nic_nap_ns(void)
{
    if (nof_chan_nic.queue_count > 0 || nof_chan_nic.nic_dead)
        return longer_in_vain(FULL_RING_NAP_NS);
    /* What is held for want of a word goes when the NIC has won another, of which it says nothing. */
    bool wants_word = nof_chan_nic.held_first != NULL && !nof_chan_nic.spill_ending;
    if (nof_chan_nic.blocked != NULL || nof_chan_nic.pulls_retry_ns != 0 || wants_word)
        return longer_in_vain(RETRY_NAP_NS);
    if (nof_chan_nic.spill)
        return nof_chan_nic_spill_nap_ns();
    return nof_chan_nic.closing ? CLOSING_NAP_NS : UINT64_MAX;
}

static void nic_describe(const struct nof_sched *of)
{
    unsigned looks = NOF_BOARD_LOOKS;
    const struct nof_chan_nic_op *op = nof_chan_nic.active;
    for (; op != NULL && looks > 0; op = op->next_active, looks--) {
        const struct nof_request *req = op->req;
        if (op->phase == NOF_OP_SEND)
            nof_board->sends++;
        if (op->phase == NOF_OP_SCHED && op->program->owner == of)
            nof_chan_nic_sched_describe(op);
        if (req == NULL || req->kind != NOF_REQUEST_RECV)
            continue;
        bool ours = req->owner == NULL && req->on_done == NULL;
        if (ours)
            nof_board->posted++;
        if (of != NULL ? req->owner == of : ours && nof_board->kind == NOF_BOARD_CALL)
            nof_board_add_peer(op->peer);
    }
    if (op != NULL)
        nof_board->unlooked = 1;
    nof_board->unexpected = (uint32_t)nof_chan_claims.nic.waiting.count;
}

static uint32_t bell_count(void)
{
    return nof_pmd_wake_count(nof_chan_nic.pmd);
}

static void bell_sleep(uint32_t seen, uint64_t timeout_ns)
{
    (void)nof_pmd_wait(nof_chan_nic.pmd, seen, timeout_ns);
}

static void bell_ring(void)
{
    nof_pmd_wake(nof_chan_nic.pmd);
}

static const struct nof_wait_bell bell = {.count = bell_count, .sleep = bell_sleep, .ring = bell_ring};

static bool nic_passed(uint64_t *mark)
{
    if (*mark == 0)
        *mark = 1 + nof_chan_nic.queue_left + nof_chan_nic.queue_count;
    return nof_chan_nic.nic_dead || 1 + nof_chan_nic.queue_left >= *mark;
}

static bool sends_waiting(void)
{
    return nof_chan_nic.queue_count > 0 || nof_chan_nic.blocked != NULL;
}

/* Where a rank has died, others may never ask for what they were sent: they are given this long. */
#define FLUSH_DEAD_NS 2000000000u

static bool flush_goes_on(uint64_t began_ns)
{
    return !nof_chan_nic.nic_dead && (nof_chan_nic_dead_member(nof_comm_world()) == MPI_UNDEFINED ||
                                      nof_lib_now_ns() - began_ns < FLUSH_DEAD_NS);
}

static void nic_flush(void)
{
    nof_chan_nic.closing = true;
    struct nof_wait wait = NOF_WAIT_START;
    uint64_t began_ns = nof_lib_now_ns();
    while (sends_waiting() && flush_goes_on(began_ns))
        nof_wait_step(&wait);
    if (!flush_goes_on(began_ns))
        return;
    struct nof_chan_nic_op *op = nof_chan_nic_op_new(NOF_OP_FLUSH, NULL);
    if (op == NULL)
        return;
    uint32_t generation = op->generation;
    struct nof_desc desc = {.opcode = NOF_DESC_FLUSH, .cookie = nof_chan_nic_cookie(op)};
    nof_chan_nic_submit(&desc);
    while (op->generation == generation && flush_goes_on(began_ns))
        nof_wait_step(&wait);
}

static void nic_withdraw(void)
{
    struct nof_wait wait = NOF_WAIT_START;
    nof_chan_nic_send_withdraw();
    while (sends_waiting() && !nof_chan_nic.nic_dead) {
        nof_wait_step(&wait);
        nof_chan_nic_send_withdraw();
    }
}

static void nic_close(void)
{
    nof_wait_at(NULL);
    nof_pmd_detach(nof_chan_nic.pmd);
    nof_chan_nic.pmd = NULL;
}

/* A simulated host has the machine's id and 1 + its number as its own. Programs tell hosts apart by their names: all but
 * the first have one that is not the machine's. */
static void name_host(uint32_t host_id)
{
    uint32_t number = host_id - nof_machine_id() - 1;
    size_t len = strlen(nof_lib.host);
    if (number > 0 && number < SIMULATED_HOSTS_MAX)
        snprintf(nof_lib.host + len, sizeof(nof_lib.host) - len, "-host%u", number);
}

int nof_chan_nic_attach(const struct nof_launch_job *job, const enum nof_channels *way, char *text,
                        size_t text_bytes)
{
    bool several = nof_lib.world_size > 1;
    struct nof_pmd_attach_args args = {
        .socket = job->socket,
        .job_id = job->id,
        .rank = (uint32_t)nof_lib.world_rank,
        .size = (uint32_t)nof_lib.world_size,
        .nic = job->nic,
        .shares = several && way != NULL && *way != NOF_CHANNELS_NIC,
        .shares_as_set = several && way == NULL,
    };
    memcpy(args.job_key, job->key, sizeof(args.job_key));
    if (nof_pmd_attach(&args, &nof_chan_nic.pmd, text, text_bytes) == NOF_OK)
        return 0;
    return errno == ECONNRESET ? NOF_LAUNCH_GONE : -1;
}

bool nof_chan_nic_attached(void)
{
    return nof_chan_nic.pmd != NULL;
}

int nof_chan_nic_open(char *text, size_t text_bytes)
{
    nof_chan_nic.peers = calloc((size_t)nof_lib.world_size, sizeof(*nof_chan_nic.peers));
    if (nof_chan_nic.peers == NULL) {
        snprintf(text, text_bytes, "no memory for %d peers", nof_lib.world_size);
        return -1;
    }
    nof_chan_nic.pulls_most = NOF_CHAN_NIC_PULLS;
    if (nof_chan_nic_polling_open(text, text_bytes) != 0)
        return -1;
    nof_wait_at(&bell);
    nof_chan_nic.identity = nof_pmd_identity(nof_chan_nic.pmd);
    nof_launch_set_host_id(nof_chan_nic.identity->card.host_id);
    name_host(nof_chan_nic.identity->card.host_id);
    return nof_chan_nic_publish_card(text, text_bytes);
}

static void send_or_multicast(struct nof_request *req)
{
    if (req->multicast.group != NULL)
        nof_chan_nic_group_transfer(req);
    else
        nof_chan_nic_send(req);
}

const struct nof_chan nof_chan_by_nic = {
    .name = "nic",
    .programs = &nof_chan_nic_programs,
    .tell_failure = nof_chan_nic_tell_failure,
    .coll_patience_ms = nof_chan_nic_coll_patience_ms,
    .away_ms = nof_chan_nic_away_ms,
    .heard = nof_chan_nic_heard,
    .groups = &nof_chan_nic_groups,
    .delta = &nof_chan_nic_delta,
    .delta_ended = nof_chan_nic_send_ended,
    .nic_of = nof_chan_nic_place_of,
    .send = send_or_multicast,
    .recv = nof_chan_nic_recv,
    .cancel = nof_chan_nic_cancel,
    .cancelling = nof_chan_nic_cancelling,
    .probe = nof_chan_nic_probe,
    .commit = nof_chan_nic_commit,
    .streams = nof_chan_nic_streams,
    .source = {.poll = nic_poll,
               .nap_ns = nic_nap_ns,
               .describe = nic_describe,
               .came = &nof_chan_nic.came,
               .polling = nof_chan_nic_polling},
    .passed = nic_passed,
    .flush = nic_flush,
    .withdraw = nic_withdraw,
    .dead_member = nof_chan_nic_dead_member,
    .close = nic_close,
};

/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/chan.h"

#include "nof/desc.h"

const struct nof_chan *nof_chan_to_all;
const struct nof_chan *nof_chan_short;
struct nof_claims nof_chan_claims;
struct nof_request *nof_chan_probes;
uint64_t nof_chan_counted[NOF_CHAN_COUNT_MAX];
static const struct nof_chan *beside, *both;
static struct nof_chan beside_long; /* the same as `beside`, without a short path */
static enum nof_channels beside_way;
const int32_t *nof_chan_reached;
static const bool *reached_started;
static struct nof_chan_hooks hooks;
static int lost_code = MPI_SUCCESS; /* why nothing comes any more, from anybody */

void nof_chan_use(const struct nof_chan *channel)
{
    nof_chan_to_all = channel;
    nof_wait_add(&channel->source);
}

void nof_chan_use_beside(const struct nof_chan *channel, const int32_t *reaches, const bool *started,
                         enum nof_channels way)
{
    beside = channel;
    beside_long = *channel;
    beside_long.send_now = NULL;
    beside_long.recv_now = NULL;
    beside_way = way;
    nof_chan_reached = reaches;
    reached_started = started;
    bool has_short =
        channel->send_now != NULL && channel->recv_now != NULL && way != NOF_CHANNELS_SINGLE_COPY;
    nof_chan_short = has_short ? channel : NULL;
    nof_wait_add(&channel->source);
}

void nof_chan_use_both(const struct nof_chan *channel)
{
    both = channel;
}

static bool all_beside(const struct nof_group *group)
{
    for (int i = 0; i < group->size; i++)
        if (nof_chan_reached[nof_group_world_rank(group, i)] < 0)
            return false;
    return true;
}

/* Somebody else is. */
static bool one_beside(const struct nof_group *group)
{
    for (int i = 0; i < group->size; i++) {
        int world_rank = nof_group_world_rank(group, i);
        if (world_rank != nof_lib.world_rank && nof_chan_reached[world_rank] >= 0)
            return true;
    }
    return false;
}

const struct nof_chan *nof_chan_choose(const struct nof_comm *comm)
{
    struct nof_comm *chosen = nof_lib_unconst(comm);
    enum nof_channels way = comm->way_said ? comm->way : beside_way;
    bool may = beside != NULL && !comm->by_nic;
    bool all = may && all_beside(comm->group) && (comm->remote == NULL || all_beside(comm->remote));
    chosen->chan = !all ? nof_chan_to_all : way == NOF_CHANNELS_SINGLE_COPY ? &beside_long : beside;
    chosen->mixed = may && !all && one_beside(nof_comm_peers(comm));
    chosen->mixed_short = chosen->mixed && way != NOF_CHANNELS_SINGLE_COPY;
    return chosen->chan;
}

enum nof_channels nof_chan_way(const struct nof_comm *comm)
{
    if (nof_chan_of(comm) == nof_chan_to_all && !comm->mixed)
        return nof_chan_to_all == &nof_chan_by_self ? NOF_CHANNELS_AUTO : NOF_CHANNELS_NIC;
    return comm->way_said ? comm->way : beside_way;
}

const struct nof_chan *nof_chan_of_mixed(const struct nof_comm *comm, int peer)
{
    if (peer == MPI_ANY_SOURCE)
        return both;
    return nof_chan_reached[nof_comm_peer_world(comm, peer)] >= 0 ? beside : nof_chan_to_all;
}

const struct nof_chan *nof_chan_of_coll(const struct nof_comm *comm, int peer, bool started)
{
    const struct nof_chan *channel = nof_chan_of(comm);
    if (!comm->mixed || (started && !reached_started[nof_comm_peer_world(comm, peer)]))
        return channel;
    return nof_chan_of_mixed(comm, peer);
}

void nof_chan_left(struct nof_request *req)
{
    nof_claim_by_nic(&nof_chan_claims, &req->claim);
    if (req->kind != NOF_REQUEST_PROBE)
        return;
    for (struct nof_request **at = &nof_chan_probes; *at != NULL; at = &(*at)->next)
        if (*at == req) {
            *at = req->next;
            return;
        }
}

const char *nof_chan_name(void)
{
    return nof_chan_to_all == NULL ? "" : nof_chan_to_all->name;
}

void nof_chan_commit(struct nof_type *type)
{
    nof_chan_to_all->commit(type);
}

void nof_chan_delta_ended(void)
{
    if (beside != NULL)
        beside->delta_ended();
    if (nof_chan_to_all->delta != NULL)
        nof_chan_to_all->delta_ended();
}

void nof_chan_flush(void)
{
    if (beside != NULL)
        beside->flush();
    nof_chan_to_all->flush();
}

void nof_chan_withdraw(void)
{
    if (beside != NULL)
        beside->withdraw();
    nof_chan_to_all->withdraw();
}

int nof_chan_dead_member(struct nof_comm *comm)
{
    return nof_chan_to_all->dead_member(comm);
}

int nof_chan_dead_member_code(int member, const char *what)
{
    if (member == nof_lib.world_rank && lost_code != MPI_SUCCESS)
        return lost_code;
    return nof_error(MPIX_ERR_PROC_FAILED, "rank %d of MPI_COMM_WORLD is dead: %s", member, what);
}

void nof_chan_close(void)
{
    if (beside != NULL)
        beside->close();
    nof_chan_to_all->close();
}

static void say_no_more(const struct nof_chan *channel, const struct nof_chan_failure *question)
{
    struct nof_request *req = nof_request_internal(NOF_REQUEST_SEND, nof_comm_world(), NULL, 0,
                                                   nof_type_byte(), question->rank, question->tag);
    if (req == NULL)
        return;
    req->ctx = question->ctx;
    req->agreed = NOF_AGREED_NO_MORE;
    req->orphan = true;
    channel->send(req);
}

void nof_chan_say_no_more(const struct nof_chan_failure *question, bool by_nic, bool by_memory)
{
    if (by_nic)
        say_no_more(nof_chan_to_all, question);
    if (by_memory && nof_chan_reached[question->rank] >= 0)
        say_no_more(beside, question);
}

void nof_chan_on_death(void (*heard)(int world_rank, int code))
{
    hooks.on_death = heard;
}

void nof_chan_on_layout_gone(void (*heard)(uint32_t name, uint32_t generation))
{
    hooks.on_layout_gone = heard;
}

void nof_chan_death(int world_rank, int code)
{
    if (hooks.on_death != NULL)
        hooks.on_death(world_rank, code);
}

void nof_chan_layout_gone(uint32_t name, uint32_t generation)
{
    if (hooks.on_layout_gone != NULL)
        hooks.on_layout_gone(name, generation);
}

void nof_chan_on_failure(void (*heard)(const struct nof_chan_failure *failure, int code))
{
    hooks.on_failure = heard;
}

void nof_chan_failure(const struct nof_chan_failure *failure, int code)
{
    if (hooks.on_failure != NULL)
        hooks.on_failure(failure, code);
}

void nof_chan_on_gone(void (*heard)(int world_rank, int status, int code))
{
    hooks.on_gone = heard;
}

void nof_chan_on_lost(void (*heard)(int code))
{
    hooks.on_lost = heard;
}

void nof_chan_gone(int world_rank, int status, int code)
{
    if (hooks.on_gone != NULL)
        hooks.on_gone(world_rank, status, code);
}

void nof_chan_lost(int code)
{
    lost_code = code;
    if (hooks.on_lost != NULL)
        hooks.on_lost(code);
}

bool nof_chan_is_lost(void)
{
    return lost_code != MPI_SUCCESS;
}

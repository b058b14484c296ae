/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/chan.h"

const struct nof_chan *nof_chan_to_all;
static struct nof_chan_hooks hooks;

void nof_chan_use(const struct nof_chan *channel)
{
    nof_chan_to_all = channel;
    nof_wait_add(&channel->source);
}

const char *nof_chan_name(void)
{
    return nof_chan_to_all == NULL ? "" : nof_chan_to_all->name;
}

void nof_chan_commit(struct nof_type *type)
{
    nof_chan_to_all->commit(type);
}

void nof_chan_flush(void)
{
    nof_chan_to_all->flush();
}

void nof_chan_withdraw(void)
{
    nof_chan_to_all->withdraw();
}

int nof_chan_dead_member(struct nof_comm *comm)
{
    return nof_chan_to_all->dead_member(comm);
}

void nof_chan_close(void)
{
    nof_chan_to_all->close();
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

/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/channel.h"

const struct nof_channel *nof_channel_to_all;
static struct nof_channel_hooks hooks;

void nof_channel_use(const struct nof_channel *channel)
{
    nof_channel_to_all = channel;
    nof_wait_add(&channel->source);
}

const char *nof_channel_name(void)
{
    return nof_channel_to_all == NULL ? "" : nof_channel_to_all->name;
}

void nof_channel_commit(struct nof_type *type)
{
    nof_channel_to_all->commit(type);
}

void nof_channel_flush(void)
{
    nof_channel_to_all->flush();
}

void nof_channel_withdraw(void)
{
    nof_channel_to_all->withdraw();
}

int nof_channel_dead_member(struct nof_comm *comm)
{
    return nof_channel_to_all->dead_member(comm);
}

void nof_channel_close(void)
{
    nof_channel_to_all->close();
}

void nof_channel_on_death(void (*heard)(int world_rank, int code))
{
    hooks.on_death = heard;
}

void nof_channel_death(int world_rank, int code)
{
    if (hooks.on_death != NULL)
        hooks.on_death(world_rank, code);
}

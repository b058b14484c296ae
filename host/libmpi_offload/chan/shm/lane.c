/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/shm/lane.h"

void nof_lane_out_init(struct nof_lane_out *out, struct nof_lane *lane)
{
    *out = (struct nof_lane_out){.lane = lane, .next = lane->slot, .number = 1, .room = NOF_LANE_SLOTS};
}

void nof_lane_in_init(struct nof_lane_in *in, struct nof_lane *lane)
{
    *in = (struct nof_lane_in){.lane = lane, .next = lane->slot, .number = 1};
}

uint32_t nof_lane_look(struct nof_lane_out *out)
{
    /* Pairs with the release of pop(): what the consumer has read of the slots lies before. */
    uint32_t taken = __atomic_load_n(&out->lane->head.taken, __ATOMIC_ACQUIRE);
    uint32_t under_way = out->number - 1 - taken; /* more than there are: nonsense, and no room */
    uint32_t room = under_way <= NOF_LANE_SLOTS ? NOF_LANE_SLOTS - under_way : 0;
    out->room = room > out->room ? room : out->room; /* what was free is, whatever is said now */
    return out->room;
}

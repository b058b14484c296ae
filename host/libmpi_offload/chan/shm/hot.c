/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/shm/hot.h"

uint32_t nof_hot_place(struct nof_hot *hot, uint32_t slot, uint32_t messages, uint32_t *leaves_out)
{
    uint32_t place = 0;
    hot->now += messages;
    *leaves_out = NOF_HOT_NONE;
    if (hot->count < NOF_HOT_LANES) {
        place = hot->count++;
    } else {
        for (uint32_t i = 1; i < NOF_HOT_LANES; i++)
            if (hot->now - hot->last[i] > hot->now - hot->last[place])
                place = i;
        if (hot->now - hot->last[place] < NOF_HOT_PATIENCE || hot->now - hot->exchanged < NOF_HOT_PATIENCE)
            return NOF_HOT_NONE;
        *leaves_out = hot->lane[place];
        hot->exchanged = hot->now;
    }
    hot->lane[place] = slot;
    hot->last[place] = hot->now;
    hot->slept[place] = hot->now - 1; /* it has just brought some */
    return place;
}

bool nof_hot_idle(struct nof_hot *hot, uint32_t place)
{
    if (hot->last[place] != hot->slept[place]) {
        hot->slept[place] = hot->last[place];
        hot->sleeps[place] = 0;
    }
    return ++hot->sleeps[place] > NOF_HOT_SLEEPS;
}

uint32_t nof_hot_leave(struct nof_hot *hot, uint32_t place)
{
    uint32_t last = --hot->count;
    if (place == last)
        return NOF_HOT_NONE;
    hot->lane[place] = hot->lane[last];
    hot->last[place] = hot->last[last];
    hot->slept[place] = hot->slept[last];
    hot->sleeps[place] = hot->sleeps[last];
    return hot->lane[place];
}

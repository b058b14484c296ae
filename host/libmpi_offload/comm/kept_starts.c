/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/kept_starts.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 32u /* a power of two, of whole words of bits */

/* In words: the numbers, and the bits. */
static size_t words_of(uint32_t room)
{
    return room + room / 32;
}

static void make_room(struct nof_kept *kept, uint32_t place)
{
    uint32_t room = kept->room == 0 ? FIRST_ROOM : 2 * kept->room;
    uint32_t *more = place < kept->room ? NULL : realloc(kept->begun, words_of(room) * sizeof(*more));
    if (more == NULL)
        return; /* who waits for it is named by `nof status`, as else */
    memset(more + room, 0, room / 32 * sizeof(*more));
    if (kept->room > 0)
        memcpy(more + room, more + kept->room, kept->room / 32 * sizeof(*more));
    memset(more + kept->room, 0xff, (room - kept->room) * sizeof(*more)); /* NOF_KEPT_UNKNOWN */
    kept->begun = more;
    kept->room = room;
}

static uint32_t *bits_of(struct nof_kept *kept, uint32_t place)
{
    return &kept->begun[kept->room + place / 32];
}

uint32_t nof_kept_make(struct nof_kept *kept)
{
    uint32_t place = kept->made++ % NOF_KEPT_MAX;
    make_room(kept, place);
    if (place < kept->room) {
        if ((*bits_of(kept, place) >> place % 32 & 1) != 0)
            return NOF_KEPT_NO_PLACE;
        *bits_of(kept, place) |= 1u << place % 32;
    }
    nof_kept_begins(kept, place, 0);
    return place;
}

void nof_kept_goes(struct nof_kept *kept, uint32_t place)
{
    if (place < kept->room)
        *bits_of(kept, place) &= ~(1u << place % 32);
}

void nof_kept_begins(struct nof_kept *kept, uint32_t place, uint32_t number)
{
    if (place < kept->room)
        kept->begun[place] = number;
}

uint32_t nof_kept_begun(const struct nof_kept *kept, uint32_t place)
{
    return place < kept->room ? kept->begun[place] : NOF_KEPT_UNKNOWN;
}

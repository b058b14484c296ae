/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/kept_starts.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 16u

static void make_room(struct nof_kept *kept, uint32_t place)
{
    uint32_t room = kept->room == 0 ? FIRST_ROOM : 2 * kept->room;
    uint32_t *more = place < kept->room ? NULL : realloc(kept->begun, room * sizeof(*more));
    if (more == NULL)
        return; /* who waits for it is named by `nof status`, as else */
    memset(more + kept->room, 0xff, (room - kept->room) * sizeof(*more)); /* NOF_KEPT_UNKNOWN */
    kept->begun = more;
    kept->room = room;
}

uint32_t nof_kept_make(struct nof_kept *kept)
{
    uint32_t place = kept->made++ % NOF_KEPT_MAX;
    make_room(kept, place);
    nof_kept_begins(kept, place, 0);
    return place;
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

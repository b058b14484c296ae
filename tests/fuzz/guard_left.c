/* SPDX-License-Identifier: BSD-3-Clause */
#include "guard.h"

#include "../unit/leftovers.h"

#define MS 1000000ull

void guard_all_back(struct guard *g)
{
    const char *left = NULL;
    unsigned nic = 0;
    for (unsigned k = 0; k < 60; k++) {
        world_run_for(g->w, 100 * MS);
        left = NULL;
        for (unsigned i = 0; i < g->nics && left == NULL; i++) {
            left = leftovers(world_nic(g->w, i), g->msgs_free[i], g->blocks_free[i]);
            nic = i;
        }
        if (left == NULL)
            break;
    }
    if (left != NULL)
        guard_fail("NIC %u, all closed: %s", nic, left);
    if (world_frames(g->w) > (long)(g->nics * LEFTOVERS_SPARE_FRAMES))
        guard_fail("%ld frames are not back", world_frames(g->w));
}

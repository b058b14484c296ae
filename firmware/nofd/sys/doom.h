/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whom the NIC must fail: found out in the middle of a call of the firmware core, in which nothing can be closed, and
 * done at the end of the turn. NIC core. */
#ifndef NOFD_DOOM_H
#define NOFD_DOOM_H

#include <stdbool.h>

#include "nof/status.h"

/* Of one endpoint. */
struct nofd_doom {
    int reason; /* negative nof_status; 0: it lives */
    bool *any; /* its NIC's: somebody is doomed */
};

/* The first reason counts. */
static inline void nofd_doom_set(struct nofd_doom *doom, int reason)
{
    if (doom->reason == 0)
        doom->reason = reason == NOF_OK ? NOF_EPROTO : reason;
    *doom->any = true;
}

#endif

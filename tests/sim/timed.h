/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a collective takes in virtual time on 16 hosts with links of 100 Mbit/s and buffers of 60 kB, as the tables of the paper have it. */
#ifndef SIM_TIMED_H
#define SIM_TIMED_H

#include <stdio.h>

#include "../check.h"
#include "sim.h"

#define HOSTS 16u
#define RATE_BPS 100000000u

static struct nof_sim_timed measure(enum nof_sim_timed_way way, uint32_t bytes, bool by_nic)
{
    struct nof_sim_timed t = {.hosts = HOSTS,
                              .by_nic = by_nic,
                              .amount = bytes,
                              .times = 5,
                              .rate_bps = RATE_BPS,
                              .buffer_bytes = 60000,
                              .mtu_bytes = 1500};

    nof_sim_run_timed(way, &t);
    if (t.problem[0] != '\0')
        fprintf(stderr, "%u bytes: %s\n", bytes, t.problem);
    check(t.problem[0] == '\0');
    return t;
}

#endif

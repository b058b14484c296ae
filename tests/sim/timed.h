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

static struct nof_sim_timed measure_at(uint64_t rate_bps, uint64_t buffer_bytes, enum nof_sim_timed_way way,
                                       uint32_t bytes, bool by_nic)
{
    struct nof_sim_timed t = {.hosts = HOSTS,
                              .by_nic = by_nic,
                              .amount = bytes,
                              .times = 5,
                              .rate_bps = rate_bps,
                              .buffer_bytes = buffer_bytes,
                              .mtu_bytes = 1500};

    nof_sim_run_timed(way, &t);
    if (t.problem[0] != '\0')
        fprintf(stderr, "%u bytes: %s\n", bytes, t.problem);
    check(t.problem[0] == '\0');
    return t;
}

static inline struct nof_sim_timed measure(enum nof_sim_timed_way way, uint32_t bytes, bool by_nic)
{
    return measure_at(RATE_BPS, 60000, way, bytes, by_nic);
}

#endif

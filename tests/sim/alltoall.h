/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-to-all of many hosts in virtual time: the real core for each, a switch with one output queue a host between. */
#ifndef NOF_SIM_ALLTOALL_H
#define NOF_SIM_ALLTOALL_H

#include <stdbool.h>
#include <stdint.h>

struct nof_sim_alltoall {
    unsigned hosts; /* 2..1024 */
    uint64_t rate_bps; /* of each link */
    uint64_t buffer_bytes; /* of the switch towards each host; 0: no bound */
    uint64_t bytes; /* of each message */
    uint32_t mtu_bytes;
    uint32_t core_ns; /* that a core is charged for each frame, sent or received */
    /* Rounds whose messages a program lets be announced before those before them have left, beside those that its NIC does
     * (NOF_STEP_F_IN_TURN); 0: 1. */
    uint32_t lookahead;
    uint64_t grant_bytes; /* the feature; 0: its default */
    uint64_t skew_ns; /* hosts begin within this time, each somewhere */
    bool compare; /* with rounds between barriers, and with all messages at once and no budget */

    double
        limit_us; /* payload of one host at the rate of its link; the others from when the last host begins */
    double ideal_us, charged_us; /* pairwise, warm: cores that cost nothing, and that are charged */
    double cold_us; /* charged, with handshakes and programs to be opened */
    double barrier_us, unscheduled_us; /* charged, warm */
    double ping_us; /* the slowest message of 8 bytes between two hosts, beside it (charged, warm) */
    double ping_limit_us; /* grant_bytes at the rate of the link, and 1 ms */
    uint64_t drops, barrier_drops, unscheduled_drops; /* frames that found the buffer full, in all runs */
    uint64_t mem_bytes; /* of one core */
    uint64_t digest; /* of all times; beginning with what it was */
    char problem[512]; /* empty: all bytes came */
};

/* NOF_OK, or why a cluster does not start. */
int nof_sim_run_alltoall(struct nof_sim_alltoall *a);

#endif

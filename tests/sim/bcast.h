/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcast to many hosts in virtual time: the real core for each, a switch with one output queue a host between; by
 * multicast, and by a binomial tree that the NICs go through. */
#ifndef NOF_SIM_BCAST_H
#define NOF_SIM_BCAST_H

#include <stdint.h>

struct nof_sim_bcast {
    unsigned hosts; /* 2..256, with the root */
    uint64_t rate_bps; /* of each link */
    uint64_t buffer_bytes; /* of the switch towards each host; 0: no bound */
    uint64_t bytes;
    uint32_t mtu_bytes;
    uint32_t core_ns; /* that a core is charged for each frame, sent or received */
    uint32_t loss_ppm; /* of the frames to each host */
    uint64_t seed;

    double limit_us; /* the bytes at the rate of a link */
    double multicast_us, tree_us; /* until the last host has all; tree: 0 with loss */
    double root_bytes; /* that the root sent by multicast, payload alone, in parts of `bytes` */
    uint64_t frames; /* of the message */
    uint64_t lost; /* frames of the message, at all hosts */
    uint64_t repairs_unicast, repairs_multicast;
    uint64_t acks; /* that came to the root */
    uint64_t drops; /* frames that found the buffer full */
    uint64_t digest; /* of all times; beginning with what it was */
    char problem[512]; /* empty: all bytes came */
};

/* NOF_OK, or why a cluster does not start. */
int nof_sim_run_bcast(struct nof_sim_bcast *b);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcasts and scatters of many hosts on one or more switches, again and again, in virtual time: by a multicast group, and by
 * unicast as the NICs go through the library's schedules. Hosts are the real core's; each takes the next step when the one before has
 * ended. */
#ifndef NOF_SIM_MCAST_H
#define NOF_SIM_MCAST_H

#include <stdbool.h>
#include <stdint.h>

enum nof_mcast_collective { NOF_MCAST_BCAST, NOF_MCAST_SCATTER, NOF_MCAST_SCATTERV };

enum nof_mcast_scheme {
    NOF_MCAST_STATIC, /* the group of all hosts */
    NOF_MCAST_DYNAMIC, /* scatterv: a group of its own for each, told through the static one, formed and closed */
    NOF_MCAST_COMPILED, /* scatterv: a group of its own, opened before */
};

struct nof_sim_mcast {
    enum nof_mcast_collective collective;
    enum nof_mcast_scheme scheme;
    unsigned hosts; /* 3..256, the first of them the root */
    unsigned switches; /* with links between them like the hosts' */
    unsigned receivers; /* of a scatterv, 2..hosts-1 */
    unsigned repeats; /* one after the other */
    uint64_t rate_bps; /* of each link */
    uint64_t buffer_bytes; /* of the switch towards each host; 0: no bound */
    uint64_t bytes; /* of the broadcast; of each block */
    uint32_t mtu_bytes;
    uint32_t core_ns; /* that a core is charged for each frame, sent or received */
    uint32_t loss_ppm; /* of the frames to each host */
    uint32_t multicast; /* enum nof_fabric_multicast: what the switches do */
    uint64_t stream_bytes; /* that the last host but one sends to the last meanwhile, and alone; 0: none */
    uint64_t seed;

    double limit_us; /* what the root has to send, at the rate of a link */
    double multicast_us, tree_us, linear_us; /* of one, the mean; 0: there is none */
    double stream_alone_mbps, stream_mbps;
    double root_bytes; /* that the root multicast, payload alone, in parts of what it had to send */
    uint64_t frames; /* that it had to */
    uint64_t lost; /* frames of these, at all hosts */
    uint64_t repairs, acks; /* of the root: sent again, and come */
    uint64_t drops; /* frames that found a buffer full */
    uint64_t digest; /* of all times; beginning with what it was */
    char problem[512]; /* empty: all bytes came */
};

/* NOF_OK, or why a cluster does not start. */
int nof_sim_run_mcast(struct nof_sim_mcast *m);

#endif

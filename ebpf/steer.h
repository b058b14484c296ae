/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-3-Clause)
 *
 * What the steering program and its readers share: the order of the counters in the per-CPU array
 * map "nof_steer_stats" and the names of the objects. */
#ifndef NOF_STEER_H
#define NOF_STEER_H

#define NOF_STEER_PROG "nof_steer" /* at most 15 characters, as the kernel shows it */
#define NOF_STEER_STATS "nof_steer_stats"
#define NOF_STEER_XSKS "xsks_map" /* the name net_af_xdp of DPDK looks for */
#define NOF_STEER_PORT 48620 /* UDP, NOF_WIRE_UDP_PORT */
#define NOF_STEER_VERSION 3 /* NOF_WIRE_VERSION */
#define NOF_STEER_QUEUES 64

/* Frames and bytes are counted under exactly one of these. A frame is ours when it is IPv4, UDP,
 * and its destination port is ours; whatever is not goes to the kernel. */
enum nof_steer_verdict {
    NOF_STEER_TAKEN, /* ours and well formed: given to the queue's AF_XDP socket */
    NOF_STEER_NO_SOCKET, /* ours, but nobody serves the queue: to the kernel */
    NOF_STEER_PASSED, /* not ours: to the kernel */
    NOF_STEER_DROP_SHORT, /* ours, but cut off inside the headers, or IP total length beyond the frame */
    NOF_STEER_DROP_LENGTH, /* UDP length and IP length differ, or the header's length disagrees */
    NOF_STEER_DROP_VERSION, /* a version that we do not speak */
    NOF_STEER_DROP_FRAGMENT, /* the first fragment of a datagram: only sockets send such, and only kernels join them */
    NOF_STEER_DROP_OPTIONS, /* IPv4 options: we never send any */
    NOF_STEER_VERDICTS,
};

/* Value of the map, per CPU. */
struct nof_steer_count {
    unsigned long long frames;
    unsigned long long bytes;
};

#endif

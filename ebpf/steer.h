/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-3-Clause)
 *
 * What the steering program and its readers share: the order of the counters in the per-CPU array
 * map "nof_steer_stats", the names of the objects, and the table of what is known here. */
#ifndef NOF_STEER_H
#define NOF_STEER_H

#define NOF_STEER_PROG "nof_steer" /* at most 15 characters, as the kernel shows it */
#define NOF_STEER_STATS "nof_steer_stats"
#define NOF_STEER_XSKS "xsks_map" /* the name net_af_xdp of DPDK looks for */
#define NOF_STEER_KNOWN "nof_steer_known"
#define NOF_STEER_PORT 48620 /* UDP, NOF_WIRE_UDP_PORT; of core 0, and the next ones of the others */
#define NOF_STEER_CORES 64u
#define NOF_STEER_VERSION 3 /* NOF_WIRE_VERSION */
#define NOF_STEER_QUEUES 64

/* Frames and bytes are counted under exactly one of these. A frame is ours when it is IPv4, UDP,
 * its destination port is that of a core of ours and, where there is a table, its destination address as well or a multicast one;
 * whatever is not goes to the kernel. New ones come last: others read the map. */
enum nof_steer_verdict {
    NOF_STEER_TAKEN, /* ours and well formed: given to the queue's AF_XDP socket */
    NOF_STEER_NO_SOCKET, /* ours, but nobody serves the queue: to the kernel */
    NOF_STEER_PASSED, /* not ours: to the kernel */
    NOF_STEER_DROP_SHORT, /* ours, but cut off inside the headers, or IP total length beyond the frame */
    NOF_STEER_DROP_LENGTH, /* UDP length and IP length differ, or the header's lengths disagree */
    NOF_STEER_DROP_VERSION, /* a version that we do not speak */
    NOF_STEER_DROP_FRAGMENT, /* the first fragment of a datagram: only sockets send such, and only kernels join them */
    NOF_STEER_DROP_OPTIONS, /* IPv4 options: we never send any */
    NOF_STEER_DROP_CONN, /* no path here, living or lately dead, has this connection id */
    NOF_STEER_DROP_HELLO, /* a handshake with another NIC, for example with the daemon that was here before */
    NOF_STEER_DROP_GROUP, /* multicast to a group that was not joined, or something else than its frames */
    NOF_STEER_VERDICTS,
};

/* Value of the map, per CPU. */
struct nof_steer_count {
    unsigned long long frames;
    unsigned long long bytes;
};

/* What one NIC core knows, which writes it while the program reads: an array map of blocks, which "nof_steer_known" holds by
 * the core's number; frames name their core by their port, whatever queue they come on. Block 0 is the head; the ids of
 * block 1, up to the first 0, are those of dead paths that the NIC still answers; behind them every path has a place by the
 * low 16 bits of its id, so the table is never full. Without a table all that is well formed is taken of core 0's, and
 * nothing of the others'. Words are written and read whole. */
#define NOF_STEER_IDS 64u /* of a block */
#define NOF_STEER_PATHS 65536u
#define NOF_STEER_BLOCK_DEAD 1u
#define NOF_STEER_BLOCK_PATHS 2u
#define NOF_STEER_BLOCKS (NOF_STEER_BLOCK_PATHS + NOF_STEER_PATHS / NOF_STEER_IDS)
#define NOF_STEER_GROUPS 62u

struct nof_steer_head {
    unsigned long long nic_id;
    unsigned ip4; /* network byte order */
    unsigned ngroups;
    unsigned group[NOF_STEER_GROUPS]; /* network byte order */
};

union nof_steer_block {
    struct nof_steer_head head;
    unsigned long long id[NOF_STEER_IDS]; /* 0: none */
};

#endif

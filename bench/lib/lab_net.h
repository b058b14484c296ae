/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A switched Ethernet on one machine: N hosts (network namespaces) on one bridge (another one).
 * Host i is the namespace PREFIX-hI with eth0 = 10.9.0.(I+1)/24; offloads are off, so that frames are
 * what travels. A rate limits each switch port towards its host (drop-tail queue) and what the kernel
 * sends from eth0. Frames that an AF_XDP socket sends do not pass eth0's queue: firmware paces itself.
 *
 *   nof_lab_missing() -> nof_lab_up() -> ... -> nof_lab_down()
 *
 * What a link did not use it may send at once later, a burst at most. A burst as long as what is measured makes other MPIs
 * faster than the link; ours pace themselves, and have nothing of it.
 *
 * Names carry our pid, and a process may have several; what a killed run left behind is removed by the next nof_lab_up(). Threads: one. */
#ifndef NOF_BENCH_LAB_NET_H
#define NOF_BENCH_LAB_NET_H

#define NOF_LAB_HOSTS_MAX 32u
#define NOF_LAB_BURST "32kb" /* of links of 1 Gbit/s and more: what late timers need */
#define NOF_LAB_NAME_BYTES 40u

struct nof_lab {
    unsigned nhosts; /* 0: down */
    char host[NOF_LAB_HOSTS_MAX][NOF_LAB_NAME_BYTES];
    char sw[NOF_LAB_NAME_BYTES];
};

/* NULL, or a sentence: why there can be no lab here and what to type. Static storage. */
const char *nof_lab_missing(void);

/* rate: as tc writes it ("1gbit"), NULL: no limit. buffer: of a limited switch port ("60kb"). burst: a
 * frame at least. Returns 0, or -1 after taking down what was up; the sentence is nof_lab_missing()'s business and stderr's. */
int nof_lab_up(struct nof_lab *lab, unsigned nhosts, const char *rate, const char *buffer, const char *burst,
               unsigned mtu_bytes);
/* Puts a limit on a lab without one, or takes it away (rate NULL). */
int nof_lab_limit(const struct nof_lab *lab, const char *rate, const char *buffer, const char *burst);
/* Those of all hosts and of the switch: segmentation, joining, checksums, as real devices have them. Off at first. */
void nof_lab_offloads(const struct nof_lab *lab, int on);
/* A router in the bridge's place: host i is 10.9.I.2/24 and has its way to the others through 10.9.I.1, where switch port pI
 * ends. 0, or -1; nof_lab_down() as ever. */
int nof_lab_route(const struct nof_lab *lab);
void nof_lab_down(struct nof_lab *lab);

#endif

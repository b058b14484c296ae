/* SPDX-License-Identifier: BSD-3-Clause
 *
 * N hosts on a switched network of one rate, with a buffer before each host: a daemon's fabric, or a lab (lab_net.h) with a
 * daemon on each host, and another one of the same kind, without daemons, for other MPIs.
 *
 *   nof_testbed_up() -> nof_testbed_set(), nof_testbed_drops(), nof_our_job_run() (our_job.h), nof_peer_run() (peer_mpi.h)
 *     -> nof_testbed_down()
 *
 * One at a time in a process: its exit and SIGINT, SIGTERM and SIGHUP take it down. Threads: one. */
#ifndef NOF_BENCH_TESTBED_H
#define NOF_BENCH_TESTBED_H

#include <stdbool.h>
#include <stdint.h>

#include "child.h"
#include "lab_net.h"
#include "spawn.h"

struct nof_testbed_config {
    bool lab;
    unsigned hosts; /* 2..NOF_LAB_HOSTS_MAX */
    unsigned ranks_per_host; /* of our jobs; in a lab one */
    uint64_t rate_bps, buffer_bytes;
    unsigned mtu_bytes;
};

struct nof_testbed {
    struct nof_testbed_config config;
    struct nof_lab lab, peers;
    char socket[64]; /* of the daemon, in a lab the same in each host's namespace */
    char nof[NOF_BENCH_PATH_BYTES], log[NOF_BENCH_PATH_BYTES]; /* log: of the daemons */
    struct nof_child nofd[NOF_LAB_HOSTS_MAX];
    unsigned daemons;
};

/* NULL, or a sentence why not: nothing is left then. */
const char *nof_testbed_up(struct nof_testbed *bed, const struct nof_testbed_config *config);
void nof_testbed_down(struct nof_testbed *bed);

/* A feature of all NICs, NAME=VALUE. */
bool nof_testbed_set(const struct nof_testbed *bed, const char *setting);
/* Frames that the switch has dropped since the beginning because a buffer was full; negative if it does not say. */
double nof_testbed_drops(const struct nof_testbed *bed);

#endif

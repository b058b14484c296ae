/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many frames, and payload in them, host 0 of a testbed has sent when its rank gives a cue: in a lab, captured at its port of
 * the switch; on a fabric, what its NIC has counted. The rank makes the file PATH.N, N = 0, 1, ..., and goes on when it is gone: then all
 * that it had sent before has been seen.
 *
 *   nof_capture_begin() -> the job -> nof_capture_end()
 *
 * Threads: one, and one of its own meanwhile. */
#ifndef NOF_BENCH_CAPTURE_H
#define NOF_BENCH_CAPTURE_H

#include <pthread.h>
#include <semaphore.h>

#include "testbed.h"

#define NOF_CAPTURE_CUES 64u

struct nof_capture_count {
    double frames, bytes; /* bytes: of payload: of messages (nof), of TCP */
};

struct nof_capture {
    char path[NOF_BENCH_PATH_BYTES]; /* of cues, without the number */
    unsigned cues; /* that were given */
    struct nof_capture_count at[NOF_CAPTURE_CUES];
    /* The thread's. */
    const struct nof_testbed *bed;
    const struct nof_lab *lab; /* NULL: the fabric's counters */
    struct nof_capture_count now;
    uint64_t last_ns; /* when the last frame was seen */
    int fd;
    bool failed, over;
    sem_t ready;
    pthread_t thread;
};

/* lab: which of the bed's, NULL on a fabric. NULL, or a sentence why not. */
const char *nof_capture_begin(struct nof_capture *c, const struct nof_testbed *bed,
                              const struct nof_lab *lab);
void nof_capture_end(struct nof_capture *c);

#endif

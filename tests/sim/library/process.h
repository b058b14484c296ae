/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Simulated processes: each runs an image (seam.h) on a stack of its own, with the rings, the staging area and the
 * memory of one endpoint. One runs at a time, from an event of the cluster until it waits; when it goes on is drawn.
 *
 *   nof_processes_create() -> nof_cluster_run() until nof_processes_ended() -> nof_processes_destroy() */
#ifndef NOF_SIM_LIBRARY_PROCESS_H
#define NOF_SIM_LIBRARY_PROCESS_H

#include "cluster.h"
#include "program.h"
#include "rng.h"
#include "seam.h"

struct nof_processes;

struct nof_processes_config {
    unsigned nnics; /* rank r is at NIC r % nnics, or: */
    bool in_blocks; /* as many neighbours at each as there are, the first have one more */
    const char *coll_table; /* the library's, as a text; NULL: its own alone */
    uint64_t seed;
    uint64_t job_id;
    uint8_t job_key[NOF_JOB_KEY_BYTES];
    uint32_t submit_slots, complete_slots;
    uint32_t staging_bytes, bounce_bytes, bounce_max_bytes;
    uint32_t program_area_bytes; /* 0: a small one */
    uint32_t spin_us;
    unsigned dma_inline_percent; /* of the ranks */
    unsigned dma_late_percent;
    bool near_wrap; /* the library's numbers, too */
    char *delta,
        *delta_size; /* as in seam.h; then all processes have boards of delta messages. NULL: three of four */
    uint32_t
        sees_ns; /* from a completion to the process that looks for it; 0: drawn, and what a poll costs, too */
    unsigned doze_permille; /* of the reaps: the process is not scheduled for a while */
};

/* NULL with a sentence in text when the images cannot be loaded. Program and cluster stay the caller's. */
struct nof_processes *nof_processes_create(struct nof_cluster *c, const struct nof_processes_config *cfg,
                                           struct nof_program *program, char *text, size_t text_bytes);
void nof_processes_destroy(struct nof_processes *ps);

/* All have come to the end of their programs. */
bool nof_processes_ended(void *processes);
/* From now on nothing is late any more. */
void nof_processes_heal(struct nof_processes *ps);
const struct nof_seam *nof_process_seam(const struct nof_processes *ps, unsigned rank);
bool nof_process_ended(const struct nof_processes *ps, unsigned rank);
/* Changes with everything that any of them was told. */
uint64_t nof_processes_digest(const struct nof_processes *ps);

#endif

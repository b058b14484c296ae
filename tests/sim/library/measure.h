/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What takes how long in virtual time: the MPI library itself on each rank, over NICs whose cores' work takes time. All
 * ranks take one step and write into the program what it took. */
#ifndef NOF_SIM_LIBRARY_MEASURE_H
#define NOF_SIM_LIBRARY_MEASURE_H

#include "cluster.h"
#include "program.h"

#define NOF_MEASURE_FEATURES 2 /* at most */

struct nof_measure {
    unsigned hosts, ranks;
    bool in_blocks; /* neighbours share a host; else dealt round */
    bool by_nic; /* who goes through collectives */
    const char *table; /* of algorithms, a text; NULL: none */
    struct nof_step step;
    struct nof_increments *increments; /* or NULL */
    struct nof_program_replay *replay; /* or NULL */
    char *delta, *delta_size; /* as in seam.h */
    uint32_t spin_us; /* that a process polls before it sleeps; 0: it never sleeps */
    struct nof_fabric_link link;
    uint32_t mtu_bytes;
    /* Beside compression, which is off: */
    struct {
        enum nof_feature number;
        uint64_t value;
    } feature[NOF_MEASURE_FEATURES];
    unsigned nfeatures;
};

/* Calls `take` when all have ended; else `problem`, which is empty before, says why not. */
void nof_measure_run(const struct nof_measure *m,
                     void (*take)(struct nof_cluster *c, const struct nof_program *p, void *answer),
                     void *answer, char *problem, size_t problem_bytes);

#endif

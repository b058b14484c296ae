/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the library may choose between, and what a collective takes with one of them. */
#ifndef SIM_ALGORITHMS_H
#define SIM_ALGORITHMS_H

#include <stdio.h>

#include "../check.h"
#include "nof_private/coll_counts.h"
#include "sim.h"

/* The best, at most, is what is chosen. A broadcast to two others of 32 KiB takes 18 % longer by the tree than round a ring where each
 * has a CPU, as here, and half as long or less where they have not: the tree it is. */
#define BEHIND 1.2

static const struct {
    const char *collective, *name;
} algorithms[] = {
#define X(id, collective, name, help) {collective, name},
    NOF_ALGORITHMS(X)
#undef X
};
enum { ALGORITHMS = sizeof(algorithms) / sizeof(algorithms[0]) };

static struct nof_sim_overlap measure(struct nof_sim_overlap_config config, const char *table)
{
    struct nof_sim_overlap result;
    config.table = table;
    nof_sim_run_overlap(&config, &result);
    if (result.problem[0] != '\0')
        fprintf(stderr, "%s: %s\n", result.collective, result.problem);
    check(result.problem[0] == '\0');
    return result;
}

#endif

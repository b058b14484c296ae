/* SPDX-License-Identifier: BSD-3-Clause */
/* What lies at an address of this process: the kernel is asked (PROCMAP_QUERY, Linux 6.11), or the text of all mappings is read.
 *
 * Everything here may be called by a signal handler, by any thread. */
#ifndef NOF_MPI_DELTA_MAPS_H
#define NOF_MPI_DELTA_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#define NOF_DELTA_PAGE ((uintptr_t)4096)

struct nof_delta_mapping {
    uintptr_t start, end;
    bool usable; /* can be read and written */
    bool readable;
    bool
        own; /* private memory without a file, of pages of that size, no stack and no code, which could not be run afterwards */
};

/* Again in the child of a fork(): until then it is told of its parent's. False: there is no /proc. */
bool nof_delta_maps_open(void);
/* False: nothing lies there. */
bool nof_delta_maps_ask(uintptr_t address, struct nof_delta_mapping *found);
/* What of each mapping lies in [low, high), in ascending order, until `look` is false; the text is read once. `look` may protect the pages
 * of its part: that makes one mapping of several, or several of one, of which no other page is told wrong. It waits for nobody, signals
 * may be blocked.
 * False: `look` was, or there is a gap; what lies behind a gap is looked at. */
bool nof_delta_maps_each(uintptr_t low, uintptr_t high,
                         bool (*look)(void *arg, const struct nof_delta_mapping *part), void *arg);

#endif

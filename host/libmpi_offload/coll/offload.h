/* SPDX-License-Identifier: BSD-3-Clause */
/* Who goes through the steps of a schedule: the NIC, where it can and feature "collectives" says so, else the host. Each
 * rank may choose for itself, each time: the others see the same messages.
 *
 *   open() -> start() -> [ask() -> the channel's proceed()] ... -> ended() or declined() -> open() ... -> close()
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_OFFLOAD_H
#define NOF_MPI_OFFLOAD_H

#include "chan/chan.h"
#include "coll/compile.h"
#include "coll/program_cache.h"
#include "coll/steps/near.h"
#include "nof_private/coll_counts.h"

enum nof_driver {
#define X(id, name, help) NOF_DRIVER_##id,
    NOF_DRIVERS(X)
#undef X
        NOF_DRIVER_COUNT
};

/* What a schedule has that the NIC has been asked to run. */
struct nof_offload {
    const struct nof_chan_programs *nic;
    struct nof_cached_program
        *open; /* until the run has ended, of a persistent one until it is freed; NULL: none */
    bool again; /* this run: the NIC had no room, and is asked once more */
    enum nof_compiled compiled;
    struct nof_image image;
    struct nof_near near; /* of this run */
    uint16_t *asked; /* steps that the NIC asks its host for, in order: of this run, none twice */
    uint32_t asked_count;
    uint32_t asked_at; /* the next one to be done */
};

/* The NIC shall go through it, and its program is there or on its way: s->offload, which the schedule has from the first
 * time on. NULL: the host shall. */
struct nof_offload *nof_offload_open(struct nof_sched *s);
/* Its steps are the NIC's now. False: no memory. */
bool nof_offload_start(struct nof_sched *s,
                       void (*heard)(struct nof_chan_program *p, enum nof_chan_news news, int value));
/* The NIC has declined it. True: it is asked once more, because there is room now; never after an error. */
bool nof_offload_declined(struct nof_sched *s);
/* It has run. Where that failed the NIC may still have messages of it under way. */
void nof_offload_ended(struct nof_sched *s, bool good);
static inline bool nof_offload_runs(const struct nof_offload *offload)
{
    return offload->open != NULL && offload->open->program.running;
}
/* offload may be NULL. */
void nof_offload_close(struct nof_offload *offload);

/* A step that the NIC asked for is done. */
void nof_offload_proceed(struct nof_offload *offload, uint32_t step, int status);
/* The NIC asks for a step of the program. */
void nof_offload_ask(struct nof_offload *offload, int step);

void nof_driver_count(enum nof_driver driver);
/* How many so far. */
extern uint64_t nof_driver_counted[NOF_DRIVER_COUNT] __attribute__((visibility("hidden")));

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The seam between the simulator and the MPI library. The library keeps its state in variables of the process, so each
 * simulated process has an *image*: a private copy of a shared object made of the library's own object files, as they
 * are, and of what stands below them in a real process, replaced:
 *
 *   in the image (tests/sim/library/)     for
 *   image_process.c                       libc: heap, clock, environment, exit
 *   image_driver.c                        host/pmd_driver.h: descriptors go to the simulated core
 *   image_launch.c                        launch.h: the launcher is the simulator
 *   image_pages.c                         delta/delta_pages.h, delta_hold.h, delta_fault.h: pages that are protected
 *   image_program.c                       the MPI program: steps that were drawn (program.h)
 *
 * All that an image wants of the simulator it asks through struct nof_process. A process runs on a stack of its own, one
 * at a time, and gives the processor back where it waits (process.c): nothing is left to chance. */
#ifndef NOF_SIM_LIBRARY_SEAM_H
#define NOF_SIM_LIBRARY_SEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nof/bar.h"
#include "nof/counters.h"
#include "nof/delta.h"
#include "nof/desc.h"

struct nof_program;
struct nof_process;

#define NOF_SEAM_VALUE_BYTES 512

/* The job's key begins with who goes through collectives; any other byte, modulo 4: sometimes the one, sometimes the other. */
enum { NOF_SIM_BY_HOST = 0, NOF_SIM_BY_NIC = 1 };

struct nof_seam_ops {
    /* Of a heap of their own (heap.h). release(NULL) is fine. */
    void *(*alloc)(size_t bytes);
    void (*release)(void *mem);
    uint64_t (*now_ns)(const struct nof_process *p);
    /* Does not look at completions for so long. */
    void (*nap)(struct nof_process *p, uint64_t for_ns);
    int (*attach)(struct nof_process *p, const uint8_t job_key[NOF_JOB_KEY_BYTES], uint64_t job_id);
    void (*detach)(struct nof_process *p);
    unsigned (*submit)(struct nof_process *p, const struct nof_desc *descs, unsigned n);
    /* Time passes when there is nothing. */
    unsigned (*reap)(struct nof_process *p, struct nof_comp *comps, unsigned n);
    /* Until a completion may be there or the time is over; UINT64_MAX: no limit. */
    void (*wait)(struct nof_process *p, uint64_t timeout_ns);
    /* The NIC looks at the boards of delta messages; until an arrival has changed, or the time is over. */
    void (*ring)(struct nof_process *p);
    void (*wait_arrival)(struct nof_process *p, uint64_t timeout_ns);
    void (*put)(struct nof_process *p, const char *key, const char *value);
    void (*fence)(struct nof_process *p);
    int (*get)(struct nof_process *p, const char *key, char value[NOF_SEAM_VALUE_BYTES]);
    /* A rule is broken; the process goes on. */
    void (*fail)(struct nof_process *p, const char *text);
    /* The process ends itself in disorder: a violation, and the last of it. */
    void (*die)(struct nof_process *p, const char *text);
    void (*trace)(struct nof_process *p, const char *text);
    /* The process is killed in so long. */
    void (*doom)(struct nof_process *p, uint64_t in_ns);
    /* Draws for the program: 0..n-1. */
    uint64_t (*draw)(struct nof_process *p, uint64_t n);
};

/* What the image may read; the rest is the simulator's. */
struct nof_seam {
    const struct nof_seam_ops *ops;
    struct nof_program *program;
    struct nof_process *process;
    int rank, size;
    uint32_t spin_us;
    const char *coll_table; /* of algorithms; NULL: none */
    char *delta, *delta_size; /* NOF_DELTA, NOF_DELTA_SIZE; NULL: not set */
    bool killed;
    bool near_wrap; /* numbers of the library that wrap begin just before they do */
    uint64_t job_id;
    uint8_t job_key[NOF_JOB_KEY_BYTES];
    struct nof_bar_identity identity; /* from attach() on */
    uint8_t *staging, *bounce;
    void *program_area;
    struct nof_delta_host *delta_host; /* NULL, both: none */
    struct nof_delta_nic *delta_nic;
    uint64_t counters[NOF_COUNTER_COUNT]; /* of its endpoint */
    uint64_t submitted; /* descriptors so far */
    /* What the image reports. */
    bool spilling; /* the library matches for the NIC */
    size_t heap_bytes, heap_peak_bytes; /* of the library and the program */
};

/* The one name that an image exports: a process from begin to end; once more with `killed` when it was: what is left of its
 * memory is given back. */
typedef void nof_image_main_fn(struct nof_seam *seam);
#define NOF_IMAGE_MAIN "nof_image_main"

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two NICs back to back for counting instructions: frames pass by reference, DMA copies nothing,
 * completions are only counted. Whatever costs here is not the core's.
 *
 * Entry points of the measured side are called through nof_callgrind_measured(). */
#ifndef NOF_BENCH_CORE_PAIR_H
#define NOF_BENCH_CORE_PAIR_H

#include <stdint.h>

#include "nof/core.h"

#define NOF_PAIR_FRAMES 4096
#define NOF_PAIR_STAGED 1024

struct nof_pair_frame {
    struct nof_frame frame; /* first: this is what the core knows of it */
    unsigned refs;
    struct nof_pair_frame *next;
};

struct nof_pair_side {
    struct nof_nic *nic;
    void *mem;
    struct nof_frame *inbox[NOF_PAIR_FRAMES]; /* frames from the other side, in order */
    unsigned ninbox;
    uint32_t endpoint;
    struct nof_card card;
    uint8_t *staging;
    uint64_t completions[64]; /* by opcode */
    uint64_t errors; /* completions with a status */
    uint32_t staged[NOF_PAIR_STAGED]; /* offsets to release */
    unsigned nstaged;
    uint32_t mtu_bytes;
    void (*on_completion)(void *ctx, const struct nof_comp *comp); /* or NULL */
    void *ctx;
    struct nof_pair *pair;
};

struct nof_pair {
    struct nof_pair_side side[2];
    int measured; /* side whose calls are counted; -1: none */
    uint64_t now_ns;
    struct nof_pair_frame *free;
    void *pool;
};

/* cfg: bounds of both; identity is filled in. 0, or -1 if memory is missing. */
int nof_pair_init(struct nof_pair *p, const struct nof_nic_config *cfg);
void nof_pair_fini(struct nof_pair *p);
void nof_pair_host(struct nof_pair *p, int side, const struct nof_desc *descs, unsigned n);
/* Deliver what is on the wire (at most `burst` frames per call) and run what is due, until both have
 * nothing to do; then let `step_ns` pass. */
void nof_pair_turn(struct nof_pair *p, unsigned burst, uint64_t step_ns);
/* Give back the staging slots that the completions named. */
void nof_pair_release(struct nof_pair *p, int side);

#endif

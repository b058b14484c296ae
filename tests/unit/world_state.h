/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside a world: shared by world.c and world_save.c alone. */
#ifndef NOF_TESTS_WORLD_STATE_H
#define NOF_TESTS_WORLD_STATE_H

#include "world.h"

#define FRAME_CAP 9300u

#if defined(__SANITIZE_ADDRESS__)
#define WORLD_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WORLD_ASAN
#endif
#endif
#ifdef WORLD_ASAN
#include <sanitizer/asan_interface.h>
#define forbid(at, bytes) ASAN_POISON_MEMORY_REGION(at, bytes)
#define allow(at, bytes) ASAN_UNPOISON_MEMORY_REGION(at, bytes)
#else
#define forbid(at, bytes) ((void)0)
#define allow(at, bytes) ((void)0)
#endif

/* Buffers and events are used again and again: a world that is run thousands of times a second asks for no memory
 * then. What is free is forbidden to touch. */
struct wire_frame {
    struct nof_frame frame; /* first: the port's buffer object */
    struct wire_frame *next; /* free ones */
    struct wire_frame *every; /* all there are */
    int held; /* at world_save() */
    struct nof_frame as_saved;
    uint8_t bytes[FRAME_CAP];
};

struct event { /* of the wire, or a copy that is under way */
    uint64_t at;
    unsigned nic;
    uint32_t len;
    struct wire_frame *frame; /* wire */
    uint64_t token; /* DMA */
    uint32_t endpoint;
    int write;
    int status; /* how the copy ends */
    unsigned nseg, nbuf;
    struct nof_segment seg[NOF_DMA_SEGMENTS_MAX];
    struct nof_buf buf[NOF_DMA_SEGMENTS_MAX];
    struct event *next;
};

struct port {
    struct world *w;
    unsigned nic;
};

/* What world_restore() goes back to. */
struct saved {
    uint64_t now, rng;
    long frames;
    uint8_t *all; /* in which these lie: */
    size_t all_bytes;
    uint8_t *mem[WORLD_NICS];
    struct world_rank rank[WORLD_RANKS];
    uint8_t *bytes[WORLD_RANKS]; /* arena, staging, bounce and program area of a rank */
};

struct world {
    struct world_config cfg;
    uint64_t now;
    uint64_t rng;
    struct nof_nic *nic[WORLD_NICS];
    void *mem[WORLD_NICS];
    size_t mem_bytes[WORLD_NICS];
    struct port port[WORLD_NICS];
    int cut[WORLD_NICS];
    int deaf[WORLD_NICS];
    int joined[WORLD_NICS];
    struct world_rank rank[WORLD_RANKS];
    unsigned ranks; /* none from here on was ever opened */
    struct event *wire, *wire_tail, *dma, *dma_tail, *spare;
    struct wire_frame *free, *every;
    struct saved *saved;
    uint64_t restores;
    struct world_fault fault;
    uint64_t counted;
    unsigned steps; /* since time has passed */
    long frames;
};

void world_buffer_give(struct world *w, struct wire_frame *f);
void world_event_give(struct world *w, struct event *e);
/* What is on the wire, and copies that are under way. */
void world_forget_events(struct world *w);
void world_free_saved(struct world *w);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small world for tests of the core above the transport: up to four NICs on a wire with delay and
 * loss, hosts in this process's memory, virtual time. Everything that happens is a function of the
 * calls made and the seed.
 *
 *   world_init() -> world_open() per rank -> world_post() -> world_run() -> world_take()
 *
 * Faults: world_fault() makes the k-th call of the named port or host operations fail. */
#ifndef NOF_TESTS_WORLD_H
#define NOF_TESTS_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nof/core.h"

#define WORLD_NICS 4
#define WORLD_RANKS 16
#define WORLD_ARENA (8u << 20) /* bytes of memory that a rank's DMA may touch, if the test does not say */
#define WORLD_AREA (64u << 10)
#define WORLD_PAGE 4096u

enum world_op { WORLD_ALLOC, WORLD_SEND, WORLD_READ, WORLD_WRITE, WORLD_COMPLETE, WORLD_GROUP, WORLD_OPS };

enum world_how {
    WORLD_BUSY, /* no frame, nothing sent, NOF_EAGAIN, ring full */
    WORLD_SHORT, /* half of the frames are sent; else as BUSY */
    WORLD_BROKEN, /* DMA: NOF_EFAULT at once; else as BUSY */
    WORLD_LATE, /* DMA that may be pending: NOF_EFAULT in the end; else as BROKEN */
    WORLD_GONE, /* as LATE, but NOF_EPEERDEAD: the process is gone */
};

struct world_fault {
    unsigned ops; /* bits 1 << enum world_op: these calls are counted */
    uint64_t at; /* the call with this number fails, from 1 on; 0: none */
    uint64_t count; /* and so many in all */
    enum world_how how;
};

/* What becomes of a DMA request. */
enum world_dma {
    WORLD_DMA_DO,
    WORLD_DMA_BUSY, /* NOF_EAGAIN */
    WORLD_DMA_BROKEN, /* NOF_EFAULT, at once */
    WORLD_DMA_FAILS, /* NOF_EFAULT in the end, if it may be pending */
    WORLD_DMA_NEVER, /* if it may be pending, it ends with world_dma_give_up() */
};

/* Who looks at everything that passes between core, wire and hosts; called from within the core. */
struct world_watch {
    /* A NIC sends. 1: it is taken off the wire. */
    int (*frame)(void *ctx, unsigned nic, const uint8_t *bytes, uint32_t len);
    enum world_dma (*dma)(void *ctx, unsigned rank, int write, const struct nof_segment *seg, unsigned nseg,
                          const struct nof_buf *buf, unsigned nbuf);
    void (*comp)(void *ctx, unsigned rank, const struct nof_comp *comp);
    /* The NIC is about to ask for a claim; it has. Or NULL. */
    void (*claim_comes)(void *ctx, unsigned rank, uint32_t slot, uint32_t generation);
    void (*claim)(void *ctx, unsigned rank, uint32_t slot, uint32_t generation, bool won);
    /* Memory of the port or of a failed read: fill it with whatever may have been there. */
    void (*stale)(void *ctx, uint8_t *at, size_t bytes);
};

struct world_rank {
    int open;
    int closing; /* world_close() was called; what comes afterwards is a fault, but ends of DMA requests */
    unsigned nic, job_rank;
    uint32_t endpoint;
    struct nof_card card;
    uint8_t *arena;
    uint64_t touched[WORLD_ARENA / WORLD_PAGE /
                     64]; /* pages of it that were written since world_save(), as bits */
    size_t staging_bytes;
    uint8_t *staging;
    uint8_t *bounce;
    uint8_t *program_area;
    size_t program_used; /* bytes of it that world_write_program() has reached since world_save() */
    struct nof_delta_host *delta_host; /* boards of delta messages, if the world has them */
    struct nof_delta_nic *delta_nic;
    int delta_used; /* something may stand in them; who writes there without a descriptor says so */
    struct nof_claim_words claims; /* the NIC takes them by nof_host_ops.claim */
    uint64_t counters[NOF_COUNTER_COUNT];
    struct nof_comp *comps;
    unsigned ncomps, comps_cap, next; /* next: first one that world_take() has not given */
    unsigned ring_slots; /* completions that fit; 0: no limit */
    unsigned ring_used;
    int failed; /* endpoint_failed() status */
    int dma_stuck; /* requests never end */
    unsigned dma_pending; /* requests */
    struct nof_desc *backlog; /* descriptors that wait for host_room */
    unsigned nbacklog, backlog_cap, backlog_next;
};

struct world_config {
    unsigned nics;
    uint32_t mtu;
    int dma_inline;
    int dma_read_late; /* with dma_inline: reads are pending and give CRCs, writes are not */
    unsigned loss_percent;
    uint64_t seed;
    size_t staging_bytes; /* [256 KiB]; SIZE_MAX: none */
    int delta; /* ranks have boards of delta messages */
    size_t arena_bytes; /* [WORLD_ARENA] */
    size_t area_bytes; /* bounce arena, and program area [WORLD_AREA] */
    size_t program_bytes; /* program area [area_bytes] */
    const struct world_watch *watch; /* or NULL */
    void *ctx; /* its */
    struct nof_nic_config nic; /* bounds; identity is filled in */
};

struct world;

struct world *world_init(const struct world_config *cfg);
void world_fini(struct world *w); /* checks that every frame came back */
struct world_rank *world_rank(struct world *w, unsigned rank);
struct nof_nic *world_nic(struct world *w, unsigned nic);
uint64_t world_now(const struct world *w);

/* Open rank `rank` of `size` (job 7) on a NIC; introduce: it gets the cards of all ranks opened
 * before, and they get its. */
void world_open(struct world *w, unsigned nic, unsigned rank, unsigned size);
void world_open_job(struct world *w, unsigned nic, unsigned rank, unsigned job_rank, unsigned size,
                    uint64_t job);
/* The same where it may be refused. */
int world_try_open(struct world *w, unsigned nic, unsigned rank, unsigned job_rank, unsigned size,
                   uint64_t job);
void world_introduce(struct world *w, unsigned rank, unsigned to, unsigned to_job_rank);
void world_close(struct world *w, unsigned rank, int reason);
/* Submit, or queue until there is room. */
void world_post(struct world *w, unsigned rank, const struct nof_desc *desc);
void world_send(struct world *w, unsigned rank, int peer, int tag, const void *buf, uint64_t len,
                uint64_t cookie);
void world_recv(struct world *w, unsigned rank, int peer, int tag, void *buf, uint64_t len, uint64_t cookie);

/* Run until nothing happens any more, or for this long. */
void world_run(struct world *w);
void world_run_for(struct world *w, uint64_t ns);
/* No NIC has a turn for so long, and all are told so. */
void world_absent(struct world *w, uint64_t ns);
/* The next completion of a rank, or NULL. */
const struct nof_comp *world_take(struct world *w, unsigned rank);
/* The next one must have this opcode and cookie. */
const struct nof_comp *world_expect(struct world *w, unsigned rank, int opcode, uint64_t cookie);
/* The same, perhaps behind a PEER_DEAD: it failed because this peer died. */
void world_expect_dead(struct world *w, unsigned rank, int opcode, uint64_t cookie, int peer);
/* Payload bytes of a receive, wherever they are; releases a staging slot. */
const uint8_t *world_payload(struct world *w, unsigned rank, const struct nof_comp *comp, const void *buf);

void world_fault(struct world *w, const struct world_fault *fault); /* counting begins at 0 */
uint64_t world_counted(const struct world *w);
long world_frames(const struct world *w); /* of the port, in the core's hands */
void world_deaf(struct world *w, unsigned nic, bool deaf); /* it gets no frame for a group address */
int world_joined(const struct world *w, unsigned nic); /* groups that it has joined */
void world_cut(struct world *w, unsigned nic, bool cut); /* frames of this NIC vanish */
/* Does a pending request read, or write, one of these bytes of a rank? */
bool world_dma_touches(const struct world *w, unsigned rank, int write, const void *at, uint64_t bytes);
/* All pending requests end now, those that never would with NOF_EFAULT. */
void world_dma_give_up(struct world *w);

/* Keep a world in which all is quiet and every completion was taken; later go back there, as often as wanted, with the
 * same addresses. */
void world_save(struct world *w);
void world_restore(struct world *w);
/* What a host writes there. Who wants to go back writes so, and not into the bounce arena. */
void world_write_program(struct world *w, unsigned rank, size_t at, const void *bytes, size_t n);
/* Who writes into a rank's arena, other than by DMA, and wants to go back says so. */
void world_touch(struct world *w, unsigned rank, const void *at, uint64_t bytes);
/* Bytes that a test puts on the wire itself: hands a frame to a NIC. */
void world_inject(struct world *w, unsigned nic, const uint8_t *bytes, uint32_t len);

#endif

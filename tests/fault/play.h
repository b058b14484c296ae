/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A script of operations, and the small MPI library that runs it on the toy world: gives staging slots back,
 * sends again what was parked, matches what was spilled, and checks every completion and every byte.
 *
 *   play_begin() -> play_send() / play_recv() / ... -> play_settle() -> ... -> play_end()
 *
 * An operation is named by its index, which is also its cookie. A receive names the send that it must get. When a
 * failure may harm a message (`harm`), both of its sides may end with NOF_EFAULT, but those two and no others. */
#ifndef NOF_TESTS_FAULT_PLAY_H
#define NOF_TESTS_FAULT_PLAY_H

#include "../unit/world.h"

#define PLAY_OPS 160
#define PLAY_RANKS 3
#define PLAY_ARENA (5u << 17)
#define PLAY_NONE UINT32_MAX

/* Where the bytes of a message lie in a buffer that is not contiguous. */
struct play_vector {
    uint32_t block, stride, count, extent; /* bytes, blocks */
    uint32_t name; /* of the layout; 0: contiguous */
};

struct play_op {
    unsigned rank;
    uint8_t opcode; /* of the completion that ends it */
    uint8_t done;
    uint8_t parked;
    uint8_t unmatched; /* it is the library's matcher that looks for its message */
    int status;
    int want; /* status without a failure */
    uint32_t pair; /* the send behind it */
    uint64_t len;
    uint8_t *buf;
    const struct play_vector *vector;
    uint32_t slot; /* of a delta message */
    struct nof_desc desc;
    struct nof_comp comp;
};

struct play_spill { /* a message in the library's matcher */
    struct nof_comp comp;
    uint8_t taken;
};

struct play {
    struct world *w;
    const char *name; /* of scenario and failure, for messages */
    unsigned nics;
    int harm;
    unsigned harmed; /* operations that ended otherwise than wanted */
    struct play_op op[PLAY_OPS];
    unsigned nops;
    struct play_spill spill[PLAY_RANKS][PLAY_OPS];
    unsigned nspill[PLAY_RANKS];
    uint64_t nomatches[PLAY_RANKS];
    int spill_end[PLAY_RANKS]; /* status of the last SPILL_END; 1: none */
    int cancelled; /* status of the last CANCEL or SEND_CANCEL; 1: none */
    int closed[PLAY_RANKS];
    size_t used[PLAY_RANKS]; /* bytes of the arena */
    size_t bounced[PLAY_RANKS]; /* bytes of the bounce arena */
    uint32_t msgs_free[2], blocks_free[2]; /* of each NIC, when it was new */
};

struct play_setup {
    unsigned nics; /* ranks 0 and 2 are on the first, rank 1 on the last */
    uint32_t mtu; /* [1500] */
    int dma_inline;
    int dma_read_late;
    size_t staging_bytes;
    int compression;
    int delta; /* ranks have boards of delta messages */
    struct nof_nic_config nic;
};

/* NICs and ranks; `fault` counts from the first call on. */
void play_begin(struct play *p, const struct play_setup *setup, const struct world_fault *fault);
/* Everything that is posted has ended as it must; fails the test if it has not within seconds. */
void play_settle(struct play *p);
/* The same, but these two (or PLAY_NONE) may wait for something that comes later. */
void play_settle_but(struct play *p, uint32_t a, uint32_t b);
/* Time passes, and the libraries look at their completions. */
void play_run(struct play *p, uint64_t ns);
/* Ranks that are open close in order; nothing is left in any NIC, and every frame is back. */
void play_end(struct play *p);
/* A rank closes; what waits for it elsewhere may end with NOF_EPEERDEAD. */
void play_close(struct play *p, unsigned rank);

/* flags: enum nof_desc_flags. All fill the buffer with bytes of their own. */
uint32_t play_send(struct play *p, unsigned rank, unsigned to, int tag, uint64_t len, unsigned flags);
uint32_t play_send_vector(struct play *p, unsigned rank, unsigned to, int tag, uint64_t len,
                          const struct play_vector *v);
uint32_t play_recv(struct play *p, unsigned rank, int from, int tag, uint64_t len, uint32_t pair);
uint32_t play_recv_vector(struct play *p, unsigned rank, int from, int tag, uint64_t len, uint32_t pair,
                          const struct play_vector *v);
/* Delta messages (nof/delta.h), each with the slot of its own index: units of a send are ready, and it ends with so many bytes. What
 * a receive's board says to be there is compared whenever time passes. */
uint32_t play_send_delta(struct play *p, unsigned rank, unsigned to, int tag, uint64_t len,
                         uint32_t unit_log2);
void play_ready(struct play *p, uint32_t send, uint32_t unit, uint32_t units);
void play_send_end(struct play *p, uint32_t send, uint64_t len);
uint32_t play_recv_delta(struct play *p, unsigned rank, int from, int tag, uint64_t len, uint32_t pair);
/* A receive that nothing ends but cancel or the end of its peer. */
uint32_t play_recv_idle(struct play *p, unsigned rank, int from, int tag);
uint32_t play_mrecv(struct play *p, uint32_t mprobe, uint32_t pair);
/* opcode: PROBE or MPROBE; flags: NOF_DESC_F_WAIT. */
uint32_t play_probe(struct play *p, unsigned rank, uint8_t opcode, int from, int tag, uint32_t pair,
                    unsigned flags);
uint32_t play_flush(struct play *p, unsigned rank);
uint32_t play_layout(struct play *p, unsigned rank, const struct play_vector *v);
void play_layout_free(struct play *p, unsigned rank, const struct play_vector *v);
/* NOF_OK: the receive is gone; NOF_ENOMATCH: it has been matched. */
int play_cancel(struct play *p, uint32_t recv);
/* NOF_OK: the send has ended, unreceived; NOF_ENOMATCH: it has completed, or will. */
int play_cancel_send(struct play *p, uint32_t send);
/* Leave spill mode; the matcher must be empty. */
void play_spill_end(struct play *p, unsigned rank);

#endif

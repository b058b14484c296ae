/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Layouts (nof/layout.h): the host's programs, validated and copied once, and the cursor that walks
 * one from any byte of the message on.
 *
 *   nof_layout_open(bytes from the program area)  -> index, held by (endpoint, name, generation)
 *   nof_layout_find() / nof_layout_hold()          while a message uses it
 *   nof_layout_drop()                              the message is done
 *   nof_layout_close()                             LAYOUT_FREE: gone when the last message is
 *
 * Memory: ops lie in chunks of NOF_LAYOUT_CHUNK_OPS out of one pool, so that a thousand small
 * layouts and a few large ones fit the same bound. Addresses are computed modulo 2^64 and never
 * followed here: a program that points nowhere ends as EFAULT of its DMA request. */
#ifndef NOF_LAYOUT_TABLE_H
#define NOF_LAYOUT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "nof/layout.h"
#include "nof/port.h"
#include "base/pool.h"
#include "base/share.h"

#define NOF_LAYOUT_CHUNK_OPS 32u
#define NOF_LAYOUT_CHUNKS_MAX (NOF_LAYOUT_OPS_MAX / NOF_LAYOUT_CHUNK_OPS)
/* That one request takes beyond those to its first byte: four for each of its segments. Pieces that touch become one
 * segment, and so an end must be set to how many are looked at. */
#define NOF_LAYOUT_STEPS 256u

struct nof_layout_step { /* one op, checked */
    uint64_t count;
    uint64_t block; /* bytes, or ops in the body */
    uint64_t offset; /* two's complement */
    uint64_t stride;
    uint64_t bytes; /* emitted by one iteration */
    uint32_t opcode;
    uint32_t reserved;
};

struct nof_layout_chunk {
    struct nof_obj obj;
    struct nof_layout_step step[NOF_LAYOUT_CHUNK_OPS];
};

struct nof_layout {
    struct nof_obj obj;
    uint32_t ep;
    uint32_t name; /* index chosen by the host */
    uint32_t generation;
    uint32_t refs;
    uint32_t nops;
    uint32_t closed;
    uint64_t size;
    uint64_t extent; /* two's complement */
    uint32_t hash_next;
    uint32_t chunk[NOF_LAYOUT_CHUNKS_MAX];
};

struct nof_layout_use { /* of one endpoint */
    uint32_t layouts;
    uint32_t chunks;
};

struct nof_layouts {
    struct nof_pool pool; /* struct nof_layout */
    struct nof_pool chunks;
    uint32_t *bucket;
    uint32_t mask;
    struct nof_layout_use *used; /* by endpoint */
    struct nof_share layouts_share, chunks_share;
};

struct nof_layout_level {
    uint32_t first; /* ops of this body */
    uint32_t end;
    uint32_t op;
    uint64_t left; /* iterations after this one */
    uint64_t stride;
    uint64_t pos;
};

struct nof_layout_cursor {
    const struct nof_layouts *all;
    const struct nof_layout *layout;
    uint32_t depth;
    uint64_t block_iter;
    uint64_t in_block; /* bytes */
    uint32_t steps; /* taken since it was put there: ops, pieces and rounds of loops */
    struct nof_layout_level level[NOF_LAYOUT_DEPTH_MAX];
};

/* `used` has room for this many endpoints; the pools are set up. */
void nof_layout_shares(struct nof_layouts *all, uint32_t endpoints);

/* NOF_OK, NOF_EINVAL (not a valid program, or the name is in use), NOF_ENOMEM. `bytes` is read
 * once; it may change while it is read. */
int nof_layout_open(struct nof_layouts *all, uint32_t ep, uint32_t name, uint32_t generation,
                    const uint8_t *bytes, size_t len_bytes);
/* Index of the layout, or NOF_NIL. */
uint32_t nof_layout_find(const struct nof_layouts *all, uint32_t ep, uint32_t name, uint32_t generation);
void nof_layout_hold(struct nof_layouts *all, uint32_t index);
void nof_layout_drop(struct nof_layouts *all, uint32_t index);
int nof_layout_close(struct nof_layouts *all, uint32_t ep, uint32_t name, uint32_t generation);
/* Of those in this bucket (0..mask), the endpoint's; returns how many there were. */
uint32_t nof_layout_close_bucket(struct nof_layouts *all, uint32_t bucket, uint32_t ep);

/* Put the cursor on byte `offset` of a message that begins at address `base`. */
void nof_layout_seek(struct nof_layout_cursor *c, const struct nof_layouts *all, uint32_t index,
                     uint64_t base, uint64_t offset);
/* The next contiguous piece of at most max bytes (max >= 1). */
struct nof_segment nof_layout_next(struct nof_layout_cursor *c, uint64_t max);

/* The user memory behind bytes [offset, offset + len) of a buffer: layout NOF_NIL is a plain one.
 * Returns the number of segments (<= NOF_DMA_SEGMENTS_MAX); *covered_out: bytes that they hold, at least one of them;
 * *steps_out: what it took, for whoever pays. */
unsigned nof_buffer_segments(const struct nof_layouts *all, uint32_t layout, uint64_t addr, uint64_t offset,
                             uint64_t len, struct nof_segment *segs, uint64_t *covered_out,
                             uint32_t *steps_out);
/* Cut a list of segments down to its first `total` bytes; returns how many segments that leaves. */
unsigned nof_segments_trim(struct nof_segment *segs, unsigned nsegs, uint64_t total);

#endif

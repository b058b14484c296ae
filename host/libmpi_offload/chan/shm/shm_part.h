/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What lies in a rank's part of the job's segment (nof/segment.h). Its owner writes `head`; everybody reads it.
 *
 *   0         head: whether its owner takes messages this way; words of what comes
 *   24 KiB    what of its delta messages is ready
 *   64 KiB    cells (cells.h)
 *   1088 KiB  lanes to the owner, one for each slot of the segment */
#ifndef NOF_MPI_SHM_PART_H
#define NOF_MPI_SHM_PART_H

#include "chan/shm/cells.h"
#include "chan/shm/cma.h"
#include "chan/shm/hot.h"
#include "chan/shm/lane.h"
#include "chan/shm/seats.h"
#include "nof/delta.h"

#define NOF_PART_MAGIC 0x36305452415046ull
#define NOF_PART_DELTA 24576u
#define NOF_PART_CELLS 65536u

enum nof_part_state {
    NOF_PART_SILENT = 0, /* fresh memory: it has not said */
    NOF_PART_SHM = 1,
};

struct nof_part_head {
    uint64_t magic;
    uint32_t state; /* written last (release), before the launcher's fence; never again */
    uint32_t registered; /* for nof_barrier_heavy() of others */
    struct nof_cma_probe probe;
    uint32_t started_by_nic; /* collectives with a request: the NIC ran them when its owner began */
    uint32_t
        unawaited; /* sends that have not ended, for which its owner is in no call that ends with them only */
    uint32_t ranks_here; /* that its launcher told it of; 0: did not */
    uint32_t reserved[5];
};

/* Of one message that asks: whether its receiver has begun with it, or its sender has moved it to a cell: whoever exchanges first. */
struct nof_part_move {
    uint64_t word; /* key of the message << 32, in which the line's index is; and 0: begun, or 1 + the cell */
    uint64_t reserved[7];
};

#define NOF_PART_MOVES 32u

struct nof_part {
    struct nof_part_head head;
    struct nof_hot_map map;
    struct nof_seats_mask cpus; /* that its owner may use */
    _Alignas(64) struct nof_part_move moves[NOF_PART_MOVES]; /* of its owner's sends (shm_move.c) */
    _Alignas(4096) struct nof_cell_words words;
};

/* Of one delta message: as the board that a NIC reads (nof/delta.h), and how often that was told. */
struct nof_part_delta {
    uint64_t told;
    uint64_t reserved[7];
    struct nof_delta_ready ready;
};

static_assert(sizeof(struct nof_part_head) == 64 && sizeof(struct nof_part) <= NOF_PART_DELTA &&
                  NOF_PART_DELTA + NOF_DELTA_SLOTS * sizeof(struct nof_part_delta) <= NOF_PART_CELLS &&
                  NOF_PART_CELLS + NOF_CELLS * NOF_CELL_BYTES == NOF_SEGMENT_OWN_BYTES,
              "a part as it is laid out");

/* Pages of the segment that nothing can take away any more, though memory runs out. False: it has. */
bool nof_part_allocate(void *memory, uint64_t bytes);

static inline struct nof_part_delta *nof_part_delta(struct nof_part *part)
{
    return (struct nof_part_delta *)(void *)((uint8_t *)part + NOF_PART_DELTA);
}

static inline void *nof_part_cells(struct nof_part *part)
{
    return (uint8_t *)part + NOF_PART_CELLS;
}

static inline struct nof_lane *nof_part_lane(struct nof_part *part, uint32_t from_slot)
{
    uint8_t *lanes = (uint8_t *)part + NOF_SEGMENT_OWN_BYTES;
    return (struct nof_lane *)(void *)(lanes + (uint64_t)from_slot * NOF_LANE_BYTES);
}

#endif

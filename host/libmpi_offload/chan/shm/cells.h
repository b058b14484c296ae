/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cells: what a process sends that does not fit a slot of a lane, copied into memory of its own that its peers can read.
 * A cell is lent to one of them with the message that names it; more messages for the same one may follow in what is left of it. It comes
 * back by one word.
 *
 *   owner      nof_cells_behind(), or, where nothing is left, nof_cells_take() -> fill nof_cells_at() -> send index, generation and
 *              place in a lane
 *   borrower   nof_cell_read() -> copy -> nof_cell_return(), in the order in which they were sent
 *   owner      finds it returned, with the generation of the last one in it, when it looks for another; nof_cells_forget() takes back
 *              what the dead have, nof_cells_take_back() what its borrower was told of in vain, or has said it read
 *
 * Cells lie in stripes, which are allocated one after the other when they are needed: grow() makes the memory of a stripe
 * sure; where it cannot, there are no more. A peer that returns what it was not lent, or too early, gets, or makes
 * another peer get, other bytes of the same owner's messages.
 *
 * Memory: of both structures and of the cells the caller's; the shared one is zero at first. */
#ifndef NOF_MPI_CELLS_H
#define NOF_MPI_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#define NOF_CELL_BYTES 16384u
#define NOF_CELLS 64u
#define NOF_CELLS_STRIPE 8u
/* To one peer: one that does not look must not keep those from the others. Nor must several: the last ones are for peers that
 * have next to none. */
#define NOF_CELLS_LENT_MAX 16u
#define NOF_CELLS_KEPT 16u
#define NOF_CELLS_LENT_LEAST 2u /* one is filled while the other is read */

/* In shared memory: the generation of what was read last of the cell, each in a line of its own. */
struct nof_cell_words {
    struct {
        uint32_t returned;
        uint32_t reserved[15];
    } cell[NOF_CELLS];
};

struct nof_cells {
    struct nof_cell_words *words;
    uint8_t *memory;
    bool (*grow)(void *memory, uint64_t bytes); /* false: no memory */
    uint32_t count; /* that have memory */
    bool full; /* grow() has failed */
    uint32_t free_count;
    uint32_t lent_count;
    uint8_t free[NOF_CELLS];
    uint8_t lent[NOF_CELLS]; /* indexes, oldest first */
    uint32_t generation[NOF_CELLS]; /* of the last message in it */
    uint32_t borrower[NOF_CELLS];
    uint32_t used[NOF_CELLS]; /* bytes of it; 0: it is not lent */
};

void nof_cells_init(struct nof_cells *c, struct nof_cell_words *words, void *memory,
                    bool (*grow)(void *memory, uint64_t bytes));
/* Those that are free, or can be once there is memory for them. */
static inline uint32_t nof_cells_left(const struct nof_cells *c)
{
    return c->free_count + (c->full ? 0 : NOF_CELLS - c->count);
}
/* A peer that has so many of them out may have another. */
static inline bool nof_cells_may_lend(const struct nof_cells *c, uint32_t lent)
{
    uint32_t left = nof_cells_left(c);
    return left > 0 && lent < (left > NOF_CELLS_KEPT ? NOF_CELLS_LENT_MAX : NOF_CELLS_LENT_LEAST);
}
/* A cell for this peer, and 1..NOF_CELL_BYTES at its beginning; -1: none is free. *generation_out goes with it. */
int nof_cells_take(struct nof_cells *c, uint32_t borrower, uint64_t bytes, uint32_t *generation_out);
/* So many bytes behind what this peer was sent in cell `index`: their place in it; -1: it is not lent to it any more, or too full. */
int nof_cells_behind(struct nof_cells *c, uint32_t index, uint32_t borrower, uint64_t bytes,
                     uint32_t *generation_out);
/* Those that were returned are free again: how many there are. Count, by borrower, goes down in `lent` (may be NULL). */
uint32_t nof_cells_reclaim(struct nof_cells *c, uint32_t *lent);
/* So is this one, returned or not, if that is the last message in it. */
void nof_cells_take_back(struct nof_cells *c, uint32_t index, uint32_t generation, uint32_t *lent);
/* So are those of this one, returned or not. */
void nof_cells_forget(struct nof_cells *c, uint32_t borrower);

static inline void *nof_cells_at(const struct nof_cells *c, uint32_t index, uint32_t place)
{
    return c->memory + (uint64_t)index * NOF_CELL_BYTES + place;
}

/* The borrower's: NULL if there is no such cell, or not so much of it. */
static inline const void *nof_cell_read(const void *memory, uint32_t index, uint32_t place, uint64_t len)
{
    return index < NOF_CELLS && place <= NOF_CELL_BYTES && len <= NOF_CELL_BYTES - place
               ? (const uint8_t *)memory + (uint64_t)index * NOF_CELL_BYTES + place
               : (const void *)0;
}

static inline void nof_cell_return(struct nof_cell_words *words, uint32_t index, uint32_t generation)
{
    __atomic_store_n(&words->cell[index].returned, generation, __ATOMIC_RELEASE);
}

#endif

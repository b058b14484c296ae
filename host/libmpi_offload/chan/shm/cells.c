/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/shm/cells.h"

void nof_cells_init(struct nof_cells *c, struct nof_cell_words *words, void *memory,
                    bool (*grow)(void *memory, uint64_t bytes))
{
    *c = (struct nof_cells){.words = words, .memory = memory, .grow = grow};
}

static bool more(struct nof_cells *c)
{
    if (c->full || c->count == NOF_CELLS)
        return false;
    if (!c->grow(nof_cells_at(c, c->count), (uint64_t)NOF_CELLS_STRIPE * NOF_CELL_BYTES)) {
        c->full = true;
        return false;
    }
    for (uint32_t i = NOF_CELLS_STRIPE; i-- > 0;)
        c->free[c->free_count++] = (uint8_t)(c->count + i);
    c->count += NOF_CELLS_STRIPE;
    return true;
}

uint32_t nof_cells_reclaim(struct nof_cells *c, uint32_t *lent)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->lent_count; i++) {
        uint8_t index = c->lent[i];
        /* Pairs with the release of the borrower: it has read what it wanted. */
        if (__atomic_load_n(&c->words->cell[index].returned, __ATOMIC_ACQUIRE) != c->generation[index]) {
            c->lent[kept++] = index;
            continue;
        }
        if (lent != (uint32_t *)0)
            lent[c->borrower[index]]--;
        c->free[c->free_count++] = index;
    }
    c->lent_count = kept;
    return c->free_count;
}

int nof_cells_take(struct nof_cells *c, uint32_t borrower, uint32_t *generation_out)
{
    if (c->free_count == 0 && !more(c))
        return -1;
    uint8_t index = c->free[--c->free_count];
    c->lent[c->lent_count++] = index;
    c->borrower[index] = borrower;
    *generation_out = ++c->generation[index];
    return index;
}

void nof_cells_forget(struct nof_cells *c, uint32_t borrower)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->lent_count; i++) {
        uint8_t index = c->lent[i];
        if (c->borrower[index] == borrower)
            c->free[c->free_count++] = index;
        else
            c->lent[kept++] = index;
    }
    c->lent_count = kept;
}

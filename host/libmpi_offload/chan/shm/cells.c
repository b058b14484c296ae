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
    if (!c->grow(nof_cells_at(c, c->count, 0), (uint64_t)NOF_CELLS_STRIPE * NOF_CELL_BYTES)) {
        c->full = true;
        return false;
    }
    for (uint32_t i = NOF_CELLS_STRIPE; i-- > 0;)
        c->free[c->free_count++] = (uint8_t)(c->count + i);
    c->count += NOF_CELLS_STRIPE;
    return true;
}

static void back(struct nof_cells *c, uint8_t index)
{
    c->used[index] = 0;
    c->free[c->free_count++] = index;
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
        back(c, index);
    }
    c->lent_count = kept;
    return c->free_count;
}

/* Each message begins with a line of its own, which is not written while the one before it is read. */
static uint32_t lines_of(uint64_t bytes)
{
    return (uint32_t)(bytes + 63) / 64 * 64;
}

int nof_cells_take(struct nof_cells *c, uint32_t borrower, uint64_t bytes, uint32_t *generation_out)
{
    if (c->free_count == 0 && !more(c))
        return -1;
    uint8_t index = c->free[--c->free_count];
    c->lent[c->lent_count++] = index;
    c->borrower[index] = borrower;
    c->used[index] = lines_of(bytes);
    *generation_out = ++c->generation[index];
    return index;
}

int nof_cells_behind(struct nof_cells *c, uint32_t index, uint32_t borrower, uint64_t bytes,
                     uint32_t *generation_out)
{
    if (index >= NOF_CELLS || c->used[index] == 0 || c->borrower[index] != borrower ||
        bytes > NOF_CELL_BYTES - c->used[index])
        return -1;
    uint32_t place = c->used[index];
    c->used[index] += lines_of(bytes);
    *generation_out = ++c->generation[index];
    return (int)place;
}

void nof_cells_take_back(struct nof_cells *c, uint32_t index, uint32_t generation, uint32_t *lent)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->lent_count; i++) {
        uint8_t at = c->lent[i];
        if (at != index || c->generation[at] != generation) {
            c->lent[kept++] = at;
            continue;
        }
        lent[c->borrower[at]]--;
        back(c, at);
    }
    c->lent_count = kept;
}

void nof_cells_forget(struct nof_cells *c, uint32_t borrower)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->lent_count; i++) {
        uint8_t index = c->lent[i];
        if (c->borrower[index] == borrower)
            back(c, index);
        else
            c->lent[kept++] = index;
    }
    c->lent_count = kept;
}

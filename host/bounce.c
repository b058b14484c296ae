/* SPDX-License-Identifier: BSD-3-Clause */
#include "bounce.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "nof/status.h"

#define NONE UINT32_MAX
#define NONE_PIECE UINT16_MAX

static unsigned class_of(size_t len_bytes)
{
    unsigned class = 0;

    if (len_bytes > NOF_BOUNCE_PIECE_MIN)
        class = 64u - (unsigned)__builtin_clzll(len_bytes - 1) - 6u;
    return class;
}

static size_t piece_bytes(unsigned class)
{
    return (size_t)NOF_BOUNCE_PIECE_MIN << class;
}

static uint16_t slab_pieces(const struct nof_bounce *b, unsigned class)
{
    return (uint16_t)(b->slab_bytes / piece_bytes(class));
}

int nof_bounce_open(struct nof_bounce *b, size_t area_bytes, size_t piece_max_bytes)
{
    memset(b, 0, sizeof(*b));
    b->free_slab = NONE;
    for (unsigned i = 0; i < NOF_BOUNCE_CLASSES; i++)
        b->partial[i] = NONE;
    if (area_bytes == 0 || piece_max_bytes == 0)
        return NOF_OK;
    if (piece_max_bytes > piece_bytes(NOF_BOUNCE_CLASSES - 1))
        return NOF_EINVAL;
    b->slab_bytes = piece_bytes(class_of(piece_max_bytes));
    b->nslabs = (uint32_t)(area_bytes / b->slab_bytes);
    b->pieces_max = slab_pieces(b, 0);
    if (b->nslabs == 0)
        return NOF_OK;
    b->slab = calloc(b->nslabs, sizeof(*b->slab));
    b->next_piece = malloc((size_t)b->nslabs * b->pieces_max * sizeof(*b->next_piece));
    if (b->slab == NULL || b->next_piece == NULL) {
        nof_bounce_close(b);
        return NOF_ENOMEM;
    }
    for (uint32_t i = b->nslabs; i-- > 0;) {
        b->slab[i].next = b->free_slab;
        b->free_slab = i;
    }
    return NOF_OK;
}

void nof_bounce_close(struct nof_bounce *b)
{
    free(b->slab);
    free(b->next_piece);
    b->slab = NULL;
    b->next_piece = NULL;
    b->nslabs = 0;
}

static void list_push(struct nof_bounce *b, uint32_t *head, uint32_t i)
{
    b->slab[i].prev = NONE;
    b->slab[i].next = *head;
    if (*head != NONE)
        b->slab[*head].prev = i;
    *head = i;
}

static void list_remove(struct nof_bounce *b, uint32_t *head, uint32_t i)
{
    struct nof_bounce_slab *s = &b->slab[i];

    if (s->prev != NONE)
        b->slab[s->prev].next = s->next;
    else
        *head = s->next;
    if (s->next != NONE)
        b->slab[s->next].prev = s->prev;
}

static bool take_slab(struct nof_bounce *b, unsigned class)
{
    uint32_t i = b->free_slab;

    if (i == NONE)
        return false;
    b->free_slab = b->slab[i].next;
    b->slab[i].class = (uint16_t) class;
    b->slab[i].used = 0;
    b->slab[i].fresh = slab_pieces(b, class);
    b->slab[i].free_head = NONE_PIECE;
    list_push(b, &b->partial[class], i);
    return true;
}

int nof_bounce_alloc(struct nof_bounce *b, size_t len_bytes, uint64_t *offset_out)
{
    unsigned class = class_of(len_bytes);
    struct nof_bounce_slab *s;
    uint32_t i;
    uint16_t piece;

    if (b->nslabs == 0 || len_bytes > b->slab_bytes)
        return NOF_EAGAIN;
    if (b->partial[class] == NONE && !take_slab(b, class))
        return NOF_EAGAIN;
    i = b->partial[class];
    s = &b->slab[i];
    if (s->free_head != NONE_PIECE) {
        piece = s->free_head;
        s->free_head = b->next_piece[(size_t)i * b->pieces_max + piece];
    } else {
        piece = --s->fresh;
    }
    s->used++;
    if (s->free_head == NONE_PIECE && s->fresh == 0)
        list_remove(b, &b->partial[class], i);
    *offset_out = (uint64_t)i * b->slab_bytes + piece * piece_bytes(class);
    return NOF_OK;
}

void nof_bounce_free(struct nof_bounce *b, uint64_t offset)
{
    uint32_t i = (uint32_t)(offset / b->slab_bytes);
    struct nof_bounce_slab *s;
    uint16_t piece;
    bool was_full;

    assert(offset / b->slab_bytes < b->nslabs);
    s = &b->slab[i];
    assert(s->used > 0 && offset % piece_bytes(s->class) == 0);
    piece = (uint16_t)(offset % b->slab_bytes / piece_bytes(s->class));
    was_full = s->free_head == NONE_PIECE && s->fresh == 0;
    b->next_piece[(size_t)i * b->pieces_max + piece] = s->free_head;
    s->free_head = piece;
    if (was_full)
        list_push(b, &b->partial[s->class], i);
    if (--s->used == 0) {
        list_remove(b, &b->partial[s->class], i);
        s->next = b->free_slab;
        b->free_slab = i;
    }
}

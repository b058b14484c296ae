/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bounce arena: gives out pieces of the BAR's bounce area until their SEND completes.
 *
 *   nof_bounce_open()  nof_bounce_alloc() ... nof_bounce_free()  nof_bounce_close()
 *
 * The area is cut into slabs of the largest piece's size; a slab serves one power-of-two size class at a
 * time and goes back to the free ones with its last piece. All bookkeeping is in private memory: nothing
 * that the NIC's side writes is believed. Every call is O(1), without lock and system call.
 * Threads: one at a time. */
#ifndef NOF_BOUNCE_H
#define NOF_BOUNCE_H

#include <stddef.h>
#include <stdint.h>

#define NOF_BOUNCE_PIECE_MIN 64u
#define NOF_BOUNCE_CLASSES 12 /* 64 B .. 128 KiB */

struct nof_bounce_slab {
    uint32_t next, prev; /* in the list of its class, or of the free slabs (next only) */
    uint16_t class;
    uint16_t used; /* pieces out */
    uint16_t fresh; /* pieces that were never out since the slab got its class */
    uint16_t free_head; /* first of the pieces that came back */
};

struct nof_bounce {
    size_t slab_bytes; /* power of two, >= the largest piece */
    uint32_t nslabs;
    uint32_t pieces_max; /* of the smallest class, per slab */
    uint32_t free_slab; /* list head */
    uint32_t partial[NOF_BOUNCE_CLASSES]; /* slabs with room, by class */
    struct nof_bounce_slab *slab;
    uint16_t *next_piece; /* [nslabs][pieces_max] */
};

/* piece_max_bytes: largest request that can be served. 0 bytes of area: nothing is ever given out.
 * NOF_ENOMEM; NOF_EINVAL if a piece would be larger than 128 KiB. */
int nof_bounce_open(struct nof_bounce *bounce, size_t area_bytes, size_t piece_max_bytes);
void nof_bounce_close(struct nof_bounce *bounce);
/* NOF_OK, or NOF_EAGAIN: none left now, or larger than the largest piece. */
int nof_bounce_alloc(struct nof_bounce *bounce, size_t len_bytes, uint64_t *offset_out);
/* `offset` is one that alloc gave out; anything else is a caller's bug (asserted). */
void nof_bounce_free(struct nof_bounce *bounce, uint64_t offset);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Network memory: blocks of NOF_NETMEM_BLOCK bytes, chained by index. It holds what came from the
 * network and cannot be given to a host yet: unexpected eager payload, payload on its way into a
 * DMA write. Who may take how much is decided elsewhere (credit.c, reserve.c); this file only hands
 * out blocks.
 *
 * A *stored message* is a chain whose first NOF_STORED_BYTES hold a struct nof_stored: it needs no
 * memory beside its payload, so the library may leave as many with us as byte credit allows. */
#ifndef NOF_NETMEM_H
#define NOF_NETMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nof/port.h"
#include "base/pool.h"

#define NOF_NETMEM_BLOCK 1024u
#define NOF_STORED_BYTES 64u
#define NOF_CHAIN_BUFS_MAX 66u /* pieces of the longest chain: header and 64 KiB */

enum nof_stored_owner {
    NOF_STORED_FREE = 0,
    NOF_STORED_ENV, /* unexpected, matchable */
    NOF_STORED_RECV, /* matched while pieces are still to come */
    NOF_STORED_HELD, /* spilled; the library will PULL it */
};

enum nof_stored_flag {
    NOF_STORED_F_SYNC = 1, /* the sender waits for a MATCHED */
    NOF_STORED_F_FAILED = 2, /* no more pieces will come: `status` says why */
    NOF_STORED_F_PACKED = 4, /* what has arrived lies here as it came, compressed (stored.c) */
};

struct nof_stored {
    uint64_t len; /* bytes of the message */
    uint64_t handle; /* the sender's, with F_SYNC */
    uint32_t arrived; /* bytes of it that are here */
    uint32_t tail; /* block that the next byte goes to */
    uint32_t owner; /* envelope or receive */
    uint32_t peer;
    uint32_t blocks;
    int32_t tag;
    uint32_t ctx;
    uint32_t next_packed; /* PACKED: the message behind it on its grant */
    uint32_t packed_bytes; /* PACKED: of the blocks */
    uint32_t line; /* of the staging area, where the bytes are meanwhile; NOF_NIL: in the blocks (stored.c) */
    uint16_t ep;
    int16_t status;
    uint8_t owner_kind;
    uint8_t flags;
};

struct nof_netmem {
    unsigned char *data;
    uint32_t *next;
    uint32_t *held; /* generation of the HELD message that begins in this block, or 0: payload
                       bytes could look like a header, so the mark is kept apart */
    uint32_t nblocks;
    uint32_t high;
    uint32_t head;
    uint32_t used;
    uint32_t peak;
    uint32_t gen; /* drawn from for HELD handles */
};

/* next and held: nblocks words each. */
void nof_netmem_init(struct nof_netmem *nm, void *data, uint32_t *next, uint32_t *held, uint32_t nblocks);

/* A chain of n >= 1 blocks, or NOF_NIL. Given back by nof_netmem_free(). */
uint32_t nof_netmem_take(struct nof_netmem *nm, uint32_t n);
/* Returns how many blocks the chain had. */
uint32_t nof_netmem_free(struct nof_netmem *nm, uint32_t chain);

static inline unsigned char *nof_netmem_at(const struct nof_netmem *nm, uint32_t block)
{
    return nm->data + (size_t)block * NOF_NETMEM_BLOCK;
}

/* Blocks that an eager message of len bytes is charged for; both sides compute it. What fits into a
 * completion is not charged, unless the sender waits (then the handle takes the room there). */
static inline uint32_t nof_netmem_charge(uint64_t len_bytes, bool sync)
{
    if (len_bytes == 0 || (len_bytes <= NOF_INLINE_BYTES && !sync))
        return 0;
    return (uint32_t)((len_bytes + NOF_STORED_BYTES + NOF_NETMEM_BLOCK - 1) / NOF_NETMEM_BLOCK);
}

/* A chain for a message of len bytes; its header is cleared. NOF_NIL if there are no blocks. */
uint32_t nof_stored_take(struct nof_netmem *nm, uint64_t len_bytes, bool sync);
struct nof_stored *nof_stored_at(const struct nof_netmem *nm, uint32_t chain);
/* The message is HELD from now on; returns the generation of its handle. */
uint32_t nof_stored_hold(struct nof_netmem *nm, uint32_t chain);
/* Is a HELD message of this generation here? Ends the hold if it is. */
bool nof_stored_unhold(struct nof_netmem *nm, uint32_t chain, uint32_t gen);
/* The next byte is the first again. */
void nof_stored_rewind(struct nof_netmem *nm, uint32_t chain);
/* Append n bytes; the caller has checked arrived + n <= len. */
void nof_stored_append(struct nof_netmem *nm, uint32_t chain, const uint8_t *data, uint32_t n);

/* Where bytes [skip, skip + n) of a chain lie; n <= 64 KiB. Returns the number of pieces, at most
 * `max`, and in *covered_out how many bytes they hold. */
unsigned nof_chain_bufs(const struct nof_netmem *nm, uint32_t chain, uint32_t skip, uint32_t n,
                        struct nof_buf *bufs, unsigned max, uint32_t *covered_out);
/* Copy the first n bytes of payload of a stored message. */
void nof_stored_copy(const struct nof_netmem *nm, uint32_t chain, uint8_t *to, uint32_t n);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What struct nof_nic holds of grants (grant.h), and how a flow finds its own. */
#ifndef NOF_GRANT_STATE_H
#define NOF_GRANT_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "compress/adaptive.h"
#include "dfcm_engine.h"
#include "nof/port.h"
#include "base/pool.h"

struct nof_wire_view;

/* Values of feature `compression`. */
enum nof_compression { NOF_COMPRESSION_OFF = 0, NOF_COMPRESSION_ON, NOF_COMPRESSION_ADAPTIVE };

#define NOF_PREDICTORS_MAX 256u
#define NOF_REFUSALS 64u
/* Room for the decoded payload of a burst: two frames of the most that a chunk can stand for. */
#define NOF_PLAIN_BYTES 131200u

enum nof_grant_state {
    NOF_GRANT_FREE = 0,
    NOF_GRANT_ASKING, /* tx: no answer yet */
    NOF_GRANT_READY,
    NOF_GRANT_REVOKED, /* rx: until END comes */
    NOF_GRANT_BROKEN, /* rx: likewise; a chunk did not decode, so no further one of this epoch will */
};

struct nof_grant {
    uint32_t peer;
    uint8_t state; /* enum nof_grant_state */
    uint8_t slot; /* its index at the receiver */
    uint16_t next; /* of the same bucket: index + 1, or 0 */
    uint8_t table_log2;
    uint16_t epoch;
    uint64_t used_ns; /* last chunk */
    uint64_t revoked_ns;
    uint64_t cycles; /* in the codec */
    struct nof_dfcm_stats stats;
    struct nof_adaptive adaptive; /* tx */
    struct nof_dfcm *predictor;
    void *mem;
    uint32_t packed_head, packed_tail; /* rx: messages that are not decoded yet, oldest first (stored.c) */
    uint64_t packed_bytes; /* of them, decoded */
};

struct nof_refusal { /* do not ask for this flow again before */
    uint32_t peer;
    uint64_t until_ns;
};

struct nof_grants {
    const struct nof_dfcm_kernel *kernel; /* of all predictors */
    struct nof_grant *tx, *rx; /* count each */
    uint16_t *tx_index, *rx_index; /* NOF_PREDICTORS_MAX buckets by the flow's index: index + 1, or 0 */
    uint32_t count;
    uint32_t tx_used, rx_used;
    /* Smallest message to compress; UINT64_MAX while compression is off or cannot pay here. */
    uint64_t min_bytes;
    uint16_t epoch; /* the last one given out */
    uint64_t grant_due_ns; /* all grants so far are worth the time until then */
    struct nof_pool raws; /* blocks read from hosts, to be encoded; their bytes: */
    uint8_t *raw;
    uint8_t *plain; /* NOF_PLAIN_BYTES */
    uint8_t *packed; /* the longest chain of network memory: what one message came as, while it is decoded */
    const struct nof_wire_view *deferring; /* the frame that is stored as it came, while it is looked at */
    uint32_t plain_used; /* lent until the end of the burst */
    struct nof_refusal *refused; /* NOF_REFUSALS, by the flow's index */
    struct nof_adaptive_cost cost;
};

/* The grant of a flow in this table, or NULL. */
static inline struct nof_grant *nof_grant_find(const uint16_t *index, struct nof_grant *table, uint32_t peer)
{
    uint16_t at = index[peer % NOF_PREDICTORS_MAX];
    /* bound: predictors, 256, of flows with like numbers; paid by the flow that has one */
    while (at != 0 && table[at - 1].peer != peer)
        at = table[at - 1].next;
    return at != 0 ? &table[at - 1] : NULL;
}

/* The grant of a flow to us, in whatever state, or NULL. */
static inline struct nof_grant *nof_grant_rx(const struct nof_grants *grants, uint32_t peer)
{
    return nof_grant_find(grants->rx_index, grants->rx, peer);
}

#endif

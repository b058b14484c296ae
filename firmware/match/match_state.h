/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What struct nof_nic, its receives and envelopes hold of the matching tables (match.h). */
#ifndef NOF_MATCH_STATE_H
#define NOF_MATCH_STATE_H

#include <stdint.h>

#define NOF_MATCH_KINDS 4u
#define NOF_MATCH_ANY_SOURCE 1u /* bits of a kind */
#define NOF_MATCH_ANY_TAG 2u
#define NOF_MATCH_NOT_HEAD (UINT32_MAX - 1) /* bucket_prev of all of a queue but its head */

struct nof_match_key {
    uint32_t ep;
    uint32_t ctx;
    int32_t source;
    int32_t tag;
};

struct nof_match_node {
    uint32_t bucket_next, bucket_prev; /* heads only */
    uint32_t next, prev; /* of the same key, circular */
    uint32_t hash;
};

struct nof_match_table {
    uint32_t *bucket;
    uint32_t mask;
};

struct nof_match {
    struct nof_match_table posted;
    struct nof_match_table probes;
    struct nof_match_table unexpected;
    struct nof_match_table cookies; /* posted receives and probes by (endpoint, cookie) */
    uint64_t order; /* of posting */
};

#endif

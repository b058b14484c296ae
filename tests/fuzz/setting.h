/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What fuzz-core and fuzz-host have in common: the bounds of their NICs, how an input sets features, and counters just
 * before their wrap. An input is records of RECORD_BYTES bytes; the first is the setting. */
#ifndef NOF_TESTS_FUZZ_SETTING_H
#define NOF_TESTS_FUZZ_SETTING_H

#include "guard.h"

/* Bytes of the setting. */
enum setting_byte {
    SETTING_WORLD, /* which of the worlds */
    SETTING_PREDICTION,
    SETTING_COMPRESSION,
    SETTING_DECODE,
    SETTING_EAGER_MAX,
    SETTING_STAGE_MAX,
    SETTING_RING, /* slots of a completion ring of job A; 0: enough */
    SETTING_READS, /* what becomes of DMA of job A, see guard.c */
    SETTING_WRITES,
    SETTING_LOOKAHEAD,
    SETTING_POLICY,
    SETTING_MIN,
    SETTING_DEFERRED,
    SETTING_EARLY,
    SETTING_CONGESTION, /* and, from its second bit on, what may be under way (flow/clearance.h) */
};

#define SETTING_WORLDS 12u

/* Small, so that every bound is reached. */
struct world_config setting_config(struct guard *g, uint8_t which, unsigned nics);
/* Is this one of the worlds whose counters wrap soon? */
int setting_wraps(uint8_t which);
/* Generations, epochs and the numbers of flows and packets of a NIC in which all is quiet; `by` is added to the numbers
 * of each flow, at both of its ends alike. */
void setting_wrap(struct nof_nic *nic, uint32_t by);
/* Features of all NICs, and the guard's ways. */
void setting_apply(struct guard *g, const uint8_t *rec);
/* One of these, later: `which` and `value` may be anything. */
void setting_change(struct guard *g, uint8_t which, uint8_t value);

#endif

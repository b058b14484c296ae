/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The well-behaved pair of the hostile-host tests: two ranks on two NICs that send each other
 * messages of changing length through the host driver and verify every byte. */
#ifndef TEST_HOSTILE_PAIR_H
#define TEST_HOSTILE_PAIR_H

#include <stdint.h>

#include "nof/bar.h"

/* Shared memory between the pair and the test. */
struct hostile_board {
    uint64_t job_id;
    uint8_t job_key[NOF_JOB_KEY_BYTES];
    struct nof_card card[2];
    uint32_t have_card[2]; /* atomic */
    uint32_t stop; /* atomic */
    uint32_t flooding; /* atomic: the intruder has begun */
    uint64_t messages; /* atomic: verified by rank 0 */
    uint64_t stall_us; /* rank 0: longest wait for an answer, to be printed */
};

/* Runs until board->stop; exits 0, or 1 with a word on stderr. */
_Noreturn void hostile_pair_main(struct hostile_board *board, const char *socket, uint32_t rank);

#endif

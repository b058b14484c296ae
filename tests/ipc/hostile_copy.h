/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tests of the DMA engine have in common: a job of one rank that sends messages to itself, long enough to be
 * read and written by the daemon, and the daemon's helpers as their user sees them. */
#ifndef TEST_HOSTILE_COPY_H
#define TEST_HOSTILE_COPY_H

#include "hostile.h"

#define HOSTILE_LEN (128u << 10) /* of transfers and buffers */
#define HOSTILE_NOBODY 65534

/* Job of one rank that sends to itself: its own card is its peer. */
void hostile_know_myself(struct intruder *in);
/* Each with a tag of its own: a receive that is left over must not take the next message. */
void hostile_transfer(struct intruder *in, void *from, void *to);
/* Status of the completion of `opcode`, or 1 after ms. */
int hostile_await(struct intruder *in, int opcode, int ms);
/* HOSTILE_LEN bytes. */
uint8_t *hostile_buffer(void);
/* From here on as another user, whose helpers can be told by that. */
void hostile_become_nobody(void);
/* The helpers of another user carry that user's ids, so that user can signal them. Returns how many it was. */
unsigned hostile_signal_helpers(const struct hostile *h, int signal_number);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the fault suite plays: every protocol of the core once, small enough to be played once per call. */
#ifndef NOF_TESTS_FAULT_SCENARIOS_H
#define NOF_TESTS_FAULT_SCENARIOS_H

#include "play.h"

struct scenario {
    const char *name;
    void (*run)(struct play *p); /* between play_begin() and play_end() */
    struct play_setup setup; /* DMA's answers are varied by the caller */
};

extern const struct scenario scenarios[];
extern const unsigned scenarios_count;

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An oracle more, where the core counts its steps (tests/meson.build): how many one call may take. tests/unit/turns.c
 * measures attacks; here it is whatever inputs have found. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../unit/turns.h"
#include "guard.h"

/* As in turns.c. The longest call in the corpora takes 12000. */
#define STEPS_MAX 40000u

static uint64_t steps;
static uint64_t longest;

void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
    steps++;
}

void turn_begin(void)
{
    steps = 0;
}

void turn_end(const char *call)
{
    if (steps > STEPS_MAX)
        guard_fail("%llu steps in one %s", (unsigned long long)steps, call);
    if (steps > longest && getenv("T_VERBOSE") != NULL)
        fprintf(stderr, "%llu steps in %s\n", (unsigned long long)steps, call);
    longest = steps > longest ? steps : longest;
}

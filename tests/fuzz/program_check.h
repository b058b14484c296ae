/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is a program, by the words of nof/program.h and nof/reductions.h alone: it shares no line with the core. Where the
 * headers are silent: a length is at most 2^63 - 1, as a descriptor's; layout and its generation are 0 without the flag,
 * and so is `elem` where it says nothing. */
#ifndef NOF_TESTS_FUZZ_PROGRAM_CHECK_H
#define NOF_TESTS_FUZZ_PROGRAM_CHECK_H

#include <stdint.h>

/* NULL: it is one, for a job of `ranks`; else why not. */
const char *program_check(const uint8_t *bytes, uint64_t len, uint32_t ranks);

#endif

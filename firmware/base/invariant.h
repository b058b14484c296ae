/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Invariants of the core, checked in every build. assert() would ask a C library for a message and an
 * exit; the core has neither, so a broken invariant traps where it stands. */
#ifndef NOF_INVARIANT_H
#define NOF_INVARIANT_H

#define nof_invariant(condition) \
    do { \
        if (!(condition)) \
            __builtin_trap(); \
    } while (0)

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests that are plain programs: a check that fails says where, and ends this process with code 1. */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define check(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

#endif

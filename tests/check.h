/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests that are plain programs: a check that fails says where, and ends this process with code 1. */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <stdio.h>
#include <stdlib.h>

/* A deadline that only a fault reaches, also on a machine that is slow, shared, or was stopped for a while. */
#define CHECK_PATIENCE_MS 60000
#define CHECK_PATIENCE_S (CHECK_PATIENCE_MS / 1000)

#define check(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of a corpus: each is run once and printed. What the plug-in says of a line stands behind it, after `delta:`;
 * corpus.py compares. A line that begins with # is not compared with the program that was built without the plug-in. */
#ifndef CASES_H
#define CASES_H

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delta_mock.h"

#define CASE __attribute__((noipa)) static

#ifndef STRIP_BYTES
#define STRIP_BYTES 1024
#endif

enum { N = 6000 };

static double memory[4][N];

/* At least so many percent of what was sent left before the end (-1: nothing did), and so many waits. */
#define RUN(name, percent, waits_min, ...) \
    do { \
        double result = name(__VA_ARGS__); \
        show(#name, result, percent, waits_min); \
    } while (0)

static int plugged;

/* What main() is told: the library is lazy if it is `plugged` or `lazy`, and counts are looked at only if `plugged`. */
static void begin_cases(int argc, char **argv)
{
    plugged = argc > 1 && strcmp(argv[1], "plugged") == 0;
    mock_lazy(argc > 1);
    for (int i = 0; i < 4 * N; i++)
        memory[i / N][i % N] = i % 97;
}

static void show(const char *name, double result, int percent, int waits_min)
{
    struct mock_counts c = mock_take();
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += memory[0][i] * (i % 13 + 1) + memory[1][i] * (i % 7 + 1) + memory[2][i] + memory[3][i];
    printf("%s %.17g %.17g %llx\n", name, result, sum, c.sum);
    printf("# %s: %ld of %ld bytes announced by %ld calls, %ld waits\n", name, c.announced_bytes,
           c.sent_bytes, c.announced_calls, c.waits);
    fflush(stdout);
    if (percent < 0 && c.announced_bytes > 0) {
        printf("broken claim: %s announces what it was refused\n", name);
        exit(1);
    }
    if (plugged && percent >= 0 && c.announced_bytes * 100 < c.sent_bytes * percent) {
        printf("broken claim: %s announces less than %d percent\n", name, percent);
        exit(1);
    }
    if (plugged && c.waits < waits_min) {
        printf("broken claim: %s waits less than %d times\n", name, waits_min);
        exit(1);
    }
    if (c.announced_calls * STRIP_BYTES > c.announced_bytes) {
        printf("broken claim: %s announces less than a strip at a time\n", name);
        exit(1);
    }
    for (int i = 0; i < 4 * N; i++)
        memory[i / N][i % N] = i % 97;
}

#define BEGIN(buf, count, request) \
    MPIX_Delta_send_begin(buf, count, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, request)
#define RECV(buf, count, tag) \
    MPIX_Delta_recv(buf, count, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE)

#endif

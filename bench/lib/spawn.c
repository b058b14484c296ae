/* SPDX-License-Identifier: BSD-3-Clause */
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "child.h"

#define OUTPUT_BYTES 65536

int nof_bench_spawn(const char *const *argv, const char *log_path, unsigned timeout_s,
                    void (*line)(void *ctx, const char *text), void *ctx)
{
    char *text = malloc(OUTPUT_BYTES);
    struct nof_child child;
    char *rest = text;
    char *each;
    int code;

    if (text == NULL || nof_child_start(&child, NULL, argv, NOF_CHILD_STDOUT, log_path) != 0) {
        free(text);
        return -1;
    }
    nof_child_read_all(&child, text, OUTPUT_BYTES, (int)timeout_s * 1000);
    code = nof_child_wait(&child, 1000);
    while ((each = strsep(&rest, "\n")) != NULL)
        line(ctx, each);
    free(text);
    return code;
}

void nof_bench_beside(const char *name, char path[NOF_BENCH_PATH_BYTES])
{
    char here[NOF_BENCH_PATH_BYTES / 2];
    ssize_t n = readlink("/proc/self/exe", here, sizeof(here) - 1);
    char *slash;

    here[n > 0 ? n : 0] = '\0';
    slash = strrchr(here, '/');
    if (slash != NULL)
        *slash = '\0';
    snprintf(path, NOF_BENCH_PATH_BYTES, "%s/%s", here, name);
}

double nof_bench_cpu_s(pid_t pid)
{
    clockid_t clock;
    struct timespec ts;

    /* Nanoseconds; /proc/PID/stat counts in hundredths of a second. */
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &ts) != 0)
        return -1;
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

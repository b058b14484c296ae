/* SPDX-License-Identifier: BSD-3-Clause */
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "child.h"

#define OUTPUT_BYTES 65536
#define FAREWELL_MS 1000
#define END_MS 3000

static void each_line(char *text, void (*line)(void *ctx, const char *text), void *ctx)
{
    char *each;

    while ((each = strsep(&text, "\n")) != NULL)
        line(ctx, each);
}

int nof_bench_spawn(const char *const *argv, const char *log_path, unsigned timeout_s,
                    void (*line)(void *ctx, const char *text), void *ctx)
{
    char *text = malloc(OUTPUT_BYTES);
    struct nof_child child;
    int code;

    if (text == NULL || nof_child_start(&child, NULL, argv, NOF_CHILD_STDOUT, log_path) != 0) {
        free(text);
        return -1;
    }
    nof_child_read_all(&child, text, OUTPUT_BYTES, (int)timeout_s * 1000);
    code = nof_child_wait(&child, 1000);
    each_line(text, line, ctx);
    free(text);
    return code;
}

int nof_bench_spawn_peer(const char *const *argv, const char *told, unsigned timeout_s,
                         void (*line)(void *ctx, const char *text), void *ctx)
{
    char *text = malloc(OUTPUT_BYTES), rest[256];
    struct nof_child child;
    int rc;

    if (text == NULL || nof_child_start(&child, NULL, argv, NOF_CHILD_STDOUT, NULL) != 0) {
        free(text);
        return -1;
    }
    rc = nof_child_read_until(&child, text, OUTPUT_BYTES, told != NULL ? told : "\n" NOF_BENCH_DONE "\n",
                              (int)timeout_s * 1000);
    if (rc == 0)
        nof_child_read_all(&child, rest, sizeof(rest), FAREWELL_MS);
    nof_child_end(&child, END_MS);
    if (rc == 0)
        each_line(text, line, ctx);
    free(text);
    return rc == 0 ? 0 : -1;
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

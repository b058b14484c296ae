/* SPDX-License-Identifier: BSD-3-Clause */
#include "cores_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/spawn.h"

#define SECONDS "4"
#define MESSAGE_BYTES 1048576
#define START_MS 20000
#define JOB_S 60
#define END_MS 5000

/* Of all children that have been waited for, and theirs. */
static double cpu_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* Of a child that runs. */
static double spent_s(const struct nof_child *child)
{
    struct timespec t;
    clockid_t clock;

    if (clock_getcpuclockid(child->pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void take_messages(void *ctx, const char *text)
{
    long messages;

    if (sscanf(text, "%*u %*f %ld", &messages) == 1)
        *(long *)ctx = messages;
}

/* A private daemon: it copies itself, and ends with the job. */
static bool start_nofd(struct nof_child *nofd, const char *socket, unsigned cores)
{
    char path[NOF_BENCH_PATH_BYTES], number[16], text[256];
    const char *const argv[] = {path,       "--private", "--fabric",   "2", "--cores", number,
                                "--socket", socket,      "--ready-fd", "1", NULL};

    nof_bench_beside("nofd", path);
    snprintf(number, sizeof(number), "%u", cores);
    return nof_child_start(nofd, NULL, argv, NOF_CHILD_STDOUT, NULL) == 0 &&
           nof_child_read_until(nofd, text, sizeof(text), "ready", START_MS) == 0;
}

const char *nof_cores_ranks(unsigned cores, double *bytes_per_cpu_s_out)
{
    char nof[NOF_BENCH_PATH_BYTES], stream[NOF_BENCH_PATH_BYTES], socket[64], bytes[16];
    const char *const argv[] = {nof,  "run", "--nofd", socket,  "--hosts", "2",
                                "-n", "2",   stream,   SECONDS, bytes,     NULL};
    struct nof_child nofd = {.in_fd = -1, .out_fd = -1};
    double before_s = cpu_s();
    long messages = 0;
    int code;

    nof_bench_beside("nof", nof);
    nof_bench_beside("bench/mpi_stream", stream);
    if (access(stream, X_OK) != 0)
        return "bench/mpi_stream is not beside nof; run: ninja -C BUILD";
    snprintf(socket, sizeof(socket), "@nof-bench-cores-%d", (int)getpid());
    snprintf(bytes, sizeof(bytes), "%d", MESSAGE_BYTES);
    if (!start_nofd(&nofd, socket, cores)) {
        nof_child_end(&nofd, END_MS);
        return "nofd does not start; nofd --fabric 2 --cores 2 says why";
    }
    before_s += spent_s(&nofd); /* to start */
    code = nof_bench_spawn(argv, NULL, JOB_S, take_messages, &messages);
    if (code != 0)
        nof_child_end(&nofd, END_MS);
    else
        (void)nof_child_wait(&nofd, END_MS);
    if (code != 0 || messages <= 0)
        return "the job has failed; nof run -n 2 bench/mpi_stream 1 1048576 says why";
    *bytes_per_cpu_s_out = (double)messages * MESSAGE_BYTES / (cpu_s() - before_s);
    return NULL;
}

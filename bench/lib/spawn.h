/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs that print figures, and figures of many runs. Threads: one. */
#ifndef NOF_BENCH_SPAWN_H
#define NOF_BENCH_SPAWN_H

#include <stddef.h>
#include <sys/types.h>

#define NOF_BENCH_PATH_BYTES 1024
#define NOF_BENCH_DONE "done" /* the last line of a program that has told all its figures */

/* Runs it to its end (argv[0] is searched on PATH; no shell) and calls `line` for each line it printed, without
 * newline. log_path as nof_child_start(). Returns its exit code, 128 + N for signal N, -1 if it cannot be started;
 * after timeout_s it is killed. */
int nof_bench_spawn(const char *const *argv, const char *log_path, unsigned timeout_s,
                    void (*line)(void *ctx, const char *text), void *ctx);
/* The same for ranks of another MPI, which print the line NOF_BENCH_DONE before MPI_Finalize, or, of a program that is not
 * ours, the text `told` (else NULL): in there MPICH 4.0 over UCX
 * may wait for ever for a rank that has gone further, and who has not gone a second later is ended. Returns 0, or -1 without
 * any line if they were not done in time. */
int nof_bench_spawn_peer(const char *const *argv, const char *told, unsigned timeout_s,
                         void (*line)(void *ctx, const char *text), void *ctx);

/* "DIR/name" beside our own executable. */
void nof_bench_beside(const char *name, char path[NOF_BENCH_PATH_BYTES]);
/* CPU seconds of a process so far, user and system; -1 if it is gone. */
double nof_bench_cpu_s(pid_t pid);

#endif

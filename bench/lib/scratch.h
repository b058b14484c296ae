/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A folder for what a bench writes beside its result. A small process that outlives the bench removes it, so that none is
 * left behind however the bench ends, SIGKILL included. */
#ifndef NOF_BENCH_SCRATCH_H
#define NOF_BENCH_SCRATCH_H

/* Its path, under $TMPDIR, else /tmp; the same at each call. NULL: it cannot be made, see errno. The caller puts files
 * into it, no folders. */
const char *nof_bench_scratch(void);
/* One like it in memory, /dev/shm, for segments of programs that the bench starts, which they leave behind when they are killed with
 * it; where there is no such place, the same one. */
const char *nof_bench_scratch_memory(void);
/* The same for a bench that needs a program of the build tree; NULL: it has said why not. */
const char *nof_bench_scratch_for(const char *bench, const char *program);
/* Unlinks the files in a folder. */
void nof_bench_empty(const char *folder);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Child processes of a bench: started from an argument vector (no shell), with pipes where wanted,
 * ended with us whatever happens to us.
 *
 *   nof_child_start() -> nof_child_wait() or nof_child_end()
 *
 * Threads: one. */
#ifndef NOF_BENCH_CHILD_H
#define NOF_BENCH_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NOF_CHILD_ARGS_MAX 48

enum nof_child_pipes {
    NOF_CHILD_STDIN = 1, /* in_fd writes to it; else it reads /dev/null */
    NOF_CHILD_STDOUT = 2, /* out_fd reads from it; else it goes to the log */
};

struct nof_child {
    pid_t pid; /* 0: not running */
    int in_fd, out_fd; /* -1: none; closed by wait and end */
};

/* netns: run it inside this network namespace, NULL: ours. log_path: where stderr (and stdout without a
 * pipe) is appended, NULL: /dev/null. Returns 0 or -errno; a program that cannot be executed ends with
 * code 127. */
int nof_child_start(struct nof_child *child, const char *netns, const char *const *argv, int pipes,
                    const char *log_path);

/* Reads what it prints until it closes its output or timeout_ms have passed; NUL-terminated, what
 * does not fit is read and thrown away. Returns bytes kept. */
size_t nof_child_read_all(struct nof_child *child, char *text, size_t text_bytes, int timeout_ms);
/* The same until `needle` was printed: 0, or -ETIMEDOUT, -EPIPE when it ended before. */
int nof_child_read_until(struct nof_child *child, char *text, size_t text_bytes, const char *needle,
                         int timeout_ms);
/* 0, or -errno. */
int nof_child_write(struct nof_child *child, const char *text);

/* Waits for its end; after timeout_ms it is killed. Returns the exit code, or 128 + signal. */
int nof_child_wait(struct nof_child *child, int timeout_ms);
/* SIGTERM, and SIGKILL after grace_ms. Harmless on a child that does not run. */
void nof_child_end(struct nof_child *child, int grace_ms);

/* Runs a command line, words separated by single spaces, without shell or output. Returns its exit code. */
int nof_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

uint64_t nof_bench_now_ns(void);
void nof_bench_sleep_ms(unsigned ms);
/* Is there such a program on PATH? */
bool nof_bench_have(const char *program);

#endif

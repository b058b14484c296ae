/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof record` is `nof run` with a library preloaded into the ranks. */
#ifndef NOF_RECORD_H
#define NOF_RECORD_H

#include <argp.h>
#include <stdbool.h>

/* What another command adds to `nof run`. */
struct nof_run_more {
    const struct argp_child *options;
    const char *doc;
    /* With the program's arguments, before anything is started. False, with a sentence: nothing is. */
    bool (*begin)(const char *self, char *const *argv);
};

/* nof_cmd_run() with more; NULL: none. */
int nof_run_with(int argc, char **argv, const struct nof_run_more *more);

/* In the process that becomes a rank, before exec: what a recording puts into its environment, if there is one. */
void nof_record_environment(void);

#endif

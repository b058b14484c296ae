/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much faster patterns of tasks would be with delta messages than without, if nothing but computing and links took time
 * (docs/DELTA.md, "Model"). Threads: any. */
#ifndef NOF_BENCH_DELTA_MODEL_H
#define NOF_BENCH_DELTA_MODEL_H

#define NOF_DELTA_MODEL_TASKS_MAX 256u

enum nof_delta_pattern {
    NOF_DELTA_PAIR,
    NOF_DELTA_CASCADE,
    NOF_DELTA_RING,
    NOF_DELTA_REDUCE, /* a binary tree, children of task t: 2t + 1 and 2t + 2, whose sums take no time */
    NOF_DELTA_PATTERNS
};

struct nof_delta_model {
    double pages, delta_pages; /* of a message, of an increment */
    double page_us, wire_us; /* of computing, of the link, a page */
    unsigned rounds; /* of the ring */
};

extern const char *const nof_delta_pattern_name[NOF_DELTA_PATTERNS];

/* tasks: 2 to NOF_DELTA_MODEL_TASKS_MAX; pair takes 2. */
double nof_delta_ideal(const struct nof_delta_model *model, enum nof_delta_pattern pattern, unsigned tasks);

#endif

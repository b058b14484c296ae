/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables of collectives on a testbed: a row for each size (or random pattern), a column for each way, ours or another
 * MPI's. A column is an entry in a table: nothing else need be written for another one. */
#ifndef NOF_BENCH_COLLECTIVES_H
#define NOF_BENCH_COLLECTIVES_H

#include <stdbool.h>
#include <stdint.h>

#define NOF_COLL_COLUMNS_MAX 12u

enum nof_coll_who { NOF_COLL_OURS, NOF_COLL_MPICH, NOF_COLL_OPENMPI, NOF_COLL_NOBODY };

struct nof_coll_column {
    const char *name; /* NAME_ms in a row */
    enum nof_coll_who who;
    const char *collective; /* as bench/programs/coll_mpi.c names it; of NOBODY: why it is not measured */
    const char *environment; /* NAME=VALUE, or NULL */
    const char *set, *unset; /* a feature before it, and after it; or NULL */
    bool may_drop; /* it has a count of dropped frames of its own */
};

/* What the paper says, of 16 hosts, 100 Mbit/s and buffers of 60 kB. */
struct nof_coll_paper {
    uint64_t bytes; /* 0: behind the last */
    const char *name; /* NAME_ms, inside "paper" */
    double ms;
};

struct nof_coll_table {
    const char *about; /* for --help */
    const struct nof_coll_column *columns; /* the last one has no name */
    const struct nof_coll_column *random; /* the same for --random; NULL: there is no such option */
    const char *sizes; /* by default */
    const struct nof_coll_paper *paper, *random_paper; /* or NULL */
    bool sim; /* there is an option --sim: columns that are among NOF_SIM_TIMED_WAYS, in virtual time */
};

/* A bench, from its arguments to its result: 0 if all was measured that can be on the network that was asked for. */
int nof_coll_bench(const struct nof_coll_table *table, int argc, char **argv);

#endif

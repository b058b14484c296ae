/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench alltoallv`: compiled communication of an all-to-all at its three levels, on a switched network of slow links and
 * short buffers. Paper: compiled communication, tables 2 (--levels) and 3 (--random). */
#include "../tools/nof/commands.h"
#include "collectives.h"

#include <stddef.h>

#define GREEDY "NOF_SCHEDULE=greedy"

int nof_bench_alltoallv(int argc, char **argv)
{
    static const struct nof_coll_column levels[] = {
        {"auto", NOF_COLL_OURS, "alltoallv", NULL, NULL, NULL, false},
        {"level1", NOF_COLL_OURS, "alltoallv:level1", NULL, NULL, NULL, false},
        {"level2", NOF_COLL_OURS, "alltoallv:level2", NULL, NULL, NULL, false},
        {"level3", NOF_COLL_OURS, "alltoallv:level3", NULL, NULL, NULL, false},
        {"at_once", NOF_COLL_OURS, "alltoallv:at-once", NULL, NULL, NULL, true},
        {"mpich", NOF_COLL_MPICH, "alltoallv", NULL, NULL, NULL, false},
        {"openmpi", NOF_COLL_OPENMPI, "alltoallv", NULL, NULL, NULL, false},
        {NULL, NOF_COLL_NOBODY, NULL, NULL, NULL, NULL, false},
    };
    static const struct nof_coll_column random[] = {
        {"auto", NOF_COLL_OURS, "alltoallv", NULL, NULL, NULL, false},
        {"level1", NOF_COLL_OURS, "alltoallv:level1", NULL, NULL, NULL, false},
        {"level2", NOF_COLL_OURS, "alltoallv:level2", NULL, NULL, NULL, false},
        {"level3", NOF_COLL_OURS, "alltoallv:level3", NULL, NULL, NULL, false},
        {"greedy1", NOF_COLL_OURS, "alltoallv:level1", GREEDY, NULL, NULL, false},
        {"greedy2", NOF_COLL_OURS, "alltoallv:level2", GREEDY, NULL, NULL, false},
        {"greedy3", NOF_COLL_OURS, "alltoallv:level3", GREEDY, NULL, NULL, false},
        {"at_once", NOF_COLL_OURS, "alltoallv:at-once", NULL, NULL, NULL, true},
        {"mpich", NOF_COLL_MPICH, "alltoallv", NULL, NULL, NULL, false},
        {"openmpi", NOF_COLL_OPENMPI, "alltoallv", NULL, NULL, NULL, false},
        {NULL, NOF_COLL_NOBODY, NULL, NULL, NULL, NULL, false},
    };
    static const struct nof_coll_table table = {
        "MPI_Alltoallv as the library chooses (auto), compiled communication of level 1 (counts gathered and "
        "dealt into "
        "phases each time), 2 (given and dealt each time) and 3 (phases loaded before), all messages at "
        "once, and other "
        "MPIs over TCP. limit: the fullest link. Patterns of --random are dealt by the algorithm alltoall "
        "(level1..3) and "
        "by greedy (greedy1..3).",
        levels, random, "2k,4k,8k,16k,32k,64k"};

    return nof_coll_bench(&table, argc, argv);
}

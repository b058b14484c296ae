/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench alltoallv`: compiled communication of an all-to-all at its three levels, on a switched network of slow links and
 * short buffers. Paper: compiled communication, tables 2 (--levels) and 3 (--random). */
#include "../tools/nof/commands.h"
#include "collectives.h"

#include <stddef.h>

#define GREEDY "NOF_SCHEDULE=greedy"

static const struct nof_coll_paper paper[] = {
    {2048, "level1", 23.6},
    {2048, "level2", 21.2},
    {2048, "level3", 20.0},
    {2048, "at_once", 3.5},
    {4096, "level1", 26.4},
    {4096, "level2", 24.1},
    {4096, "level3", 22.8},
    {4096, "at_once", 8.5},
    {8192, "level1", 32.5},
    {8192, "level2", 30.1},
    {8192, "level3", 28.8},
    {8192, "at_once", 30.2},
    {16384, "level1", 44.5},
    {16384, "level2", 42.2},
    {16384, "level3", 40.9},
    {16384, "at_once", 88.0},
    {32768, "level1", 67.4},
    {32768, "level2", 65.1},
    {32768, "level3", 63.7},
    {32768, "at_once", 142.4},
    {65536, "level1", 112.0},
    {65536, "level2", 109.7},
    {65536, "level3", 108.4},
    {65536, "at_once", 214.1},
    {0, NULL, 0},
};

static const struct nof_coll_paper random_paper[] = {
    {65536, "level1", 108.3},  {65536, "level2", 106.0},  {65536, "level3", 105.9},
    {65536, "greedy1", 125.5}, {65536, "greedy2", 123.3}, {65536, "greedy3", 123.2},
    {65536, "lam", 165.5},     {65536, "mpich", 358.3},   {0, NULL, 0},
};

int nof_bench_alltoallv(int argc, char **argv)
{
    static const struct nof_coll_column levels[] = {
        {"auto", NOF_COLL_OURS, "alltoallv", NULL, NULL, NULL, false},
        {"level1", NOF_COLL_OURS, "alltoallv:level1", NULL, NULL, NULL, false},
        {"level2", NOF_COLL_OURS, "alltoallv:level2", NULL, NULL, NULL, false},
        {"level3", NOF_COLL_OURS, "alltoallv:level3", NULL, NULL, NULL, false},
        {"persistent", NOF_COLL_OURS, "alltoallv:persistent", NULL, NULL, NULL, false},
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
        "phases each time), 2 (given and dealt each time) and 3 (phases loaded before), MPI_Alltoallv_init "
        "once and then "
        "started (persistent), all messages at "
        "once, and other "
        "MPIs over TCP. limit: the fullest link. Patterns of --random are dealt by the algorithm alltoall "
        "(level1..3) and "
        "by greedy (greedy1..3).",
        levels,
        random,
        "2k,4k,8k,16k,32k,64k",
        paper,
        random_paper,
        true};

    return nof_coll_bench(&table, argc, argv);
}

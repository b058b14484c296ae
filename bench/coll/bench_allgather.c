/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench allgather`: an allgather on a switched network of slow links and short buffers. Paper: compiled communication,
 * table 1. */
#include "../tools/nof/commands.h"
#include "collectives.h"

#include <stddef.h>

static const struct nof_coll_paper paper[] = {
    {1, "multicast", 1.8},
    {1, "unicast", 1.1},
    {1, "phased", 17.7},
    {1, "lam", 0.7},
    {1, "mpich", 1.9},
    {1024, "multicast", 8.7},
    {1024, "unicast", 9.4},
    {1024, "phased", 18.1},
    {1024, "lam", 7.6},
    {1024, "mpich", 5.0},
    {8192, "multicast", 61.4},
    {8192, "unicast", 82.5},
    {8192, "phased", 28.7},
    {8192, "lam", 108.4},
    {8192, "mpich", 15.3},
    {65536, "multicast", 494.2},
    {65536, "unicast", 705.2},
    {65536, "phased", 112.2},
    {65536, "lam", 937.7},
    {65536, "mpich", 335.0},
    {262144, "multicast", 1987.0},
    {262144, "unicast", 2739.6},
    {262144, "phased", 378.8},
    {262144, "lam", 3706.8},
    {262144, "mpich", 905.1},
    {0, NULL, 0},
};

int nof_bench_allgather(int argc, char **argv)
{
    static const struct nof_coll_column columns[] = {
        {"auto", NOF_COLL_OURS, "allgather", NULL, NULL, NULL, false},
        {"multicast", NOF_COLL_OURS, "allgather:multicast", NULL, "multicast=on", "multicast=off", false},
        {"unicast", NOF_COLL_OURS, "allgather:unicast", NULL, NULL, NULL, true},
        {"phased", NOF_COLL_OURS, "allgather:phased", NULL, NULL, NULL, false},
        {"mpich", NOF_COLL_MPICH, "allgather", NULL, NULL, NULL, false},
        {"openmpi", NOF_COLL_OPENMPI, "allgather", NULL, NULL, NULL, false},
        {NULL, NOF_COLL_NOBODY, NULL, NULL, NULL, NULL, false},
    };
    static const struct nof_coll_table table = {
        "An allgather, one rank a host: as the library chooses "
        "(auto), by a broadcast from each, of 32 KiB and more by "
        "multicast (multicast), by a message from each to each, all at once "
        "(unicast) or in phases (phased), and by other MPIs over "
        "TCP. limit: what a host receives, at the rate of its "
        "link.",
        columns,
        NULL,
        "1,1k,8k,64k,256k",
        paper,
        NULL,
        true};

    return nof_coll_bench(&table, argc, argv);
}

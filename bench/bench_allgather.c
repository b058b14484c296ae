/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench allgather`: an allgather on a switched network of slow links and short buffers. Paper: compiled communication,
 * table 1. */
#include "../tools/nof/commands.h"
#include "collectives.h"

#include <stddef.h>

int nof_bench_allgather(int argc, char **argv)
{
    static const struct nof_coll_column columns[] = {
        {"auto", NOF_COLL_OURS, "allgather", NULL, NULL, NULL, false},
        {"multicast", NOF_COLL_NOBODY, "the library has no multicast yet", NULL, NULL, NULL, false},
        {"unicast", NOF_COLL_OURS, "allgather:unicast", NULL, NULL, NULL, true},
        {"phased", NOF_COLL_OURS, "allgather:phased", NULL, NULL, NULL, false},
        {"mpich", NOF_COLL_MPICH, "allgather", NULL, NULL, NULL, false},
        {"openmpi", NOF_COLL_OPENMPI, "allgather", NULL, NULL, NULL, false},
        {NULL, NOF_COLL_NOBODY, NULL, NULL, NULL, NULL, false},
    };
    static const struct nof_coll_table table = {"An allgather, one rank a host: as the library chooses "
                                                "(auto), by a message from each to each, all at once "
                                                "(unicast) or in phases (phased), and by other MPIs over "
                                                "TCP. limit: what a host receives, at the rate of its "
                                                "link.",
                                                columns, NULL, "1,1k,8k,64k,256k"};

    return nof_coll_bench(&table, argc, argv);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench alltoall`: an all-to-all on a switched network of slow links and short buffers, in the ways that the library
 * has, beside what the link carries and other MPIs. Paper: compiled communication, figures 11 and 12. */
#include "../tools/nof/commands.h"
#include "collectives.h"

#include <stddef.h>

int nof_bench_alltoall(int argc, char **argv)
{
    static const struct nof_coll_column columns[] = {
        {"auto", NOF_COLL_OURS, "alltoall", NULL, NULL, NULL, false},
        {"pairwise", NOF_COLL_OURS, "alltoall", "NOF_ALLTOALL=pairwise", NULL, NULL, false},
        {"barrier", NOF_COLL_OURS, "alltoall", "NOF_ALLTOALL=barrier", NULL, NULL, true},
        {"unscheduled", NOF_COLL_OURS, "alltoall", "NOF_ALLTOALL=unscheduled", "grant_bytes=0",
         "grant_bytes=28672", true},
        {"mpich", NOF_COLL_MPICH, "alltoall", NULL, NULL, NULL, false},
        {"openmpi", NOF_COLL_OPENMPI, "alltoall", NULL, NULL, NULL, false},
        {NULL, NOF_COLL_NOBODY, NULL, NULL, NULL, NULL, false},
    };
    static const struct nof_coll_table table = {"An all-to-all, one rank a host: as the library chooses "
                                                "(auto), in rounds (pairwise), in rounds with a barrier "
                                                "between them, all messages at once without a budget of the "
                                                "receivers (unscheduled), and by other MPIs over TCP. "
                                                "limit: the payload of one host at the rate of its link.\vA "
                                                "row says how many frames the switch dropped, for want "
                                                "of buffer, from auto and pairwise, and whether the "
                                                "machine's CPUs had nothing left, so that they and not the "
                                                "link may be what it shows.",
                                                columns,
                                                NULL,
                                                "64,1k,4k,16k,64k,256k",
                                                NULL,
                                                NULL,
                                                true};

    return nof_coll_bench(&table, argc, argv);
}

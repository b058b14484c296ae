/* SPDX-License-Identifier: BSD-3-Clause */
/* Which algorithm a table says: its first row that fits and can, else the library's own; what the environment asks for goes
 * before. A line that cannot be read is said with its number, what is wrong, and what to write. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "coll/agree.h"
#include "coll/select.h"

#define ALLTOALL_ALL \
    (NOF_CAN(NOF_ALLTOALL_BRUCK) | NOF_CAN(NOF_ALLTOALL_PAIRWISE) | NOF_CAN(NOF_ALLTOALL_BARRIER) | \
     NOF_CAN(NOF_ALLTOALL_UNSCHEDULED))

static int agreed_on = -1;
static char error[1024];

void nof_coll_agree_way(struct nof_sched *s, unsigned way)
{
    (void)s;
    agreed_on = (int)way;
}

static enum nof_algorithm of(int ranks, size_t bytes, uint64_t can)
{
    struct nof_sched s = {.size = ranks};
    enum nof_algorithm algorithm = nof_select(&s, bytes, can);
    check(agreed_on == (int)algorithm);
    return algorithm;
}

static void is(const char *text)
{
    if (nof_select_read("t", text, error, sizeof(error)) != 0) {
        fprintf(stderr, "%s\n", error);
        check(false);
    }
}

static void is_bad(const char *text, const char *says)
{
    error[0] = '\0';
    check(nof_select_read("the/table", text, error, sizeof(error)) == -1);
    if (strstr(error, says) == NULL) {
        fprintf(stderr, "it says: %s\nwithout: %s\n", error, says);
        check(false);
    }
}

static void own_rows(void)
{
    is("");
    check(of(16, 64, ALLTOALL_ALL) == NOF_ALLTOALL_PAIRWISE);
    check(of(128, 64, ALLTOALL_ALL) == NOF_ALLTOALL_BRUCK);
    check(of(128, 65, ALLTOALL_ALL) == NOF_ALLTOALL_PAIRWISE);
    check(of(16, 16384, ALLTOALL_ALL) == NOF_ALLTOALL_PAIRWISE);
    check(of(128, 64, ALLTOALL_ALL & ~NOF_CAN(NOF_ALLTOALL_BRUCK)) == NOF_ALLTOALL_PAIRWISE);
    check(of(9, 64, NOF_CAN(NOF_ALLGATHER_BRUCK) | NOF_CAN(NOF_ALLGATHER_PAIRWISE)) == NOF_ALLGATHER_BRUCK);
    check(of(9, 65, NOF_CAN(NOF_ALLGATHER_BRUCK) | NOF_CAN(NOF_ALLGATHER_PAIRWISE)) ==
          NOF_ALLGATHER_PAIRWISE);
    check(of(8, 1 << 20, NOF_CAN(NOF_REDUCE_TREE)) == NOF_REDUCE_TREE);
    check(of(8, 1 << 20, NOF_CAN(NOF_REDUCE_TREE) | NOF_CAN(NOF_REDUCE_HALVING)) == NOF_REDUCE_HALVING);
    /* Halving is for powers of two: else whole vectors go to and fro before it. */
    const uint64_t reduce = NOF_CAN(NOF_REDUCE_TREE) | NOF_CAN(NOF_REDUCE_HALVING);
    check(of(16, 2048, reduce) == NOF_REDUCE_TREE && of(16, 2049, reduce) == NOF_REDUCE_HALVING);
    check(of(3, 1 << 20, reduce) == NOF_REDUCE_TREE && of(5, 1 << 20, reduce) == NOF_REDUCE_HALVING);
    check(of(12, 4096, reduce) == NOF_REDUCE_TREE && of(17, 4096, reduce) == NOF_REDUCE_HALVING);
    const uint64_t allreduce = NOF_CAN(NOF_ALLREDUCE_DOUBLING) | NOF_CAN(NOF_ALLREDUCE_HALVING) |
                               NOF_CAN(NOF_ALLREDUCE_RING) | NOF_CAN(NOF_ALLREDUCE_TREE);
    check(of(8, 8192, allreduce) == NOF_ALLREDUCE_HALVING && of(5, 8192, allreduce) == NOF_ALLREDUCE_RING);
    check(of(5, 4096, allreduce) == NOF_ALLREDUCE_DOUBLING &&
          of(17, 8192, allreduce) == NOF_ALLREDUCE_HALVING);
    check(of(17, 8193, allreduce) == NOF_ALLREDUCE_RING);
    const uint64_t scatter = NOF_CAN(NOF_REDUCE_SCATTER_HALVING) | NOF_CAN(NOF_REDUCE_SCATTER_PAIRWISE);
    check(of(8, 8192, scatter) == NOF_REDUCE_SCATTER_HALVING);
    check(of(7, 8192, scatter) == NOF_REDUCE_SCATTER_PAIRWISE);
    const uint64_t bcast = NOF_CAN(NOF_BCAST_TREE) | NOF_CAN(NOF_BCAST_DOUBLING) | NOF_CAN(NOF_BCAST_RING);
    check(of(16, 2048, bcast) == NOF_BCAST_TREE && of(16, 2049, bcast) == NOF_BCAST_DOUBLING);
    check(of(4, 65536, bcast) == NOF_BCAST_TREE && of(16, 1 << 18, bcast) == NOF_BCAST_RING);
    /* Whatever can be asked there is an answer that can do it. */
    for (int ranks = 1; ranks <= 4096; ranks = ranks * 3 / 2 + 1)
        for (uint64_t bytes = 0; bytes < UINT64_C(1) << 40; bytes = bytes * 5 + 1)
            for (int i = 0; i < NOF_ALGORITHM_COUNT; i++)
                check(of(ranks, bytes, NOF_CAN(i)) == (enum nof_algorithm)i);
    check(nof_select_counted_by[NOF_SELECTED_BY_TABLE] == 0);
}

static void rows_of_a_table(void)
{
    unsigned long long by_default = nof_select_counted_by[NOF_SELECTED_BY_DEFAULT];
    is("# COLLECTIVE RANKS BYTES ALGORITHM\n"
       "\n"
       "alltoall\t8  1K unscheduled   # a comment\r\n"
       "  alltoall  4  64k barrier\n"
       "alltoall 4 1M bruck\n"
       "bcast 1 any ring");
    check(of(8, 1024, ALLTOALL_ALL) == NOF_ALLTOALL_UNSCHEDULED);
    check(of(7, 1024, ALLTOALL_ALL) == NOF_ALLTOALL_BARRIER);
    check(of(8, 1025, ALLTOALL_ALL) == NOF_ALLTOALL_BARRIER);
    check(of(4, 65537, ALLTOALL_ALL) == NOF_ALLTOALL_BRUCK);
    check(of(4, 1 << 20, ALLTOALL_ALL) == NOF_ALLTOALL_BRUCK);
    /* A row whose algorithm cannot is none; what no row is for is the library's. */
    check(of(8, 1024, NOF_CAN(NOF_ALLTOALL_BARRIER) | NOF_CAN(NOF_ALLTOALL_BRUCK)) == NOF_ALLTOALL_BARRIER);
    check(nof_select_counted_by[NOF_SELECTED_BY_DEFAULT] == by_default);
    check(of(3, 65537, ALLTOALL_ALL) == NOF_ALLTOALL_PAIRWISE);
    check(of(4, (1 << 20) + 1, ALLTOALL_ALL) == NOF_ALLTOALL_PAIRWISE);
    check(nof_select_counted_by[NOF_SELECTED_BY_DEFAULT] == by_default + 2);
    check(of(2, SIZE_MAX, NOF_CAN(NOF_BCAST_TREE) | NOF_CAN(NOF_BCAST_RING)) == NOF_BCAST_RING);
    /* Not agreed on. */
    agreed_on = -1;
    unsigned long long before = nof_select_counted[NOF_ALLTOALL_UNSCHEDULED];
    check(nof_select_alone(&(struct nof_sched){.size = 8}, 1, ALLTOALL_ALL) == NOF_ALLTOALL_UNSCHEDULED);
    check(agreed_on == -1 && nof_select_counted[NOF_ALLTOALL_UNSCHEDULED] == before + 1);
    is("allreduce 1 any halving"); /* of any number of ranks */
    check(of(5, 8192, NOF_CAN(NOF_ALLREDUCE_HALVING) | NOF_CAN(NOF_ALLREDUCE_RING)) == NOF_ALLREDUCE_HALVING);
}

static void bad_lines(void)
{
    is_bad("alltoall 1 any bruck\nalltoal 1 any bruck\n", "the/table:2: 'alltoal' is no collective");
    is_bad("alltoal 1 any bruck\n",
           "barrier, alltoall, allgather, allreduce, bcast, reduce, reduce_scatter, gather, scatter");
    is_bad("alltoall 1 any brook",
           "the/table:1: 'brook' is no algorithm of alltoall: write one of bruck, pairwise");
    is_bad("allgather 1 any tree", "write one of bruck, ring, pairwise, hierarchical, lanes");
    is_bad("alltoall 0 any bruck", "'0' ranks");
    is_bad("alltoall 8+ any bruck", "'8+' ranks");
    is_bad("alltoall -1 any bruck", "'-1' ranks");
    is_bad("alltoall 99999999999999999999 any bruck", "ranks");
    is_bad("alltoall 2147483648 any bruck", "ranks");
    is_bad("alltoall 1 1Q bruck", "'1Q' bytes: write the most");
    is_bad("alltoall 1 1KB bruck", "'1KB' bytes");
    is_bad("alltoall 1 K bruck", "'K' bytes");
    is_bad("alltoall 1 17179869184G bruck", "bytes");
    is_bad("alltoall 1 18446744073709551615 bruck", "bytes");
    is_bad("\n\nalltoall 1 any", "the/table:3: 3 words: write COLLECTIVE RANKS BYTES ALGORITHM");
    is_bad("alltoall", "the/table:1: 1 word: write COLLECTIVE RANKS BYTES ALGORITHM");
    is_bad("alltoall 1 any bruck now", "5 words");
    is_bad("alltoall 1 any bruck and some more", "7 words");
    char *text = calloc(1, 64 * 1024);
    memset(text, ' ', 600);
    is_bad(text, "longer than 511 characters");
    text[0] = '\0';
    for (int i = 0; i < 256; i++)
        strcat(text, "bcast 1 1 tree\n");
    is(text);
    strcat(text, "bcast 1 2 tree\n");
    is_bad(text, "the/table:257: more than 256 rows");
    free(text);
    /* Of a table that is refused nothing stays. */
    check(of(2, 1 << 20, NOF_CAN(NOF_BCAST_TREE) | NOF_CAN(NOF_BCAST_RING)) == NOF_BCAST_TREE);
}

/* Between the NICs of a hierarchical one, as of so many ranks; that counts, too, among what is agreed on. */
static void parts(void)
{
    struct nof_sched s = {.size = 16};
    uint64_t can = NOF_CAN(NOF_ALLREDUCE_DOUBLING) | NOF_CAN(NOF_ALLREDUCE_RING);
    is("allreduce 8 any ring\nallreduce 1 any doubling");
    check(nof_select_part(&s, 7, 1000, can) == NOF_ALLREDUCE_DOUBLING && agreed_on == NOF_ALLREDUCE_DOUBLING);
    check(nof_select_part(&s, 8, 1000, can) == NOF_ALLREDUCE_RING && agreed_on == NOF_ALLREDUCE_RING);
    is("");
    can |= NOF_CAN(NOF_ALLREDUCE_HIERARCHICAL);
    check(of(16, 1000, can) == NOF_ALLREDUCE_HIERARCHICAL);
    check(of(16, 1 << 20, can | NOF_CAN(NOF_ALLREDUCE_LANES)) == NOF_ALLREDUCE_LANES);
    is("allreduce 1 any doubling");
    check(of(16, 1000, can) == NOF_ALLREDUCE_DOUBLING);
}

static void order_of_reductions(void)
{
    is("");
    check(nof_select_open(error, sizeof(error)) == 0 && !nof_select_by_ranks());
    check(setenv("NOF_REDUCTION_ORDER", "ranks", 1) == 0);
    check(nof_select_open(error, sizeof(error)) == 0 && nof_select_by_ranks());
    check(setenv("NOF_REDUCTION_ORDER", "placement", 1) == 0);
    check(nof_select_open(error, sizeof(error)) == 0 && !nof_select_by_ranks());
    check(setenv("NOF_REDUCTION_ORDER", "rank", 1) == 0);
    check(nof_select_open(error, sizeof(error)) == -1 &&
          strstr(error, "NOF_REDUCTION_ORDER=rank: it is placement or ranks") != NULL);
    check(unsetenv("NOF_REDUCTION_ORDER") == 0);
}

static int open_with(const char *table, const char *alltoall)
{
    error[0] = '\0';
    check((table != NULL ? setenv("NOF_COLL_TABLE", table, 1) : unsetenv("NOF_COLL_TABLE")) == 0);
    check((alltoall != NULL ? setenv("NOF_ALLTOALL", alltoall, 1) : unsetenv("NOF_ALLTOALL")) == 0);
    return nof_select_open(error, sizeof(error));
}

static void environment(void)
{
    char name[] = "/tmp/nof-select-XXXXXX";
    int fd = mkstemp(name);
    static const char text[] = "alltoall 1 any unscheduled\nallgather 1 any ring\n";
    check(fd >= 0 && unlink(name) == 0); /* nothing is left of it, whatever fails below */
    snprintf(name, sizeof(name), "/dev/fd/%d", fd);
    check(write(fd, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1);
    check(open_with(name, "auto") == 0);
    check(of(16, 64, ALLTOALL_ALL) == NOF_ALLTOALL_UNSCHEDULED &&
          !nof_select_asked(NOF_ALLTOALL_UNSCHEDULED));
    check(open_with(name, "bruck") == 0);
    check(of(16, 1 << 20, ALLTOALL_ALL) == NOF_ALLTOALL_BRUCK && nof_select_asked(NOF_ALLTOALL_BRUCK));
    check(nof_select_counted_by[NOF_SELECTED_BY_ENVIRONMENT] == 1);
    check(of(16, 1 << 20, ALLTOALL_ALL & ~NOF_CAN(NOF_ALLTOALL_BRUCK)) == NOF_ALLTOALL_UNSCHEDULED);
    check(of(16, 64, NOF_CAN(NOF_ALLGATHER_BRUCK) | NOF_CAN(NOF_ALLGATHER_RING)) == NOF_ALLGATHER_RING);
    check(open_with(NULL, "ring") == -1 &&
          strstr(error, "NOF_ALLTOALL=ring: it is auto, bruck, pairwise") != NULL);
    check(open_with("/nowhere/at/all", NULL) == -1 &&
          strstr(error, "NOF_COLL_TABLE=/nowhere/at/all: No such") != NULL);
    check(open_with("/tmp", NULL) == -1 && strstr(error, "/tmp: Is a directory") != NULL);
    check(write(fd, "", 1) == 1);
    check(open_with(name, NULL) == -1 && strstr(error, "no table") != NULL);
    check(ftruncate(fd, 0) == 0 && ftruncate(fd, 1 << 20) == 0);
    check(open_with(name, NULL) == -1 && strstr(error, "at most 65536 bytes") != NULL);
    check(close(fd) == 0);
}

int main(void)
{
    own_rows();
    rows_of_a_table();
    bad_lines();
    parts();
    environment();
    check(open_with(NULL, NULL) == 0);
    order_of_reductions();
    return 0;
}

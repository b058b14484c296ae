/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One seed of the simulator: a cluster, its traffic, its faults, its verdict. Same seed, same run.
 *
 *   phase one: traffic under faults, safety is checked at each step
 *   phase two: everything heals; all that was promised must be delivered, then all must be quiet */
#ifndef NOF_SIM_H
#define NOF_SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct nof_sim_result {
    uint64_t seed;
    bool ok;
    char violation[1024]; /* when not ok */
    uint64_t digest;
    uint64_t messages, bytes;
    uint64_t lost, duplicated, reordered, corrupted, partitions, restarts, core_stalls;
    uint64_t rings_full; /* frames that found their core's ring full */
    uint64_t pulls_refused; /* by NICs without room, and asked again */
};

/* trace: one line per event goes there; NULL: none. */
void nof_sim_run(uint64_t seed, FILE *trace, struct nof_sim_result *result_out);

/* The same with several cores on each NIC, which take turns, and hand-over rings that fill. */
void nof_sim_run_cores(uint64_t seed, FILE *trace, struct nof_sim_result *result_out);
/* The same with hosts that run the MPI library's own code, and MPI programs that are drawn (library/seam.h). */
void nof_sim_run_library(uint64_t seed, FILE *trace, struct nof_sim_result *result_out);
/* The same with collectives alone, of processes some of which are killed. */
void nof_sim_run_deaths(uint64_t seed, FILE *trace, struct nof_sim_result *result_out);
/* First of all in a process that calls one of them. */
void nof_sim_library_prepare(void);
/* NULL, or why there are none. */
const char *nof_sim_library_absent(void);

/* Bytes per silent peer and per endpoint of a large cluster, measured after all pairs have talked. */
struct nof_sim_scale {
    unsigned nics, endpoints;
    uint64_t messages;
    uint64_t paths;
    uint64_t mem_bytes; /* of one NIC core */
    uint64_t peer_bytes; /* core.mem_peer_bytes */
    uint64_t endpoint_bytes; /* core.mem_endpoint_bytes */
    double mem_size_per_peer_bytes; /* growth of nof_nic_mem_size() per path and peer, for comparison */
    double mem_size_per_endpoint_bytes;
    char problem[512]; /* empty: all traffic was verified */
};
int nof_sim_run_scale(unsigned nics, unsigned endpoints, struct nof_sim_scale *result_out);

/* How much of a collective goes on while its ranks compute (`nof bench overlap`), and how long it takes, in virtual time. Only
 * where the MPI library is built. */
enum nof_sim_collective {
    NOF_SIM_IBARRIER,
    NOF_SIM_IBCAST,
    NOF_SIM_IALLGATHER,
    NOF_SIM_IALLTOALL,
    NOF_SIM_IALLREDUCE,
    NOF_SIM_OVERLAPPED, /* so many `nof bench overlap` shows */
    NOF_SIM_IREDUCE = NOF_SIM_OVERLAPPED,
    NOF_SIM_IREDUCE_SCATTER,
    NOF_SIM_COLLECTIVES
};
#define NOF_SIM_OVERLAP_HOSTS_MAX 64u
struct nof_sim_overlap {
    const char *collective;
    double overlap;
    double pure_us;
    uint64_t link_bytes; /* that the NICs sent, in all */
    uint64_t descs; /* that a rank gave its NIC for one, at most */
    char problem[512]; /* empty: all went well, and gave what it must */
};
struct nof_sim_overlap_config {
    unsigned hosts; /* 2..NOF_SIM_OVERLAP_HOSTS_MAX, which the ranks are, too, at most */
    unsigned ranks; /* 0: as many as hosts */
    bool in_blocks; /* neighbours share a host; else dealt round */
    enum nof_sim_collective collective;
    bool by_nic;
    uint32_t bytes; /* of a block: a multiple of 8 */
    uint64_t rate_bps; /* of a link; 0: 10 Gbit/s */
    const char *table; /* of algorithms (NOF_COLL_TABLE), a text; NULL: none */
};
/* Same arguments: same figures. */
void nof_sim_run_overlap(const struct nof_sim_overlap_config *config, struct nof_sim_overlap *result_out);

/* How long what ranks, one on each of so many hosts, do together takes in virtual time, on a switched network. Only where the
 * MPI library is built. X(ID, name, what it is) */
#define NOF_SIM_TIMED_WAYS(X) \
    X(ALLTOALL, "alltoall", "MPI_Alltoall") \
    X(ALLTOALL_PAIRWISE, "alltoall:pairwise", "the same, by the algorithm pairwise") \
    X(ALLTOALL_BARRIER, "alltoall:barrier", "by barrier") \
    X(ALLTOALL_UNSCHEDULED, "alltoall:unscheduled", "by unscheduled, without a budget of the receivers") \
    X(ALLTOALL_IN_PLACE, "alltoall:in-place", "MPI_Alltoall with MPI_IN_PLACE") \
    X(ALLTOALL_IN_PLACE_AT_ONCE, "alltoall:in-place-at-once", "the same, by unscheduled") \
    X(ALLTOALLV, "alltoallv", "MPI_Alltoallv") \
    X(LEVEL1, "alltoallv:level1", "MPIX_Alltoallv_control1, _data_trans2") \
    X(LEVEL2, "alltoallv:level2", "MPIX_Alltoallv_control2, _data_trans2") \
    X(LEVEL3, "alltoallv:level3", "_data_trans2 of phases that are loaded") \
    X(AT_ONCE, "alltoallv:at-once", "_data_trans1 of them") \
    X(PERSISTENT, "alltoallv:persistent", "MPI_Start of MPI_Alltoallv_init") \
    X(ALLGATHER, "allgather", "MPI_Allgather") \
    X(ALLGATHER_UNICAST, "allgather:unicast", "_data_trans1") \
    X(ALLGATHER_PHASED, "allgather:phased", "_data_trans2") \
    X(ALLGATHER_MULTICAST, "allgather:multicast", "MPI_Bcast from each, with multicast on") \
    X(GATHER, "gather", "MPI_Gather to rank 0") \
    X(GATHER_TREE, "gather:tree", "the same, by the algorithm tree") \
    X(GATHER_LINEAR, "gather:linear", "by linear") \
    X(DSM_LEVEL1, "dsm:level1", "a barrier of a shared memory (bench/programs/dsm.h)") \
    X(DSM_DYNAMIC, "dsm:dynamic", "the same, without a budget of the receivers")

enum nof_sim_timed_way {
#define X(id, name, what) NOF_SIM_TIMED_##id,
    NOF_SIM_TIMED_WAYS(X)
#undef X
        NOF_SIM_TIMED_COUNT
};

struct nof_sim_timed {
    unsigned hosts; /* 2..NOF_SIM_OVERLAP_HOSTS_MAX */
    bool by_nic; /* who goes through collectives */
    uint32_t amount; /* bytes of a message, or pages */
    unsigned times;
    uint64_t rate_bps, buffer_bytes; /* of each link, and of the switch towards it */
    uint32_t mtu_bytes;
    /* The answer, of the slowest rank each time: */
    double median_ms, sum_ms;
    uint64_t descs; /* that a rank gave its NIC the last time, at most */
    uint64_t drops; /* frames that found the buffer full, in all times and those before */
    char problem[512]; /* empty: all went well, and gave what it must */
};
/* NOF_SIM_TIMED_COUNT if there is none of that name. */
enum nof_sim_timed_way nof_sim_timed_way(const char *name);
/* Same arguments: same figures. */
void nof_sim_run_timed(enum nof_sim_timed_way way, struct nof_sim_timed *t);

/* How long the collectives of a recording take, with what was computed between them, a rank on each host. Only where the MPI
 * library is built. */
struct coll_trace; /* bench/programs/coll_trace.h */
struct nof_sim_replay {
    unsigned hosts; /* 2..NOF_SIM_OVERLAP_HOSTS_MAX */
    bool by_nic; /* who goes through collectives */
    const struct coll_trace *trace; /* [hosts], which fit each other */
    double factor; /* of what was computed */
    uint64_t rate_bps, buffer_bytes; /* of each link, and of the switch towards it */
    uint32_t mtu_bytes;
    /* The answer, of the slowest rank: */
    double s;
    uint64_t drops; /* frames that found the buffer full */
    char problem[512]; /* empty: all went well */
};
/* Same arguments: same figures. */
void nof_sim_run_replay(struct nof_sim_replay *r);

/* How long tasks take that work on parts of messages (bench/programs/delta_patterns.h), a task on each host. Only where the MPI
 * library is built. */
#define NOF_SIM_INCREMENTS_TASKS_MAX 256u
struct nof_sim_increments {
    unsigned tasks; /* 2..NOF_SIM_INCREMENTS_TASKS_MAX */
    unsigned pattern; /* as there */
    bool by_os; /* pages tell what is ready; else calls */
    bool alone; /* in increments, and not otherwise */
    size_t bytes, delta_bytes; /* of a message, of an increment (0: as the library chooses) */
    int64_t page_ns; /* of computing */
    uint64_t write_fault_ns, read_fault_ns, call_ns; /* that they cost the program */
    uint64_t rate_bps, buffer_bytes; /* of each link, and of the switch towards it */
    uint32_t mtu_bytes;
    /* The answer, of the slowest task: */
    double blocking_ns, nonblocking_ns, increments_ns; /* 0: there is none */
    uint64_t drops; /* frames that found the buffer full */
    char problem[512]; /* empty: all went well, and gave what it must */
};
/* Same arguments: same figures. */
void nof_sim_run_increments(struct nof_sim_increments *i);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* From the arguments of a collective to a schedule, and what the forms of a collective do with it.
 *
 * Every collective is one function that checks its arguments and fills a schedule (nof_coll_builder),
 * and up to six entry points that NOF_COLLECTIVE writes:
 *
 *                   int counts      MPI_Count counts
 *   now             X               X_c                 run(): to the end, then free
 *   later           IX              IX_c                start(): ends with a request
 *   again           X_init          X_init_c            keep(): a request for MPI_Start
 *
 * The builder sees one struct of arguments, in which counts of both widths look alike, so it is the
 * only one that knows the collective. Errors in arguments are found before anything is sent, and before
 * the collective takes its turn in the communicator's order. */
#ifndef NOF_MPI_COLL_ARGS_H
#define NOF_MPI_COLL_ARGS_H

#include "coll/coll.h"
#include "comm/entry.h"

/* One side of a call: its buffer, and what of it belongs to each rank. */
struct nof_coll_side {
    const void *buf;
    struct nof_counts counts;
    struct nof_counts displs; /* v-forms only */
    MPI_Datatype type;
    /* w-forms only; NULL is legal there for a rank that has no block, and MPI_DATATYPE_NULL of a block that is empty */
    const MPI_Datatype *types;
    bool each_type; /* w-form: there is no `type` */
};

struct nof_coll_args {
    struct nof_coll_side send; /* or the only one */
    struct nof_coll_side recv; /* of a reduction: buf only */
    MPI_Op op;
    int root;
};

typedef int nof_coll_builder(struct nof_sched *s, const struct nof_coll_args *args);

int nof_coll_run(MPI_Comm comm, nof_coll_builder *build, const struct nof_coll_args *args, const char *func);
int nof_coll_start(MPI_Comm comm, nof_coll_builder *build, const struct nof_coll_args *args,
                   MPI_Request *request, const char *func);
int nof_coll_keep(MPI_Comm comm, nof_coll_builder *build, const struct nof_coll_args *args,
                  MPI_Request *request, const char *func);

/* Counts and displacements as they stand in a call. */
_Static_assert(sizeof(MPI_Count) == sizeof(MPI_Aint), "displacements and counts share one array type");

static inline struct nof_counts nof_counts_one(MPI_Count count)
{
    return (struct nof_counts){.kind = NOF_COUNTS_ONE, .one = count};
}
static inline struct nof_counts nof_counts_int(const int *array)
{
    return (struct nof_counts){.kind = NOF_COUNTS_INT, .narrow = array};
}
static inline struct nof_counts nof_counts_wide(const MPI_Count *array)
{
    return (struct nof_counts){.kind = NOF_COUNTS_WIDE, .wide = array};
}
#define NOF_COUNTS(x) \
    _Generic((x), \
        int: nof_counts_one, \
        MPI_Count: nof_counts_one, \
        const int *: nof_counts_int, \
        const MPI_Count *: nof_counts_wide)(x)

/* The entry points. params(Count, Displ) is what stands before the communicator, with a comma at
 * its end; what follows it are the designated initializers of a struct nof_coll_args. */
#define NOF_COLL_FORMS(Now, Later, Again, build, params, Count, Displ, ...) \
    NOF_MPI(Now) \
    int PMPI_##Now(params(Count, Displ) MPI_Comm comm) \
    { \
        return nof_coll_run(comm, build, &(struct nof_coll_args){__VA_ARGS__}, __func__); \
    } \
    NOF_MPI(Later) \
    int PMPI_##Later(params(Count, Displ) MPI_Comm comm, MPI_Request *request) \
    { \
        return nof_coll_start(comm, build, &(struct nof_coll_args){__VA_ARGS__}, request, __func__); \
    } \
    NOF_MPI(Again) \
    int PMPI_##Again(params(Count, Displ) MPI_Comm comm, MPI_Info info, MPI_Request *request) \
    { \
        (void)info; \
        return nof_coll_keep(comm, build, &(struct nof_coll_args){__VA_ARGS__}, request, __func__); \
    }

#define NOF_COLLECTIVE(Now, Later, Again, build, params, ...) \
    NOF_COLL_FORMS(Now, Later, Again, build, params, int, int, __VA_ARGS__) \
    NOF_COLL_FORMS(Now##_c, Later##_c, Again##_c, build, params, MPI_Count, MPI_Aint, __VA_ARGS__)

/* The sides of a call as the standard names their parameters. */
#define NOF_SEND .send = {.buf = sendbuf, .counts = NOF_COUNTS(sendcount), .type = sendtype}
#define NOF_RECV .recv = {.buf = recvbuf, .counts = NOF_COUNTS(recvcount), .type = recvtype}
#define NOF_SEND_V(at) \
    .send = {.buf = sendbuf, .counts = NOF_COUNTS(sendcounts), .displs = NOF_COUNTS(at), .type = sendtype}
#define NOF_RECV_V(at) \
    .recv = {.buf = recvbuf, .counts = NOF_COUNTS(recvcounts), .displs = NOF_COUNTS(at), .type = recvtype}
#define NOF_SEND_W \
    .send = {.buf = sendbuf, \
             .counts = NOF_COUNTS(sendcounts), \
             .displs = NOF_COUNTS(sdispls), \
             .types = sendtypes, \
             .each_type = true}
#define NOF_RECV_W \
    .recv = {.buf = recvbuf, \
             .counts = NOF_COUNTS(recvcounts), \
             .displs = NOF_COUNTS(rdispls), \
             .types = recvtypes, \
             .each_type = true}
#define NOF_REDUCE(n) \
    .send = {.buf = sendbuf, .counts = NOF_COUNTS(n), .type = datatype}, .recv = {.buf = recvbuf}, .op = op

/* Checks: 0 or a code. */

/* A rank of the group; of an inter-communicator also MPI_ROOT and MPI_PROC_NULL. */
int nof_coll_check_root(const struct nof_sched *s, int root);

/* A buffer argument. MPI_IN_PLACE is refused: the caller handles it where it is allowed. */
int nof_coll_check_data(const struct nof_coll_side *side, struct nof_data *data_out);

/* A buffer of n blocks, the same. The sum of their bytes is one that a memory could hold. */
int nof_coll_check_blocks(const struct nof_coll_side *side, int n, struct nof_blocks *blocks_out);

/* What this rank sends to itself must not lie where it is received. NULL: in place. */
int nof_coll_check_alias(const struct nof_data *send, const struct nof_data *recv);

/* A reduction of `count` elements; needs_in, needs_out: that buffer is significant here. MPI_IN_PLACE
 * passes on an intra-communicator. */
int nof_coll_check_reduction(const struct nof_sched *s, const struct nof_coll_args *args, MPI_Count count,
                             bool needs_in, bool needs_out, struct nof_reduction *r_out);

#endif

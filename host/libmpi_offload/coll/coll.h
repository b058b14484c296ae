/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives: builders that fill a schedule, one file per family, and the few that the library
 * itself runs. A builder gets checked arguments; buffers are those of the program, MPI_IN_PLACE is
 * resolved by the flag or pointer that its comment names. What a builder reads beside the buffers
 * (counts, displacements, neighbours) it reads while it builds only.
 *
 * A choice between algorithms (select.h) depends on nothing but what all ranks see alike: packed bytes, counts,
 * the operation, the number of ranks. Never an extent: it may differ from rank to rank. */
#ifndef NOF_MPI_COLL_H
#define NOF_MPI_COLL_H

#include "coll/schedule.h"
#include "nof_private/coll_counts.h"

/* A buffer as the program described it. */
struct nof_data {
    void *buf;
    size_t count;
    struct nof_type *type;
};

/* Counts or displacements of a call: one value for all ranks, or an array in one of two widths. */
enum nof_counts_kind { NOF_COUNTS_NOT_GIVEN, NOF_COUNTS_ONE, NOF_COUNTS_INT, NOF_COUNTS_WIDE };
struct nof_counts {
    enum nof_counts_kind kind;
    MPI_Count one;
    const int *narrow;
    const MPI_Count *wide;
};

static inline MPI_Count nof_count_at(const struct nof_counts *c, int i)
{
    return c->kind == NOF_COUNTS_INT ? c->narrow[i] : c->kind == NOF_COUNTS_WIDE ? c->wide[i] : c->one;
}

/* Blocks of a buffer: block i is counts[i] elements at displs[i] extents from buf. */
struct nof_blocks {
    void *buf;
    struct nof_counts counts;
    struct nof_counts displs; /* not given: one block after the other; in bytes if there are `types` */
    struct nof_type *type;
    const MPI_Datatype *types; /* one per block, or NULL: `type` for all */
};

/* An empty one, whose datatype is MPI_DATATYPE_NULL: programs say so of ranks that they have nothing to do with. */
static inline bool nof_block_is_of_no_type(const struct nof_blocks *b, int i)
{
    return b->types != NULL && b->types[i] == MPI_DATATYPE_NULL && nof_count_at(&b->counts, i) == 0;
}

/* Whether addresses reach all of block i, whose elements are of `type`. */
bool nof_block_fits(const struct nof_blocks *b, int i, const struct nof_type *type);

/* Block i, which fits, as a buffer of its own. */
struct nof_data nof_block(const struct nof_blocks *b, int i);

static inline size_t nof_data_bytes(const struct nof_data *d)
{
    return d->count * d->type->size;
}

/* Bytes of n blocks from block `first` on, going round after the last of `size`. */
size_t nof_blocks_bytes(const struct nof_blocks *b, int size, int first, int n);

/* Append a transfer or a copy; nothing if there are no bytes. To pack into less room than is needed, as
 * to copy into a shorter buffer, is MPI_ERR_TRUNCATE. */
void nof_coll_send(struct nof_sched *s, const struct nof_data *data, int peer);
void nof_coll_recv(struct nof_sched *s, const struct nof_data *data, int peer);
void nof_coll_copy(struct nof_sched *s, const struct nof_data *from, const struct nof_data *to);
void nof_coll_pack(struct nof_sched *s, const struct nof_data *from, void *packed, size_t room_bytes);
void nof_coll_unpack(struct nof_sched *s, const void *packed, const struct nof_data *to);
/* The code for a block that is longer, or shorter, than its receive. */
int nof_coll_other_size(size_t bytes, size_t expected);

/* Of coll_bcast.c. */
void nof_coll_build_barrier(struct nof_sched *s);
void nof_coll_build_bcast(struct nof_sched *s, const struct nof_data *data, int root);

/* Down a binomial tree, for those who have chosen it. */
void nof_coll_build_bcast_tree(struct nof_sched *s, const struct nof_data *data, int root);

/* coll_gather.c. In place: `send` NULL at the root (gather), `recv` NULL (scatter). The blocks
 * are the root's and NULL elsewhere. The v-forms serve counts that only the root knows. */
void nof_coll_build_gather(struct nof_sched *s, const struct nof_data *send, const struct nof_blocks *recv,
                           int root);
void nof_coll_build_gatherv(struct nof_sched *s, const struct nof_data *send, const struct nof_blocks *recv,
                            int root);
void nof_coll_build_scatter(struct nof_sched *s, const struct nof_blocks *send, const struct nof_data *recv,
                            int root);
void nof_coll_build_scatterv(struct nof_sched *s, const struct nof_blocks *send, const struct nof_data *recv,
                             int root);

/* coll_allgather.c. In place: `send` NULL. */
void nof_coll_build_allgather(struct nof_sched *s, const struct nof_data *send,
                              const struct nof_blocks *recv);

/* coll_alltoall.c. In place: `send` NULL, what is in `recv` is sent. */
void nof_coll_build_alltoall(struct nof_sched *s, const struct nof_blocks *send,
                             const struct nof_blocks *recv);

/* coll_reduce.c, coll_allreduce.c, coll_reduce_scatter.c, coll_scan.c. */
struct nof_reduction {
    const void *in; /* MPI_IN_PLACE where the standard allows it: the operand is in `out` */
    void *out; /* NULL where it is not significant */
    size_t count;
    struct nof_type *type;
    struct nof_op *op;
};
void nof_coll_build_reduce(struct nof_sched *s, const struct nof_reduction *r, int root);
/* Up a binomial tree towards rank `top`, from which on ranks are counted: the buffer with the result there, which is the
 * operand if nobody has another, NULL elsewhere. */
struct nof_reduce_room { /* two buffers for `count` elements, made when first needed unless they are given */
    size_t count;
    void *incoming; /* where the next partial result comes, */
    void *partial; /* and the one after it */
};
const void *nof_coll_reduce_tree(struct nof_sched *s, const struct nof_reduction *r, int top,
                                 struct nof_reduce_room *room);
void nof_coll_build_allreduce(struct nof_sched *s, const struct nof_reduction *r);
/* r->count is the sum of the counts. */
void nof_coll_build_reduce_scatter(struct nof_sched *s, const struct nof_reduction *r,
                                   const struct nof_counts *counts);
void nof_coll_build_scan(struct nof_sched *s, const struct nof_reduction *r, bool exclusive);

/* Where piece i of n starts when `count` elements are cut evenly; i = n: the end. */
static inline size_t nof_coll_cut(size_t count, int n, int i)
{
    size_t rest = count % (size_t)n;
    return count / (size_t)n * (size_t)i + ((size_t)i < rest ? (size_t)i : rest);
}

/* Elements [from, from + count) of a reduction, as one of its own. */
struct nof_reduction nof_reduction_part(const struct nof_reduction *r, size_t from, size_t count);

/* coll_neighbor.c: every edge one message, all at once. One block for each neighbour. */
struct nof_neighbors {
    const int *in; /* ranks or MPI_PROC_NULL */
    const int *out;
    int in_count;
    int out_count;
    bool cartesian;
};
void nof_coll_build_neighbors(struct nof_sched *s, const struct nof_neighbors *n,
                              const struct nof_blocks *send, const struct nof_blocks *recv);

/* coll_own.c: for the library itself. */
int nof_coll_barrier(struct nof_comm *comm);
int nof_coll_bcast(struct nof_comm *comm, void *buf, size_t count, struct nof_type *type, int root);
/* buf holds `each` bytes per rank, mine filled in. */
int nof_coll_allgather_bytes(struct nof_comm *comm, void *buf, size_t each);
/* bytes[i] of rank i, from begins[i] on: alike at all ranks. */
int nof_coll_allgatherv_bytes(struct nof_comm *comm, void *buf, const MPI_Count *bytes,
                              const MPI_Count *begins);

/* coll/group/ */

/* Multicast groups of communicators: a large blocking broadcast leaves the root once, whatever the number of hosts; and so do
 * the blocks of a scatter, together, if they are small.
 *
 * A communicator over three or more NICs has one member rank on each, the first of them; ranks beside it get their bytes
 * from it. The group is opened in the background, and nobody waits for it. All ranks must agree from which broadcast on
 * it is used: they count blocking broadcasts and scatters of any length alike, and with some goes a vote (an allreduce of one
 * number), whose result counts from the next one on. Number 8, and each 1024th, asks whether feature "multicast" is on everywhere; if
 * so, the next one for which it is useful opens the group, and with those numbered 16, 32, 64, and each 64th, is asked whether it is
 * open. Until then, and after a vote in which somebody says no (not open, a member deaf, no room in its NIC), the bytes go by
 * unicast, down a tree or in pieces. After each 64 calls all try again.
 *
 * Threads: under the library's lock. */
/* The way that a large blocking broadcast, or a scatter, went. */
enum nof_bcast_way {
#define X(id, name, help) NOF_BCAST_##id,
    NOF_BCASTS(X)
#undef X
        NOF_BCAST_WAYS
};

/* Build a blocking broadcast of so many bytes, all alike at all ranks. False: it is to go by unicast. In both cases
 * nof_coll_group_vote() follows. */
bool nof_coll_group_bcast(struct nof_sched *s, const struct nof_data *data, int root, size_t bytes);
/* Build a blocking scatter, or scatterv; as nof_coll_build_scatter(). False: it is to go by unicast; then, too,
 * nof_coll_group_vote() follows. Of a scatterv all ranks are told the sizes first, which takes a message of its own, at once. */
bool nof_coll_group_scatter(struct nof_sched *s, const struct nof_blocks *send, const struct nof_data *recv,
                            int root);
bool nof_coll_group_scatterv(struct nof_sched *s, const struct nof_blocks *send, const struct nof_data *recv,
                             int root);
/* Behind the call: the vote, if it is time for one. */
void nof_coll_group_vote(struct nof_sched *s);

/* Nobody holds the communicator of this context any more. */
void nof_coll_group_forget(uint32_t coll_ctx);
/* All of them: MPI_Finalize. */
void nof_coll_group_clear(void);

extern uint64_t nof_bcast_counted[NOF_BCAST_WAYS] __attribute__((visibility("hidden")));
void nof_bcast_count(enum nof_bcast_way way);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives: builders that fill a schedule, one file per family, and the few that the library
 * itself runs. A builder gets checked arguments; buffers are those of the program, MPI_IN_PLACE is
 * resolved by the flag or pointer that its comment names.
 *
 * Thresholds are in bytes of one process's contribution unless said otherwise. */
#ifndef NOF_MPI_COLL_H
#define NOF_MPI_COLL_H

#include "schedule.h"

/* A buffer as the program described it. */
struct nof_data {
    void *buf;
    size_t count;
    struct nof_type *type;
};

/* Blocks of a v-collective: block i is counts[i] elements at displs[i] extents. */
struct nof_blocks {
    void *buf;
    const int *counts;
    const int *displs;
    struct nof_type *type;
};

static inline void *nof_data_at(const struct nof_data *d, size_t block)
{
    return nof_lib_at(d->buf, (ptrdiff_t)(block * d->count) * nof_type_extent(d->type));
}
static inline void *nof_block_at(const struct nof_blocks *b, int i)
{
    return nof_lib_at(b->buf, (ptrdiff_t)b->displs[i] * nof_type_extent(b->type));
}
static inline size_t nof_data_bytes(const struct nof_data *d)
{
    return d->count * d->type->size;
}

/* ---- coll_bcast.c ---- */
void nof_coll_build_barrier(struct nof_sched *s);
void nof_coll_build_bcast(struct nof_sched *s, const struct nof_data *data, int root);

/* ---- coll_gather.c. In place: `send` NULL at the root (gather), `recv` NULL (scatter). ---- */
void nof_coll_build_gather(struct nof_sched *s, const struct nof_data *send, const struct nof_data *recv,
                           int root);
void nof_coll_build_gatherv(struct nof_sched *s, const struct nof_data *send, const struct nof_blocks *recv,
                            int root);
void nof_coll_build_scatter(struct nof_sched *s, const struct nof_data *send, const struct nof_data *recv,
                            int root);
void nof_coll_build_scatterv(struct nof_sched *s, const struct nof_blocks *send, const struct nof_data *recv,
                             int root);

/* ---- coll_allgather.c. In place: `send` NULL. ---- */
void nof_coll_build_allgather(struct nof_sched *s, const struct nof_data *send, const struct nof_data *recv);
void nof_coll_build_allgatherv(struct nof_sched *s, const struct nof_data *send,
                               const struct nof_blocks *recv);

/* ---- coll_alltoall.c. What goes to and comes from each rank. ---- */
struct nof_exchange {
    struct nof_data send; /* buf is the address of the first element */
    struct nof_data recv;
};
/* in_place: `send` is ignored, what is in `recv` is sent. peers[size]; used only while building. */
void nof_coll_build_alltoall(struct nof_sched *s, const struct nof_exchange *peers, bool in_place);

/* ---- coll_reduce.c. `in` is MPI_IN_PLACE where the standard allows it. ---- */
struct nof_reduction {
    const void *in;
    void *out; /* may be NULL where it is not significant */
    size_t count;
    struct nof_type *type;
    struct nof_op *op;
};
void nof_coll_build_reduce(struct nof_sched *s, const struct nof_reduction *r, int root);
void nof_coll_build_allreduce(struct nof_sched *s, const struct nof_reduction *r);

/* ---- coll_reduce_scatter.c. r->count is ignored: counts[size]. ---- */
void nof_coll_build_reduce_scatter(struct nof_sched *s, const struct nof_reduction *r, const int *counts);

/* ---- coll_scan.c ---- */
void nof_coll_build_scan(struct nof_sched *s, const struct nof_reduction *r, bool exclusive);

/* ---- coll.c: for the library itself ---- */
int nof_coll_barrier(struct nof_comm *comm);
int nof_coll_bcast(struct nof_comm *comm, void *buf, size_t count, struct nof_type *type, int root);
/* buf holds `each` bytes per rank, mine filled in. */
int nof_coll_allgather_bytes(struct nof_comm *comm, void *buf, size_t each);

#endif

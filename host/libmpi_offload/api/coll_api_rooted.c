/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives with a root that move data, and the barrier: arguments and entry points. */
#include "coll/agree.h"
#include "coll/coll_args.h"
#include "coll/coll.h"
#include "coll/coll_inter.h"

/* What this process is to the root of a call. */
struct part {
    bool inter;
    bool root; /* it is the root itself */
    bool leaf; /* it has data for the root, or gets some; on an intra-communicator the root too */
};

static int part_of(const struct nof_sched *s, int root, struct part *part_out)
{
    int rc = nof_coll_check_root(s, root);
    if (rc != MPI_SUCCESS)
        return rc;
    bool inter = s->comm->remote != NULL;
    *part_out = (struct part){
        .inter = inter, .root = inter ? root == MPI_ROOT : root == s->rank, .leaf = !inter || root >= 0};
    return MPI_SUCCESS;
}

static int barrier(struct nof_sched *s, const struct nof_coll_args *args)
{
    (void)args;
    nof_coll_agree(s, NOF_CALL_BARRIER, 0, 0);
    if (s->comm->remote != NULL)
        nof_coll_inter_barrier(s);
    else
        nof_coll_build_barrier(s);
    return MPI_SUCCESS;
}

static int bcast(struct nof_sched *s, const struct nof_coll_args *args)
{
    struct part part;
    struct nof_data data;
    int rc = part_of(s, args->root, &part);
    if (rc == MPI_SUCCESS && (part.root || part.leaf))
        rc = nof_coll_check_data(&args->send, &data);
    if (rc != MPI_SUCCESS)
        return rc;
    if (part.inter) {
        nof_coll_agree(s, NOF_CALL_BCAST, 0, 0);
        nof_coll_inter_bcast(s, &data, args->root);
        return MPI_SUCCESS;
    }
    size_t bytes = nof_data_bytes(&data);
    nof_coll_agree(s, NOF_CALL_BCAST, args->root, 0);
    if (!nof_coll_group_bcast(s, &data, args->root, bytes))
        nof_coll_build_bcast(s, &data, args->root);
    nof_coll_group_vote(s);
    return MPI_SUCCESS;
}

/* One block of the root's buffer per leaf, and one buffer at each leaf: `send` is gather's leaf. */
struct rooted {
    struct part part;
    struct nof_data leaf;
    struct nof_blocks blocks;
    bool in_place;
};

static int check_rooted(const struct nof_sched *s, const struct nof_coll_side *leaf,
                        const struct nof_coll_side *blocks, int root, struct rooted *out)
{
    int rc = part_of(s, root, &out->part);
    out->in_place = rc == MPI_SUCCESS && out->part.root && !out->part.inter && leaf->buf == MPI_IN_PLACE;
    if (rc == MPI_SUCCESS && out->part.leaf && !out->in_place)
        rc = nof_coll_check_data(leaf, &out->leaf);
    if (rc == MPI_SUCCESS && out->part.root)
        rc = nof_coll_check_blocks(blocks, s->size, &out->blocks);
    if (rc == MPI_SUCCESS && out->part.root && !out->part.inter && !out->in_place) {
        struct nof_data own = nof_block(&out->blocks, root);
        rc = nof_coll_check_alias(&out->leaf, &own);
    }
    return rc;
}

/* Of uniform blocks. */
static uint64_t each(const struct rooted *r, int root)
{
    struct nof_data own = r->part.root && !r->part.inter ? nof_block(&r->blocks, root) : r->leaf;
    return r->part.inter ? 0 : nof_data_bytes(&own);
}

static int gather_as(struct nof_sched *s, const struct nof_coll_args *args, bool uniform)
{
    struct rooted r;
    int rc = check_rooted(s, &args->send, &args->recv, args->root, &r);
    if (rc != MPI_SUCCESS)
        return rc;
    const struct nof_data *send = r.in_place ? NULL : &r.leaf;
    const struct nof_blocks *recv = r.part.root ? &r.blocks : NULL;
    if (uniform)
        nof_coll_agree(s, NOF_CALL_GATHER, args->root, each(&r, args->root));
    else
        nof_coll_agree(s, NOF_CALL_GATHERV, args->root, 0);
    if (r.part.inter)
        nof_coll_inter_gather(s, send, recv, args->root);
    else if (uniform)
        nof_coll_build_gather(s, send, recv, args->root);
    else
        nof_coll_build_gatherv(s, send, recv, args->root);
    return MPI_SUCCESS;
}

static int gather(struct nof_sched *s, const struct nof_coll_args *args)
{
    return gather_as(s, args, true);
}

static int gatherv(struct nof_sched *s, const struct nof_coll_args *args)
{
    return gather_as(s, args, false);
}

static int scatter_as(struct nof_sched *s, const struct nof_coll_args *args, bool uniform)
{
    struct rooted r;
    int rc = check_rooted(s, &args->recv, &args->send, args->root, &r);
    if (rc != MPI_SUCCESS)
        return rc;
    const struct nof_data *recv = r.in_place ? NULL : &r.leaf;
    const struct nof_blocks *send = r.part.root ? &r.blocks : NULL;
    if (uniform)
        nof_coll_agree(s, NOF_CALL_SCATTER, args->root, each(&r, args->root));
    else
        nof_coll_agree(s, NOF_CALL_SCATTERV, args->root, 0);
    if (r.part.inter) {
        nof_coll_inter_scatter(s, send, recv, args->root);
        return MPI_SUCCESS;
    }
    if (uniform && !nof_coll_group_scatter(s, send, recv, args->root))
        nof_coll_build_scatter(s, send, recv, args->root);
    if (!uniform && !nof_coll_group_scatterv(s, send, recv, args->root))
        nof_coll_build_scatterv(s, send, recv, args->root);
    nof_coll_group_vote(s);
    return MPI_SUCCESS;
}

static int scatter(struct nof_sched *s, const struct nof_coll_args *args)
{
    return scatter_as(s, args, true);
}

static int scatterv(struct nof_sched *s, const struct nof_coll_args *args)
{
    return scatter_as(s, args, false);
}

#define NOTHING(Count, Displ)
NOF_COLL_FORMS(Barrier, Ibarrier, Barrier_init, barrier, NOTHING, int, int, .root = 0)

#define BCAST(Count, Displ) void *buffer, Count count, MPI_Datatype datatype, int root,
NOF_COLLECTIVE(Bcast, Ibcast, Bcast_init, bcast, BCAST,
               .send = {.buf = buffer, .counts = NOF_COUNTS(count), .type = datatype}, .root = root)

#define GATHER(Count, Displ) \
    const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount, \
        MPI_Datatype recvtype, int root,
NOF_COLLECTIVE(Gather, Igather, Gather_init, gather, GATHER, NOF_SEND, NOF_RECV, .root = root)
NOF_COLLECTIVE(Scatter, Iscatter, Scatter_init, scatter, GATHER, NOF_SEND, NOF_RECV, .root = root)

#define GATHERV(Count, Displ) \
    const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, const Count recvcounts[], \
        const Displ displs[], MPI_Datatype recvtype, int root,
NOF_COLLECTIVE(Gatherv, Igatherv, Gatherv_init, gatherv, GATHERV, NOF_SEND, NOF_RECV_V(displs), .root = root)

#define SCATTERV(Count, Displ) \
    const void *sendbuf, const Count sendcounts[], const Displ displs[], MPI_Datatype sendtype, \
        void *recvbuf, Count recvcount, MPI_Datatype recvtype, int root,
NOF_COLLECTIVE(Scatterv, Iscatterv, Scatterv_init, scatterv, SCATTERV, NOF_SEND_V(displs), NOF_RECV,
               .root = root)

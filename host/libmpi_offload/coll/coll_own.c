/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library itself runs, blocking. */
#include "coll/agree.h"

int nof_coll_barrier(struct nof_comm *comm)
{
    struct nof_sched *s = nof_sched_new(comm);
    if (s != NULL) {
        nof_coll_agree(s, NOF_CALL_OWN, 0, 0);
        nof_coll_build_barrier(s);
    }
    return nof_sched_run(s);
}

int nof_coll_bcast(struct nof_comm *comm, void *buf, size_t count, struct nof_type *type, int root)
{
    struct nof_sched *s = nof_sched_new(comm);
    struct nof_data data = {buf, count, type};
    if (s != NULL) {
        nof_sched_buffers(s, buf, NULL);
        nof_coll_agree(s, NOF_CALL_OWN, root, 1);
        nof_coll_build_bcast(s, &data, root);
    }
    return nof_sched_run(s);
}

static int allgather(struct nof_comm *comm, const struct nof_blocks *blocks, uint64_t agreed)
{
    struct nof_sched *s = nof_sched_new(comm);
    if (s != NULL) {
        nof_sched_buffers(s, NULL, blocks->buf);
        nof_coll_agree(s, NOF_CALL_OWN, 0, agreed);
        nof_coll_build_allgather(s, NULL, blocks);
    }
    return nof_sched_run(s);
}

int nof_coll_allgather_bytes(struct nof_comm *comm, void *buf, size_t each)
{
    struct nof_blocks blocks = {
        .buf = buf, .counts = {.kind = NOF_COUNTS_ONE, .one = (MPI_Count)each}, .type = nof_type_byte()};
    return allgather(comm, &blocks, each);
}

int nof_coll_allgatherv_bytes(struct nof_comm *comm, void *buf, const MPI_Count *bytes,
                              const MPI_Count *begins)
{
    struct nof_blocks blocks = {.buf = buf,
                                .counts = {.kind = NOF_COUNTS_WIDE, .wide = bytes},
                                .displs = {.kind = NOF_COUNTS_WIDE, .wide = begins},
                                .type = nof_type_byte()};
    return allgather(comm, &blocks, 2);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatter and Scatterv by the multicast group of a communicator: all blocks, packed one after the other, leave the root as one
 * message, of which each rank takes its own. */
#include "coll/agree.h"
#include "coll/group/coll_group.h"
#include "coll/select.h"

#define PAUSE_MAX 64u /* calls of Scatterv whose sizes nobody asks for, after sizes that were too large */

/* Blocks in a message, without the root's. */
struct aggregate {
    const uint64_t *sizes; /* of each rank's block; NULL: `each` */
    uint64_t each;
    int root;
};

static uint64_t size_of(const struct aggregate *a, int rank)
{
    if (rank == a->root)
        return 0;
    return a->sizes != NULL ? a->sizes[rank] : a->each;
}

/* Where the block of `rank` begins; of the last one: the message ends. */
static size_t place_of(const struct aggregate *a, int rank)
{
    uint64_t at = 0;
    for (int i = 0; i < rank; i++)
        at += size_of(a, i);
    return (size_t)at;
}

/* What comes for this rank is put into `recv`, or, of another length, into nothing. */
static void take_block(struct nof_sched *s, const char *packed, uint64_t bytes, const struct nof_data *recv)
{
    size_t wants = nof_data_bytes(recv);
    if (bytes == wants)
        nof_coll_unpack(s, packed, recv);
    else
        s->too_long = nof_coll_other_size(bytes, wants);
}

static void build(struct nof_sched *s, struct nof_coll_group *g, const struct aggregate *a,
                  const struct nof_blocks *send, const struct nof_data *recv)
{
    size_t total = place_of(a, s->size), at = 0;
    char *packed = nof_sched_temporary(s, total, nof_type_byte());
    bool root = s->rank == a->root;
    for (int i = 0; root && i < s->size; i++) {
        struct nof_data block = nof_block(send, i);
        if (i != a->root)
            nof_coll_pack(s, &block, packed + at, (size_t)size_of(a, i));
        at += (size_t)size_of(a, i);
    }
    if (root && recv != NULL) {
        struct nof_data own = nof_block(send, a->root);
        nof_coll_copy(s, &own, recv);
    }
    nof_coll_group_build(s, g, &(struct nof_data){packed, total, nof_type_byte()}, a->root);
    nof_sched_fence(s);
    if (!root)
        take_block(s, packed + place_of(a, s->rank), size_of(a, s->rank), recv);
}

bool nof_coll_group_scatter(struct nof_sched *s, const struct nof_blocks *send, const struct nof_data *recv,
                            int root)
{
    struct nof_data own = s->rank == root ? nof_block(send, root) : *recv;
    struct aggregate a = {.each = nof_data_bytes(&own), .root = root};
    uint64_t can = NOF_CAN(NOF_SCATTER_TREE) | NOF_CAN(NOF_SCATTER_LINEAR) | NOF_CAN(NOF_SCATTER_MULTICAST);
    bool useful = a.each > 0 && nof_select_would(s->size, a.each, can) == NOF_SCATTER_MULTICAST;
    struct nof_coll_group *g = nof_coll_group_ask(s, useful);
    if (!useful || !nof_coll_group_agreed(g))
        return false;
    (void)nof_select(s, a.each, can);
    build(s, g, &a, send, recv);
    return true;
}

/* Everybody is told the sizes of all blocks, at once. */
static int tell_sizes(struct nof_sched *s, struct nof_coll_group *g, uint64_t *sizes, int root)
{
    struct nof_sched *first = nof_sched_new(s->comm);
    struct nof_data data = {sizes, (size_t)s->size * sizeof(*sizes), nof_type_byte()};
    if (first != NULL) {
        nof_coll_agree(first, NOF_CALL_SCATTERV, root, 1);
        nof_coll_group_build(first, g, &data, root);
    }
    return nof_sched_run(first);
}

/* All have been told them: after some that were too large, so many calls are not asked about. */
static void learn(struct nof_coll_group *g, bool multicast)
{
    g->pause = multicast ? 0 : g->pause == 0 ? 1 : 2 * g->pause < PAUSE_MAX ? 2 * g->pause : PAUSE_MAX;
    g->paused = 0;
}

bool nof_coll_group_scatterv(struct nof_sched *s, const struct nof_blocks *send, const struct nof_data *recv,
                             int root)
{
    bool useful = nof_select_ever(s->size, NOF_SCATTERV_MULTICAST);
    struct nof_coll_group *g = nof_coll_group_ask(s, useful);
    if (!useful || !nof_coll_group_agreed(g))
        return false;
    if (g->paused < g->pause) {
        g->paused++;
        nof_bcast_count(NOF_BCAST_SCATTERV_UNASKED);
        return false;
    }
    uint64_t *sizes = nof_sched_temporary(s, (size_t)s->size * sizeof(*sizes), nof_type_byte()), most = 0;
    if (sizes == NULL)
        return false;
    for (int i = 0; s->rank == root && i < s->size; i++) {
        struct nof_data block = nof_block(send, i);
        sizes[i] = nof_data_bytes(&block);
    }
    int rc = tell_sizes(s, g, sizes, root);
    if (rc != MPI_SUCCESS) {
        s->leak_temporaries = true;
        s->build_error = rc;
        return true;
    }
    for (int i = 0; i < s->size; i++)
        most = i != root && sizes[i] > most ? sizes[i] : most;
    bool multicast = nof_select(s, most, NOF_CAN(NOF_SCATTERV_LINEAR) | NOF_CAN(NOF_SCATTERV_MULTICAST)) ==
                     NOF_SCATTERV_MULTICAST;
    learn(g, multicast);
    if (multicast)
        build(s, g, &(struct aggregate){.sizes = sizes, .root = root}, send, recv);
    return multicast;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/nics/nics.h"

#include <stdlib.h>
#include <string.h>

#include "chan/chan.h"
#include "coll/select.h"

/* Numbers of the job become those of the communicator. 0, or the code. */
static int number(struct nof_nics *nics, const struct nof_sched *s, uint32_t *place)
{
    for (int rank = 0; rank < s->size; rank++) {
        int at = 0, rc = nof_chan_to_all->nic_of(nof_comm_peer_world(s->comm, rank), &place[rank]);
        if (rc != MPI_SUCCESS)
            return rc;
        while (at < nics->count && place[nics->leader[at]] != place[rank])
            at++;
        if (at == nics->count)
            nics->leader[nics->count++] = rank;
        nics->neighbours = nics->neighbours && (at == nics->count - 1);
        nics->nic[rank] = at;
    }
    return MPI_SUCCESS;
}

/* Numbers each rank on its NIC. True: all have as many. */
static bool count_each(struct nof_nics *nics, int ranks)
{
    bool even = true;
    memset(nics->chosen, 0, (size_t)nics->count * sizeof(int));
    for (int rank = 0; rank < ranks; rank++)
        nics->number[rank] = nics->chosen[nics->nic[rank]]++;
    for (int i = 1; i < nics->count; i++)
        even = even && nics->chosen[i] == nics->chosen[0];
    return even;
}

static struct nof_nics *find(struct nof_sched *s)
{
    size_t n = (size_t)s->size;
    uint32_t *place = calloc(n, sizeof(*place));
    struct nof_nics *nics = calloc(1, sizeof(*nics) + 5 * n * sizeof(int));
    int rc = MPI_SUCCESS;
    if (place == NULL || nics == NULL) {
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for a collective operation");
    } else {
        nics->neighbours = true;
        nics->nic = (int *)(nics + 1);
        nics->number = nics->nic + n;
        nics->leader = nics->number + n;
        nics->here = nics->leader + n;
        nics->chosen = nics->here + n;
        rc = number(nics, s, place);
    }
    free(place);
    if (rc != MPI_SUCCESS) {
        s->build_error = s->build_error == MPI_SUCCESS ? rc : s->build_error;
        free(nics);
        return NULL;
    }
    nics->mine = nics->nic[s->rank];
    nics->shared = nics->count > 1 && nics->count < s->size;
    nics->even = count_each(nics, s->size);
    nics->self = nics->number[s->rank];
    for (int rank = 0; rank < s->size; rank++)
        if (nics->nic[rank] == nics->mine)
            nics->here[nics->here_count++] = rank;
    return nics;
}

const struct nof_nics *nof_nics_of(struct nof_sched *s)
{
    if (s->comm->remote != NULL || s->among != NULL || s->size < NOF_CHAN_PLACES_MIN ||
        nof_chan_to_all->nic_of == NULL)
        return NULL;
    if (s->comm->nics == NULL)
        s->comm->nics = find(s);
    return s->comm->nics;
}

const struct nof_nics *nof_nics_shared(struct nof_sched *s)
{
    const struct nof_nics *nics = nof_nics_of(s);
    return nics != NULL && nics->shared ? nics : NULL;
}

const struct nof_nics *nof_nics_for_reduction(struct nof_sched *s, const struct nof_op *op)
{
    const struct nof_nics *nics = nof_select_by_ranks() ? NULL : nof_nics_shared(s);
    return nics != NULL && (op->commutative || nics->neighbours) ? nics : NULL;
}

void nof_nics_here(struct nof_sched *s, const struct nof_nics *nics)
{
    nof_sched_among(s, nics->here, nics->here_count, nics->self);
}

void nof_nics_between(struct nof_sched *s, const struct nof_nics *nics, const int *leaders)
{
    nof_sched_among(s, leaders, nics->count, nics->mine);
}

void nof_nics_all(struct nof_sched *s)
{
    nof_sched_among(s, NULL, 0, 0);
}

const int *nof_nics_leaders(const struct nof_nics *nics, int root)
{
    memcpy(nics->chosen, nics->leader, (size_t)nics->count * sizeof(int));
    nics->chosen[nics->nic[root]] = root;
    return nics->chosen;
}

const int *nof_nics_lane(const struct nof_nics *nics, int ranks)
{
    for (int rank = 0; rank < ranks; rank++)
        if (nics->number[rank] == nics->self)
            nics->chosen[nics->nic[rank]] = rank;
    return nics->chosen;
}

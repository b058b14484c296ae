/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/topo.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void nof_topo_hold(struct nof_topo *topo)
{
    topo->refs++;
}

void nof_topo_release(struct nof_topo *topo)
{
    if (topo == NULL || --topo->refs > 0)
        return;
    if (topo->destinations != topo->sources)
        free(topo->destinations);
    free(topo->sources);
    free(topo->dims);
    free(topo->index);
    free(topo->edges);
    free(topo->source_weights);
    free(topo->destination_weights);
    free(topo);
}

int *nof_topo_copy(const int *values, size_t count)
{
    int *copy = malloc((count + 1) * sizeof(*copy));
    if (copy != NULL && count > 0)
        memcpy(copy, values, count * sizeof(*copy));
    return copy;
}

int nof_topo_neighbors(const struct nof_comm *comm, const int **sources_out, int *n_out,
                       const int **destinations_out, int *m_out)
{
    const struct nof_topo *topo = comm->topo;
    if (topo == NULL)
        return nof_error(MPI_ERR_TOPOLOGY, "the communicator has no topology, so no neighbours");
    *sources_out = topo->sources;
    *n_out = topo->source_count;
    *destinations_out = topo->destinations;
    *m_out = topo->destination_count;
    return MPI_SUCCESS;
}

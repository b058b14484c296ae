/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Delta messages in place of plain ones. What becomes ready when is computed from the number of the message: nothing is
 * drawn for it. */
#include <stdlib.h>
#include <string.h>

#include "image_run.h"
#include "mpi_offload.h"

#define SCRIBBLE 0x3c
#define PIECES_MAX 9u
#define NAP_MAX_NS 30000u

static uint32_t mixed(uint32_t item, uint32_t what)
{
    return ((item + 1) * 2654435761u ^ (what + 1) * 2246822519u) >> 8;
}

bool nof_image_delta_chosen(uint32_t item)
{
    return nof_image->job_key[4] % 2 == 0 && mixed(item, 0) % 3 == 0;
}

static bool unsupported(int rc)
{
    int error_class = MPI_SUCCESS;
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &error_class);
    return error_class == MPI_ERR_UNSUPPORTED_OPERATION;
}

static void fill(const struct nof_transfer *t, uint32_t item, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        t->mem[i] = nof_payload_byte(item, i);
}

/* All but some pieces, which are left to the end, from the last to the first or the other way. */
static void send_pieces(const struct nof_transfer *t, uint32_t item)
{
    uint32_t n = 1 + mixed(item, 1) % PIECES_MAX;
    memset(t->mem, SCRIBBLE, t->bytes);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = mixed(item, 2) % 2 == 0 ? i : n - 1 - i;
        uint32_t from = (uint32_t)((uint64_t)t->bytes * k / n),
                 to = (uint32_t)((uint64_t)t->bytes * (k + 1) / n);
        uint32_t how = mixed(item, 3 + k);
        if (how % 4 == 0)
            nof_image->ops->nap(nof_image->process, how % NAP_MAX_NS);
        fill(t, item, from, to);
        if (to > from && how % 5 != 0)
            nof_run_check(MPIX_Delta_send_data(t->request, t->mem + from, to - from), "delta data", item);
    }
}

bool nof_image_delta_send(struct nof_transfer *t, uint32_t item, int count, MPI_Datatype type, int peer,
                          int tag, MPI_Comm comm)
{
    int rc = MPIX_Delta_send_begin(t->mem, count, type, peer, tag, comm, &t->request);
    if (unsupported(rc))
        return false;
    nof_run_check(rc, "delta send", item);
    if (!t->strided && rc == MPI_SUCCESS)
        send_pieces(t, item);
    nof_run_check(MPIX_Delta_send_end(&t->request), "end of a delta send", item);
    return true;
}

/* What wait_data lets read is there to stay. */
int nof_image_delta_receive(const struct nof_transfer *t, uint32_t item, int count, MPI_Datatype type,
                            int peer, int tag, MPI_Comm comm, MPI_Status *status)
{
    memset(status, 0, sizeof(*status));
    int rc = MPIX_Delta_recv(t->mem, count, type, peer, tag, comm, status);
    if (rc != MPI_SUCCESS)
        return rc;
    uint32_t n = 1 + mixed(item, 1) % PIECES_MAX, k = mixed(item, 2) % n;
    uint32_t from = (uint32_t)((uint64_t)t->bytes * k / n), to = (uint32_t)((uint64_t)t->bytes * (k + 1) / n);
    uint8_t *seen = malloc(to - from + 1);
    if (seen == NULL)
        abort();
    int waited = t->strided ? MPI_SUCCESS : MPIX_Delta_wait_data(t->mem + from, to - from);
    memcpy(seen, t->mem + from, to - from);
    rc = MPIX_Delta_recv_wait(t->mem, status);
    if (rc == MPI_SUCCESS && waited != MPI_SUCCESS)
        nof_run_check(waited, "wait for delta data", item);
    if (rc == MPI_SUCCESS && !t->strided && memcmp(seen, t->mem + from, to - from) != 0)
        nof_run_fail("delta receive %u: bytes %u to %u were said to be there and have changed since", item,
                     from, to);
    free(seen);
    return rc;
}

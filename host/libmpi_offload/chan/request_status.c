/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "chan/request.h"

/* Internal words: 0 and 1 the byte count, 2 the cancelled flag; the rest stays zero. */
enum { WORD_BYTES = 0, WORD_CANCELLED = 2 };

void nof_status_set(MPI_Status *status, int source, int tag, size_t bytes, bool cancelled)
{
    uint64_t count = bytes;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    memset(status->MPI_internal, 0, sizeof(status->MPI_internal));
    memcpy(&status->MPI_internal[WORD_BYTES], &count, sizeof(count));
    status->MPI_internal[WORD_CANCELLED] = cancelled;
}

void nof_status_empty(MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    nof_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
    status->MPI_ERROR = MPI_SUCCESS;
}

size_t nof_status_bytes(const MPI_Status *status)
{
    uint64_t count;
    memcpy(&count, &status->MPI_internal[WORD_BYTES], sizeof(count));
    return count;
}

bool nof_status_cancelled(const MPI_Status *status)
{
    return status->MPI_internal[WORD_CANCELLED] != 0;
}

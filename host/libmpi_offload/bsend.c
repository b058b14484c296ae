/* SPDX-License-Identifier: BSD-3-Clause */
#include "bsend.h"

#include <string.h>

#include "error.h"
#include "progress.h"

static struct {
    void *address;
    size_t size;
    size_t used;
    bool attached;
} buffer;

int nof_bsend_reserve(size_t bytes, size_t *reserved_out)
{
    size_t need = bytes + MPI_BSEND_OVERHEAD;
    if (buffer.size - buffer.used < need)
        nof_progress_poll(); /* some of it may be free already */
    if (buffer.size - buffer.used < need)
        return nof_error(MPI_ERR_BUFFER,
                         "a buffered send of %zu bytes needs %zu, the attached buffer has %zu of "
                         "%zu left",
                         bytes, need, buffer.size - buffer.used, buffer.size);
    buffer.used += need;
    *reserved_out = need;
    return MPI_SUCCESS;
}

void nof_bsend_release(size_t reserved)
{
    buffer.used -= reserved;
}

NOF_MPI(Buffer_attach)
int PMPI_Buffer_attach(void *address, int size)
{
    nof_lib_enter(__func__);
    int rc = MPI_SUCCESS;
    if (size < 0)
        rc = nof_error(MPI_ERR_ARG, "the size is %d", size);
    else if (buffer.attached)
        rc = nof_error(MPI_ERR_BUFFER, "a buffer is attached already: detach it first");
    if (rc == MPI_SUCCESS) {
        buffer.address = address;
        buffer.size = (size_t)size;
        buffer.used = 0;
        buffer.attached = true;
    }
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Buffer_detach)
int PMPI_Buffer_detach(void *buffer_addr, int *size)
{
    nof_lib_enter(__func__);
    int rc = MPI_SUCCESS;
    if (!buffer.attached) {
        rc = nof_error(MPI_ERR_BUFFER, "no buffer is attached");
    } else {
        struct nof_wait wait = NOF_WAIT_START;
        while (buffer.used > 0)
            nof_wait_step(&wait);
        memcpy(buffer_addr, &buffer.address, sizeof(buffer.address));
        *size = (int)buffer.size;
        buffer.attached = false;
        buffer.size = 0;
    }
    return nof_lib_leave(NULL, rc, __func__);
}

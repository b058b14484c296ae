/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The launcher of simulated processes (launch.h): the simulator deals ranks and passes business cards on. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "coll/select.h"
#include "image.h"
#include "launch/launch.h"

static int launch_open(char *text, size_t text_bytes)
{
    (void)text;
    (void)text_bytes;
    nof_lib.world_rank = nof_image->rank;
    nof_lib.world_size = nof_image->size;
    nof_lib.appnum = 0;
    return 0;
}

static int launch_put(const char *key, const char *value)
{
    nof_image->ops->put(nof_image->process, key, value);
    return 0;
}

static int launch_fence(void)
{
    nof_image->ops->fence(nof_image->process);
    return 0;
}

static int launch_get(int rank, const char *key, char value[NOF_LAUNCH_VALUE_BYTES])
{
    (void)rank;
    static_assert(NOF_LAUNCH_VALUE_BYTES == NOF_SEAM_VALUE_BYTES, "one size of values");
    return nof_image->ops->get(nof_image->process, key, value);
}

static void launch_close(void)
{
}

static void launch_abort(int exit_code, const char *why)
{
    (void)exit_code;
    nof_image->ops->die(nof_image->process, why);
}

static const struct nof_launch_ops simulator = {
    .name = "sim",
    .title = "the simulator",
    .open = launch_open,
    .put = launch_put,
    .fence = launch_fence,
    .get = launch_get,
    .close = launch_close,
    .abort = launch_abort,
};
const struct nof_launch_ops *nof_launch = &simulator;

int nof_launch_open(char *text, size_t text_bytes)
{
    nof_lib.abort_job = launch_abort;
    if (nof_image->coll_table != NULL &&
        nof_select_read("table", nof_image->coll_table, text, text_bytes) != 0)
        return -1;
    return nof_launch->open(text, text_bytes);
}

unsigned nof_launch_death_ms(void)
{
    return 0;
}

void nof_launch_close(void)
{
    nof_launch->close();
    nof_lib.abort_job = NULL;
}

int nof_launch_job(struct nof_launch_job *job_out, nof_launch_attach_fn *attach, const enum nof_channels *way,
                   char *text, size_t text_bytes)
{
    (void)attach;
    (void)way;
    (void)text;
    (void)text_bytes;
    *job_out = (struct nof_launch_job){.id = nof_image->job_id, .nic = UINT32_MAX};
    memcpy(job_out->key, nof_image->job_key, sizeof(job_out->key));
    snprintf(job_out->socket, sizeof(job_out->socket), "sim");
    return 0;
}

int nof_launch_number(const char *variable, int *number_out)
{
    (void)variable;
    (void)number_out;
    return -1;
}

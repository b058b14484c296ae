/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/offload.h"

#include <stdlib.h>

#include "nof/status.h"

static unsigned long long counts[NOF_DRIVER_COUNT];

void nof_driver_count(enum nof_driver driver)
{
    counts[driver]++;
}

unsigned long long nof_driver_counted(enum nof_driver driver)
{
    return counts[driver];
}

static struct nof_offload *new_offload(const struct nof_sched *s, const struct nof_chan *channel)
{
    struct nof_offload *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return NULL;
    d->nic = channel->programs;
    d->compiled = nof_compile(s, channel, &d->image);
    if (d->compiled == NOF_COMPILED) {
        d->asked = malloc(d->image.program->nsteps * sizeof(*d->asked));
        d->compiled = d->asked == NULL ? NOF_COMPILE_MEMORY : NOF_COMPILED;
    }
    return d;
}

static enum nof_driver open_program(struct nof_offload *d)
{
    int rc = d->program.open ? NOF_OK : d->nic->open(&d->program, d->image.program, d->image.bytes);
    return rc == NOF_OK ? NOF_DRIVER_NIC : rc == NOF_ENOENT ? NOF_DRIVER_PEER : NOF_DRIVER_ROOM;
}

struct nof_offload *nof_offload_open(struct nof_sched *s)
{
    static const enum nof_driver why[] = {[NOF_COMPILE_SHAPE] = NOF_DRIVER_SHAPE,
                                          [NOF_COMPILE_TYPE] = NOF_DRIVER_TYPE,
                                          [NOF_COMPILE_MEMORY] = NOF_DRIVER_ROOM};
    const struct nof_chan *channel = nof_chan_of(s->comm, 0);
    enum nof_driver driver = NOF_DRIVER_OFF;
    if (channel->programs != NULL && channel->programs->wanted()) {
        if (s->offload == NULL)
            s->offload = new_offload(s, channel);
        if (s->offload != NULL && s->offload->compiled == NOF_COMPILE_OWN)
            return NULL;
        driver = s->offload == NULL                     ? NOF_DRIVER_ROOM
                 : s->offload->compiled == NOF_COMPILED ? open_program(s->offload)
                                                        : why[s->offload->compiled];
    }
    if (driver != NOF_DRIVER_NIC) {
        nof_driver_count(driver);
        return NULL;
    }
    s->offload->asked_count = 0;
    s->offload->asked_at = 0;
    return s->offload;
}

void nof_offload_close(struct nof_offload *offload)
{
    if (offload == NULL)
        return;
    offload->nic->close(&offload->program);
    nof_image_free(&offload->image);
    free(offload->asked);
    free(offload);
}

void nof_offload_ask(struct nof_offload *offload, int step)
{
    uint32_t nsteps = offload->image.program->nsteps;
    if ((uint32_t)step < nsteps && offload->asked_count < nsteps)
        offload->asked[offload->asked_count++] = (uint16_t)step;
}

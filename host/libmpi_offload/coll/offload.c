/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/offload.h"

#include <stdlib.h>

#include "nof/status.h"

uint64_t nof_driver_counted[NOF_DRIVER_COUNT];

void nof_driver_count(enum nof_driver driver)
{
    nof_driver_counted[driver]++;
}

static struct nof_offload *new_offload(const struct nof_sched *s, const struct nof_chan *channel)
{
    struct nof_offload *d = malloc(sizeof(*d));
    if (d == NULL)
        return NULL;
    *d = (struct nof_offload){.nic = channel->programs};
    d->compiled = nof_compile(s, channel, &d->image);
    if (d->compiled == NOF_COMPILED) {
        d->asked = malloc(d->image.program->nsteps * sizeof(*d->asked));
        d->compiled = d->asked == NULL ? NOF_COMPILE_MEMORY : NOF_COMPILED;
    }
    return d;
}

static void drop(struct nof_offload *d)
{
    nof_program_cache_drop(d->open);
    d->open = NULL;
}

static enum nof_driver open_program(struct nof_offload *d, uint32_t ctx)
{
    if (d->open != NULL && !d->open->program.open)
        drop(d);
    int rc = d->open != NULL
                 ? NOF_OK
                 : nof_program_cache_take(d->nic, ctx, d->image.program, d->image.bytes, &d->open);
    return rc == NOF_OK ? NOF_DRIVER_NIC : rc == NOF_ENOENT ? NOF_DRIVER_PEER : NOF_DRIVER_ROOM;
}

struct nof_offload *nof_offload_open(struct nof_sched *s)
{
    static const enum nof_driver why[] = {[NOF_COMPILE_SHAPE] = NOF_DRIVER_SHAPE,
                                          [NOF_COMPILE_TYPE] = NOF_DRIVER_TYPE,
                                          [NOF_COMPILE_MEMORY] = NOF_DRIVER_ROOM};
    const struct nof_chan *channel = nof_chan_of(s->comm);
    enum nof_driver driver = NOF_DRIVER_OFF;
    if (s->multicast) {
        driver = NOF_DRIVER_MULTICAST;
    } else if (channel->programs != NULL && channel->programs->wanted()) {
        if (s->offload != NULL && s->offload->image.ieee != nof_op_computes_as_nic()) {
            nof_offload_close(s->offload); /* a persistent one; the program rounds otherwise now */
            s->offload = NULL;
        }
        if (s->offload == NULL)
            s->offload = new_offload(s, channel);
        if (s->offload != NULL && s->offload->compiled == NOF_COMPILE_OWN)
            return NULL;
        driver = s->offload == NULL                     ? NOF_DRIVER_ROOM
                 : s->offload->compiled == NOF_COMPILED ? open_program(s->offload, nof_comm_coll_ctx(s->comm))
                                                        : why[s->offload->compiled];
    }
    if (driver != NOF_DRIVER_NIC) {
        nof_driver_count(driver);
        return NULL;
    }
    s->offload->again = false;
    s->offload->asked_count = 0;
    s->offload->asked_at = 0;
    return s->offload;
}

static bool start(struct nof_sched *s)
{
    return s->offload->nic->start(&s->offload->open->program, nof_comm_coll_ctx(s->comm), s->tag, s->number,
                                  nof_near_bases(&s->offload->near, &s->offload->image));
}

bool nof_offload_start(struct nof_sched *s,
                       void (*heard)(struct nof_chan_program *p, enum nof_chan_news news, int value))
{
    s->offload->open->program.heard = heard;
    s->offload->open->program.owner = s;
    s->offload->open->program.agreed = s->agreed;
    if (s->request == NULL) /* of others the result is where it belongs though nobody calls */
        nof_near_open(&s->offload->near, s->offload->nic, &s->offload->image);
    if (start(s))
        return true;
    nof_near_close(&s->offload->near, s->offload->nic, &s->offload->image, false);
    return false;
}

bool nof_offload_declined(struct nof_sched *s)
{
    struct nof_offload *d = s->offload;
    if (s->error == MPI_SUCCESS && !d->again && nof_program_cache_open_again(d->open)) {
        d->again = true;
        if (start(s))
            return true;
    }
    nof_near_close(&d->near, d->nic, &d->image, false);
    nof_offload_ended(s, true);
    return false;
}

void nof_offload_ended(struct nof_sched *s, bool good)
{
    struct nof_offload *d = s->offload;
    if (good)
        nof_near_close(&d->near, d->nic, &d->image, true);
    if (!good) {
        nof_near_leave(&d->near);
        drop(d);
    } else if (!s->kept) {
        nof_program_cache_give(d->open);
        d->open = NULL;
    }
}

void nof_offload_close(struct nof_offload *offload)
{
    if (offload == NULL)
        return;
    if (offload->open != NULL)
        nof_program_cache_give(offload->open);
    nof_near_close(&offload->near, offload->nic, &offload->image, false);
    nof_image_free(&offload->image);
    free(offload->asked);
    free(offload);
}

void nof_offload_proceed(struct nof_offload *offload, uint32_t step, int status)
{
    nof_near_take(&offload->near, &offload->image, step);
    offload->nic->proceed(&offload->open->program, step, status);
}

void nof_offload_ask(struct nof_offload *offload, int step)
{
    uint32_t nsteps = offload->image.program->nsteps;
    if ((uint32_t)step < nsteps && offload->asked_count < nsteps)
        offload->asked[offload->asked_count++] = (uint16_t)step;
}

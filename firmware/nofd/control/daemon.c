/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/control/daemon.h"

#include <stdlib.h>
#include <unistd.h>

static struct nofd *dying; /* of quick_exit(), which passes nothing */

static void leave_nothing(void)
{
    nofd_unlisten(&dying->attach_door.listener);
    nofd_unlisten(&dying->control_door.listener);
    if (dying->options.directory[0] != '\0')
        (void)rmdir(dying->options.directory);
}

void nofd_daemon_init(struct nofd *d)
{
    d->attach_door.listener.fd = -1;
    d->control_door.listener.fd = -1;
    dying = d;
    (void)at_quick_exit(leave_nothing);
}

void nofd_stop(struct nofd *d, int exit_code)
{
    if (!d->loop.stop)
        d->exit_code = exit_code;
    nofd_loop_stop(&d->loop);
}

/* Its last rank has gone, and nobody asks it for its counters. */
void nofd_maybe_done(struct nofd *d)
{
    if (d->options.private_job && d->was_attached && d->nattached == 0 && d->nclients == 0)
        nofd_stop(d, 0);
}

bool nofd_is_for_all(const struct nofd *d)
{
    return geteuid() == 0 && !d->options.private_job;
}

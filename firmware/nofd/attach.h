/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks come and go: the attach socket, one connection per rank, and the endpoint behind it.
 *
 *   REQUEST --request--> [CHALLENGE --whose it was-->] PROBE --DMA works or not--> ATTACHED
 *   any     --socket or process gone--> closed
 *
 * Main thread. */
#ifndef NOFD_ATTACH_H
#define NOFD_ATTACH_H

#include <stdbool.h>
#include <stddef.h>

struct nofd;

/* 0 or -errno with a sentence in err. */
int nofd_attach_open(struct nofd *d, char *err, size_t err_bytes);
/* No rank can come any more, those that are here are closed with NOF_ENICDEAD. */
void nofd_attach_close(struct nofd *d);

/* Ends a private daemon once its last rank and its last control client have gone. */
void nofd_attach_maybe_done(struct nofd *d);

/* A core has news: endpoints that failed or are gone, pools that want helpers. */
void nofd_attach_look(struct nofd *d);
/* Time passed. Returns whether more ticks are needed. */
bool nofd_attach_tick(struct nofd *d);

#endif

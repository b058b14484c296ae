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

#include <stddef.h>

struct nofd;

/* 0 or -errno with a sentence in err. */
int nofd_attach_open(struct nofd *d, char *err, size_t err_bytes);
/* No rank can come any more, those that are here are closed with NOF_ENICDEAD. */
void nofd_attach_close(struct nofd *d);

/* A core has news: probes that have ended, endpoints that failed or are gone. */
void nofd_attach_look(struct nofd *d);

#endif

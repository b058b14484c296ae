/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NICs out of options: fabric, UDP and DPDK ports, firmware cores, and which NIC core serves what. Main
 * thread, while no NIC core runs. */
#ifndef NOFD_PLUG_H
#define NOFD_PLUG_H

#include <stddef.h>

struct nofd;

/* Fills d->nics and d->cores. 0, or -1 with a text in err (then nothing stays open). */
int nofd_plug_in(struct nofd *d, char *err, size_t err_bytes);
void nofd_plug_out(struct nofd *d);

#endif

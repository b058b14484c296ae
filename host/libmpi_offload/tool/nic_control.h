/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of this process's NIC, by way of its daemon's control socket: one line of JSON-RPC each way.
 * A call connects, asks and leaves; it takes ten seconds at most.
 * Threads: under the library's lock. Errors: NOF_ENOENT where no daemon answers, NOF_EINVAL when it refuses. */
#ifndef NOF_MPI_NIC_CONTROL_H
#define NOF_MPI_NIC_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "nof/features.h"

/* Where the daemon is attached to, "" for none: called once, by MPI_Init. The control socket is $NOF_CONTROL, else this
 * address and ".ctl"; one that is too long is none. */
void nof_nic_control_at(const char *socket);

/* Value of a feature, as a number (index into the choices, 0 or 1 for off and on). */
int nof_nic_control_get(enum nof_feature feature, uint64_t *value_out);
int nof_nic_control_set(enum nof_feature feature, uint64_t value);

/* Choice number `at` of a feature ("off", "on"); false beyond the last. */
int nof_nic_control_choice(enum nof_feature feature, int at, char *text, size_t text_bytes);

#endif

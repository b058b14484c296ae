/* SPDX-License-Identifier: BSD-3-Clause */
/* How messages between ranks of one host go: the names of what NOF_CHANNELS, feature "channels" and the info key nof_channels choose.
 *
 *   auto          by memory, each as is fastest
 *   nic           by the NIC, which matches, predicts and stages them
 *   shm           through memory: in slots and cells, never by a single copy
 *   single-copy   the receiver reads the sender's memory, also of what is short; in cells where the kernel forbids it
 *
 * Of those that go by memory each sender chooses for its own. A communicator takes nic or memory, for all of its ranks. Pure. */
#ifndef NOF_MPI_WAYS_H
#define NOF_MPI_WAYS_H

#include <stdbool.h>
#include <stddef.h>

#include "nof/bar.h"

#define NOF_WAYS_LIST "auto, nic, shm or single-copy"

/* False: that is none's name. */
bool nof_ways_named(const char *name, enum nof_channels *way_out);
const char *nof_ways_name(enum nof_channels way);

#endif

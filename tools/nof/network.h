/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options of the simulated network, checked before anything is started. The daemon reads them again: what it
 * would refuse is refused here, in the words of the command that the user typed; and what only a mistake can mean. */
#ifndef NOF_NETWORK_H
#define NOF_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#define NOF_NETWORK_MTU_BYTES 9000u /* nofd's own for simulated NICs */

/* What was said so far; start with {0}. */
struct nof_network {
    uint64_t buffer_bytes; /* 0: not said */
    uint64_t mtu_bytes; /* 0: not said */
};

/* Takes in "--loss" and its value. False after saying on stderr what it takes and an example of it. */
bool nof_network_option(struct nof_network *network, const char *option, const char *value, const char *self);
/* When all are known: false, with a sentence, if they do not go together. */
bool nof_network_check(const struct nof_network *network, const char *self);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is left in a NIC after all of its endpoints are closed and its peers are gone: nothing may be. */
#ifndef NOF_TESTS_LEFTOVERS_H
#define NOF_TESTS_LEFTOVERS_H

#include <stdint.h>

struct nof_nic;

#define LEFTOVERS_SPARE_FRAMES \
    4u /* a transport keeps NOF_SPARE_FRAMES for control frames as long as it lives */

/* NULL: the NIC is as on its first day, when it had this much credit to lend. Else what is not, in words; static
 * storage. */
const char *leftovers(const struct nof_nic *nic, uint32_t msgs_free, uint32_t blocks_free);

#endif

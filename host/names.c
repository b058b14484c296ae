/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counters by their names, for programs that link the driver. */
#include <string.h>

#include "nof/counters.h"
#include "nof/status.h"

#include "pmd_driver.h"

int nof_pmd_counter_find(const char *name, enum nof_counter *counter_out)
{
    for (unsigned i = 0; i < NOF_COUNTER_COUNT; i++) {
        if (strcmp(nof_counter_info[i].name, name) == 0) {
            *counter_out = (enum nof_counter)i;
            return NOF_OK;
        }
    }
    return NOF_ENOENT;
}

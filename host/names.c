/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of counters and status codes for programs that link the driver and not the firmware core. Weak,
 * because a test may link both; both expand the same tables. */
#include <string.h>

#include "nof/counters.h"
#include "nof/status.h"
#include "pmd_driver.h"

extern const struct nof_counter_info nof_counter_info[NOF_COUNTER_COUNT] __attribute__((weak));
const struct nof_counter_info nof_counter_info[NOF_COUNTER_COUNT] = {
#define X(id, name, unit, help) [NOF_C_##id] = {name, unit, help},
    NOF_COUNTERS(X)
#undef X
};

__attribute__((weak)) const char *nof_strstatus(int status)
{
    switch (status) {
#define X(code, text) \
    case NOF_##code: \
        return text;
        NOF_STATUS_TEXTS(X)
#undef X
    default:
        return "unknown status";
    }
}

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

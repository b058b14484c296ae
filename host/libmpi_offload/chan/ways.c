/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/ways.h"

#include <string.h>

static const char *const names[] = {
    [NOF_CHANNELS_AUTO] = "auto",
    [NOF_CHANNELS_NIC] = "nic",
    [NOF_CHANNELS_SHM] = "shm",
    [NOF_CHANNELS_SINGLE_COPY] = "single-copy",
};

bool nof_ways_named(const char *name, enum nof_channels *way_out)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            *way_out = (enum nof_channels)i;
            return true;
        }
    }
    return false;
}

const char *nof_ways_name(enum nof_channels way)
{
    return names[way];
}

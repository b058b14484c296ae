/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the environment says. The one rule for all variables of ours: one that is set to nothing is not set, as `NOF_X= program` and a
 * line of a service file without a value mean it.
 * Threads: as getenv(). */
#ifndef NOF_PRIVATE_ENV_H
#define NOF_PRIVATE_ENV_H

#include <stddef.h>
#include <stdlib.h>

/* NULL: nothing. */
static inline const char *nof_env(const char *name)
{
    const char *text = getenv(name);

    return text == NULL || *text == '\0' ? NULL : text;
}

#endif

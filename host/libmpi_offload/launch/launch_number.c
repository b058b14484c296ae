/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "nof_private/env.h"

#include "launch/launch.h"

int nof_launch_number(const char *variable, int *number_out)
{
    const char *text = nof_env(variable);
    if (text == NULL)
        return -1;
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 0 || value > INT32_MAX)
        return -1;
    *number_out = (int)value;
    return 0;
}

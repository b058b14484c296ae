/* SPDX-License-Identifier: BSD-3-Clause */
#include "nof/status.h"

const char *nof_strstatus(int status)
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

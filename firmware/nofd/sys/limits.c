/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/sys/limits.h"

#include <errno.h>
#include <sys/resource.h>

const char *nofd_limits_hint(int why)
{
    struct rlimit limit;

    if (why == EMFILE)
        return " (EMFILE: raise ulimit -n)";
    if (why == EFBIG)
        return " (raise ulimit -f)";
    /* DPDK answers with one number of its own for many reasons. */
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return " (address space is limited, RLIMIT_AS: raise ulimit -v)";
    return "";
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_size.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nof_private/env.h"

/* Of the link, which the host does not know: 10 Gbit/s. It matters only beside a program that is as fast. */
#define LINK_NS_PER_KIB 820u
#define FIRST_NS_PER_KIB 4096u /* until the first message has told */

static size_t fixed_bytes; /* 0: by the model */
static uint64_t learned = FIRST_NS_PER_KIB; /* atomic */
static enum nof_delta_trigger trigger = NOF_DELTA_EXPLICIT;

static bool known_trigger(const char *name)
{
    static const char *const names[] = {
        [NOF_DELTA_EXPLICIT] = "explicit", [NOF_DELTA_OS] = "os", [NOF_DELTA_AUTO] = "auto"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            trigger = (enum nof_delta_trigger)i;
            return true;
        }
    }
    return false;
}

int nof_delta_size_open(char *text, size_t text_bytes)
{
    const char *size = nof_env("NOF_DELTA_SIZE"), *how = nof_env("NOF_DELTA");
    if (size != NULL && strcmp(size, "auto") != 0) {
        char *end = NULL;
        errno = 0;
        unsigned long long n = strtoull(size, &end, 10);
        if (errno != 0 || end == size || *end != '\0' || size[0] == '-' || n == 0) {
            snprintf(text, text_bytes, "NOF_DELTA_SIZE=%s: must be auto, or a number of bytes", size);
            return -1;
        }
        fixed_bytes = (size_t)n;
    }
    if (how != NULL && !known_trigger(how)) {
        snprintf(text, text_bytes, "NOF_DELTA=%s: must be explicit, os or auto", how);
        return -1;
    }
    return 0;
}

enum nof_delta_trigger nof_delta_trigger(void)
{
    return trigger;
}

static uint64_t square_root(uint64_t n)
{
    uint64_t root = 0;
    for (uint64_t bit = 1ull << 31; bit != 0; bit >>= 1)
        if ((root | bit) * (root | bit) <= n)
            root |= bit;
    return root;
}

size_t nof_delta_size(size_t bytes, uint64_t ns_per_kib, uint64_t cost_ns, size_t least)
{
    size_t most = bytes / 4 > least ? bytes / 4 : least;
    if (fixed_bytes != 0)
        return fixed_bytes < most ? fixed_bytes : most;
    if (ns_per_kib == 0)
        ns_per_kib = __atomic_load_n(&learned, __ATOMIC_RELAXED);
    uint64_t per_kib_ns = ns_per_kib + LINK_NS_PER_KIB, weighed, d;
    if (__builtin_mul_overflow((uint64_t)bytes, cost_ns, &weighed) ||
        __builtin_mul_overflow(weighed / per_kib_ns, 1024, &weighed))
        weighed = UINT64_MAX;
    d = square_root(weighed);
    return d < least ? least : d > most ? most : (size_t)d;
}

void nof_delta_size_learn(uint64_t ns_per_kib)
{
    if (ns_per_kib > 0)
        __atomic_store_n(&learned, ns_per_kib, __ATOMIC_RELAXED);
}

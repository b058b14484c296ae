/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/publish.h"

#include <stddef.h>

uint64_t nof_publish_due_ns = UINT64_MAX;
static const struct nof_publish_part *parts;
static uint64_t *to;

void nof_publish_open(const struct nof_publish_part *of, uint64_t *where)
{
    parts = of;
    to = where;
    nof_publish_due_ns = where == NULL ? UINT64_MAX : 0;
}

void nof_publish(uint64_t now_ns)
{
    uint64_t *out = to;
    if (out == NULL)
        return;
    nof_publish_due_ns = now_ns + NOF_PUBLISH_NS;
    for (const struct nof_publish_part *part = parts; part->count != NULL; part++)
        for (unsigned i = 0; i < part->n; i++)
            __atomic_store_n(out++, __atomic_load_n(&part->count[i], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

void nof_publish_close(void)
{
    nof_publish(0);
    nof_publish_open(NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/core/siblings.h"

#include <errno.h>
#include <stdlib.h>

#include "nofd/sys/clock.h"

int nofd_siblings_init(struct nofd_siblings *siblings, unsigned n)
{
    *siblings = (struct nofd_siblings){.of = calloc(n != 0 ? n : 1, sizeof(*siblings->of))};
    return siblings->of != NULL ? 0 : -ENOMEM;
}

void nofd_siblings_fini(struct nofd_siblings *siblings)
{
    free(siblings->of);
    *siblings = (struct nofd_siblings){0};
}

void nofd_siblings_add(struct nofd_siblings *siblings, const struct nofd_lcore *lcore)
{
    siblings->of[siblings->n++] = (struct nofd_sibling){.lcore = lcore};
}

/* It was due at the last look, is so now, and has not had a turn between. */
static bool stands(struct nofd_sibling *sibling)
{
    uint32_t turns = nofd_lcore_turns(sibling->lcore);
    bool due = nofd_lcore_due(sibling->lcore);
    bool stood = sibling->due && due && turns == sibling->turns;

    sibling->turns = turns;
    sibling->due = due;
    return stood;
}

bool nofd_siblings_late(struct nofd_siblings *siblings, uint64_t now_ns)
{
    bool late = false;

    if (siblings->n == 0 || now_ns - siblings->looked_ns < NOFD_SIBLINGS_LOOK_NS)
        return false;
    siblings->looked_ns = now_ns;
    /* bound: cores of the daemon; paid by this one, a hundred times a second at most */
    for (unsigned i = 0; i < siblings->n; i++)
        late = stands(&siblings->of[i]) || late;
    return late;
}

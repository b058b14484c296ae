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

/* It was due at the last look and has not had a turn since. */
static bool stands(struct nofd_sibling *sibling, uint64_t passed_ns)
{
    uint32_t turns = nofd_lcore_turns(sibling->lcore);
    bool stood = sibling->due && turns == sibling->turns;

    sibling->late_ns = stood ? sibling->late_ns + passed_ns : 0;
    sibling->turns = turns;
    sibling->due = nofd_lcore_due(sibling->lcore);
    return stood && sibling->late_ns <= NOFD_SIBLING_LATE_MAX_NS;
}

uint64_t nofd_siblings_late_ns(struct nofd_siblings *siblings, uint64_t now_ns)
{
    uint64_t passed_ns = now_ns - siblings->looked_ns;
    bool late = false;

    if (siblings->n == 0 || passed_ns < NOFD_SIBLINGS_LOOK_NS)
        return 0;
    if (siblings->looked_ns == 0)
        passed_ns = 0;
    siblings->looked_ns = now_ns;
    /* bound: cores of the daemon; paid by this one, a hundred times a second at most */
    for (unsigned i = 0; i < siblings->n; i++)
        late = stands(&siblings->of[i], passed_ns) || late;
    return late ? passed_ns : 0;
}

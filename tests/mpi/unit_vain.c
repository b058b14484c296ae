/* SPDX-License-Identifier: BSD-3-Clause */
/* What was asked for in vain: only the same question, and only until something has come; one drives out another of its place, and
 * nothing is noted at first, whatever the time is. */
#include "../check.h"
#include "chan/nic/vain.h"

static struct nof_vain vain;

static bool holds(uint32_t ctx, int32_t source, int32_t tag, uint64_t now)
{
    return nof_vain_holds(&vain, &(struct nof_vain_question){ctx, source, tag}, now);
}

static void note(uint32_t ctx, int32_t source, int32_t tag, uint64_t asked_at)
{
    nof_vain_note(&vain, &(struct nof_vain_question){ctx, source, tag}, asked_at);
}

int main(void)
{
    check(!holds(0, 0, 0, 0));
    note(2, -1, 5, 7);
    check(holds(2, -1, 5, 7));
    check(!holds(2, -1, 5, 8) && !holds(2, -1, 5, 6));
    check(!holds(2, 0, 5, 7) && !holds(2, -1, -1, 7) && !holds(4, -1, 5, 7));
    /* The same place, another question. */
    check(!holds(2, -1 + (int32_t)NOF_VAIN_PLACES, 5, 7));
    note(2, -1 + (int32_t)NOF_VAIN_PLACES, 5, 7);
    check(!holds(2, -1, 5, 7) && holds(2, -1 + (int32_t)NOF_VAIN_PLACES, 5, 7));
    /* Who asks one rank after the other keeps all answers. */
    for (int32_t source = 0; source < (int32_t)NOF_VAIN_PLACES; source++)
        note(2, source, 5, UINT64_MAX);
    for (int32_t source = 0; source < (int32_t)NOF_VAIN_PLACES; source++)
        check(holds(2, source, 5, UINT64_MAX) && !holds(2, source, 5, 0));
    return 0;
}

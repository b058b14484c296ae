/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What has been asked for in vain: probes that the NIC answered with "nothing", and when they were asked, so that the same question need
 * not go to it again before something has come (docs/decisions/0063).
 *
 *   t = now; ask the NIC; nothing -> note(what, t);   holds(what, now): it would say so again
 *
 * `now` is a number that differs from all before it once something may have come that a probe could find.
 *
 * Memory: the owner's, zero at first: nothing is noted. One question drives out another that has the same place; questions that differ in
 * the source alone have different ones, up to NOF_VAIN_PLACES of them. */
#ifndef NOF_MPI_VAIN_H
#define NOF_MPI_VAIN_H

#include <stdbool.h>
#include <stdint.h>

#define NOF_VAIN_PLACES 64u

struct nof_vain_question {
    uint32_t ctx;
    int32_t source, tag; /* wildcards are values like any other */
};

struct nof_vain {
    struct {
        struct nof_vain_question question;
        uint64_t at;
        bool noted; /* else the place is free */
    } place[NOF_VAIN_PLACES];
};

static inline uint32_t nof_vain_place(const struct nof_vain_question *q)
{
    return ((uint32_t)q->source + 7 * (uint32_t)q->tag + 13 * q->ctx) % NOF_VAIN_PLACES;
}

static inline bool nof_vain_holds(const struct nof_vain *v, const struct nof_vain_question *q, uint64_t now)
{
    uint32_t i = nof_vain_place(q);
    const struct nof_vain_question *other = &v->place[i].question;
    return v->place[i].noted && v->place[i].at == now && other->ctx == q->ctx && other->source == q->source &&
           other->tag == q->tag;
}

static inline void nof_vain_note(struct nof_vain *v, const struct nof_vain_question *q, uint64_t asked_at)
{
    uint32_t i = nof_vain_place(q);
    v->place[i].question = *q;
    v->place[i].at = asked_at;
    v->place[i].noted = true;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* How often the wait loop looks at the NIC beside memory that ranks share: a value that knows neither.
 *
 *   nof_polling_init()
 *   nof_polling_set()    how; at any time
 *   nof_polling_due()    once a turn of the loop, which looks at memory in any case: is it the NIC's as well?
 *   nof_polling_hasten() a wait has just begun and found nothing: the best time for a look that is due soon anyway
 *
 * static    the NIC is looked at in every ratio-th turn, and, hastened, in every half as many at most
 * dynamic   likewise, and the ratio follows what comes: of the last `update` messages, m by memory and n by the NIC, it is
 *           floor(m / n) + 1, or update + 1 where n is 0; then both are counted anew. Until the first have come it is 1.
 *           Where more than that came between two turns all of them count, and the ratio is held to update + 1.
 *
 * Counting goes on from one wait to the next. Bound: of any ratio turns in a row, 1 + NOF_POLLING_MOST at most, the NIC's
 * is one; a ratio that becomes smaller counts at once.
 *
 * Memory: the caller's. Threads: one. Cost of a turn: two subtractions, no division but at an update. Source: papers/001, section
 * 3.2; docs/decisions/0044-turns-of-the-wait-loop.md. */
#ifndef NOF_MPI_POLLING_H
#define NOF_MPI_POLLING_H

#include <stdbool.h>
#include <stdint.h>

#define NOF_POLLING_MOST 1000u

struct nof_polling_set {
    bool dynamic;
    uint32_t ratio; /* static: turns of which one is the NIC's, 1..NOF_POLLING_MOST */
    uint32_t update; /* dynamic: messages, 1..NOF_POLLING_MOST */
};

struct nof_polling {
    struct nof_polling_set set;
    uint32_t ratio; /* as it is now */
    uint32_t left; /* turns to the NIC's next one, that one included */
    uint32_t near, far; /* messages by memory, by the NIC, when they were last counted anew */
    uint64_t updates;
};

/* Its first turn is the NIC's. */
void nof_polling_init(struct nof_polling *p, const struct nof_polling_set *set);
/* Values out of range are brought into it. near, far: messages so far, as due(). */
void nof_polling_set(struct nof_polling *p, const struct nof_polling_set *set, uint32_t near, uint32_t far);
/* What due() calls when it is time. */
void nof_polling_update(struct nof_polling *p, uint32_t near, uint32_t far);

/* near, far: messages that have come by memory and by the NIC since any time, modulo 2^32. */
static inline bool nof_polling_due(struct nof_polling *p, uint32_t near, uint32_t far)
{
    if (p->set.dynamic && near - p->near + (far - p->far) >= p->set.update)
        nof_polling_update(p, near, far);
    if (--p->left > 0)
        return false;
    p->left = p->ratio;
    return true;
}

/* What is due within half of the ratio is so in the next turn: it delays no answer to what was sent just now. */
static inline void nof_polling_hasten(struct nof_polling *p)
{
    if (p->left <= p->ratio / 2)
        p->left = 1;
}

#endif

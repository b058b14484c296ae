/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shares: a pool that many use, of which everybody can count on a part. Half of the pool is promised,
 * in equal parts, to those who may come; the other half is for who asks first. What is promised and
 * not taken yet is never given to somebody else, so nobody's greed is felt by a modest user.
 *
 *   may() -> take from the pool -> taken()          give back to the pool -> given()
 *
 * `used` is the user's own count, kept by these calls. */
#ifndef NOF_SHARE_H
#define NOF_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct nof_share {
    uint32_t least; /* of every user */
    uint32_t owed; /* promised and not taken, of all users */
};

/* total: objects in the pool; users: how many there may be, at least 1. */
static inline void nof_share_init(struct nof_share *s, uint32_t total, uint32_t users)
{
    s->least = total / (2 * users);
    s->owed = s->least * users;
}

/* May a user that has `used` objects have n more, when the pool has `free`? */
static inline bool nof_share_may(const struct nof_share *s, uint32_t used, uint32_t n, uint32_t free)
{
    uint32_t own = used < s->least ? s->least - used : 0;
    return n <= own || (free >= s->owed && n - own <= free - s->owed);
}

static inline void nof_share_taken(struct nof_share *s, uint32_t *used, uint32_t n)
{
    uint32_t own = *used < s->least ? s->least - *used : 0;
    s->owed -= n < own ? n : own;
    *used += n;
}

static inline void nof_share_given(struct nof_share *s, uint32_t *used, uint32_t n)
{
    *used -= n;
    uint32_t own = *used < s->least ? s->least - *used : 0;
    s->owed += n < own ? n : own;
}

#endif

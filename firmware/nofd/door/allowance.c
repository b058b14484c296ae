/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/door/allowance.h"

#include <string.h>

#include "nofd/sys/clock.h"

/* The main thread may share a CPU with a NIC core: what remains of it is the core's. */
#define USER_PERCENT 10u
#define OTHERS_PERCENT 20u
#define OWNER_PERCENT 15u

uint64_t nofd_allowance_clock_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * NOFD_S + (uint64_t)ts.tv_nsec;
}

void nofd_budget_init(struct nofd_budget *b, uint64_t most_ns, unsigned earns_percent, uint64_t now_ns)
{
    b->most_ns = (int64_t)most_ns;
    b->left_ns = b->most_ns;
    b->at_ns = now_ns;
    b->earns_percent = earns_percent;
}

bool nofd_budget_left(struct nofd_budget *b, uint64_t now_ns)
{
    uint64_t passed_ns = now_ns - b->at_ns;
    int64_t room_ns = b->most_ns - b->left_ns;

    b->at_ns = now_ns;
    if (passed_ns >= (uint64_t)room_ns * 100 / b->earns_percent)
        b->left_ns = b->most_ns;
    else
        b->left_ns += (int64_t)(passed_ns * b->earns_percent / 100);
    return b->left_ns > 0;
}

void nofd_budget_charge(struct nofd_budget *b, uint64_t taken_ns)
{
    b->left_ns -= (int64_t)taken_ns;
}

void nofd_allowances_init(struct nofd_allowances *s, bool private, uid_t owner, uint64_t attach_ns,
                          uint64_t now_ns)
{
    memset(s, 0, sizeof(*s));
    s->private = private;
    s->owner = owner;
    nofd_budget_init(&s->others, 2 * attach_ns, OTHERS_PERCENT, now_ns);
    s->owners.uid = owner;
    nofd_budget_init(&s->owners.time, 2 * attach_ns, OWNER_PERCENT, now_ns);
    for (unsigned i = 0; i < NOFD_ALLOWANCES_MAX; i++) {
        s->of[i].uid = owner; /* nobody's */
        nofd_budget_init(&s->of[i].time, attach_ns, USER_PERCENT, now_ns);
    }
}

/* Root may do all that the daemon's user may, and shares with it. */
static bool owns(const struct nofd_allowances *s, uid_t uid)
{
    return uid == s->owner || uid == 0;
}

static int64_t debt_ns(const struct nofd_allowance *share)
{
    return share->time.most_ns - share->time.left_ns;
}

/* A new user takes the account without connections that has the least to remember: nothing, as long as there is one. */
struct nofd_allowance *nofd_allowance_enter(struct nofd_allowances *s, uid_t uid, uint64_t now_ns)
{
    struct nofd_allowance *found = owns(s, uid) ? &s->owners : NULL;
    struct nofd_allowance *spare = NULL;

    for (unsigned i = 0; i < NOFD_ALLOWANCES_MAX && found == NULL; i++) {
        struct nofd_allowance *at = &s->of[i];

        if (at->uid == uid)
            found = at;
        else if (at->connections == 0 && (spare == NULL || debt_ns(spare) > 0)) {
            (void)nofd_budget_left(&at->time, now_ns);
            if (spare == NULL || debt_ns(at) < debt_ns(spare))
                spare = at;
        }
    }
    if (found == NULL && spare != NULL) {
        found = spare;
        found->uid = uid;
        found->time.left_ns = found->time.most_ns;
    }
    if (found != NULL)
        found->connections++;
    return found;
}

void nofd_allowance_leave(struct nofd_allowance *share)
{
    share->connections--;
}

bool nofd_allowance_is_owner(const struct nofd_allowances *s, const struct nofd_allowance *share)
{
    return share == &s->owners;
}

bool nofd_allowance_may(struct nofd_allowances *s, struct nofd_allowance *share, uint64_t now_ns)
{
    bool left = nofd_budget_left(&share->time, now_ns);

    if (share == &s->owners)
        return left || s->private;
    return nofd_budget_left(&s->others, now_ns) && left;
}

void nofd_allowance_charge(struct nofd_allowances *s, struct nofd_allowance *share, uint64_t taken_ns)
{
    nofd_budget_charge(&share->time, taken_ns);
    if (share != &s->owners)
        nofd_budget_charge(&s->others, taken_ns);
}

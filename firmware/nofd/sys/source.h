/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Something that a NIC core serves in each turn: a NIC, the helpers of other users' memory, the copier. The core knows
 * no more of it than this table, in which NULL means that there is nothing of the kind; only turn is never NULL.
 *
 *   turn                                  every turn, in the order of the core's list
 *   spare                                 a turn without work anywhere
 *   asleep(true) -> fence -> ready        before a sleep, which ends at the earliest deadline
 *   asleep(false)                         after it, or when somebody was ready
 *
 * Threads: the NIC core. */
#ifndef NOFD_SOURCE_H
#define NOFD_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct nofd_source;

struct nofd_source_ops {
    /* Returns how much there was to do. */
    unsigned (*turn)(struct nofd_source *source, uint64_t now_ns);
    /* Does what another thread would do otherwise. Returns how much. One source of a core has it, at most. */
    unsigned (*spare)(struct nofd_source *source);
    /* When it must have a turn if nobody wakes the core; UINT64_MAX: never. NULL: never. */
    uint64_t (*deadline)(struct nofd_source *source, uint64_t now_ns);
    /* Nothing is under way: a port that cannot wake us is looked at less and less often. NULL: never is. */
    bool (*quiet)(struct nofd_source *source);
    /* Tells those who put something in whether they must wake the core. */
    void (*asleep)(struct nofd_source *source, bool asleep);
    /* The last look after that: something came. Every source is asked, whatever the others say. */
    bool (*ready)(struct nofd_source *source);
    /* The core was not scheduled for so long: nobody's silence in that time counts. */
    void (*stalled)(struct nofd_source *source, uint64_t now_ns, uint64_t stalled_ns);
    /* Another core of the daemon is to run, and does not (core/siblings.h). NULL: all the same. */
    void (*late)(struct nofd_source *source, uint64_t now_ns);
};

/* First member of what it is. */
struct nofd_source {
    const struct nofd_source_ops *ops;
};

struct nofd_sources {
    struct nofd_source **of;
    unsigned n;
};

#endif

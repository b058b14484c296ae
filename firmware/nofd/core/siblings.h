/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The other cores of this daemon, as a core sees them that waits for an answer: has one of them something to do and does
 * not get to it? Where threads outnumber CPUs, or the machine's own are taken away, a core may stand for longer than a dead
 * peer is silent. What a peer has not answered meanwhile says nothing of it: it may be that core's (a simulated switch), or
 * as late as we are (docs/decisions/0054-a-late-core-is-no-dead-peer.md).
 *
 * Threads: the core that looks. Of the others it reads two words (lcore.h). */
#ifndef NOFD_SIBLINGS_H
#define NOFD_SIBLINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "nofd/sys/lcore.h"

struct nofd_sibling {
    const struct nofd_lcore *lcore;
    uint32_t turns; /* at the last look */
    bool due; /* it was not asleep then, or had been woken */
    uint64_t late_ns; /* since its last turn that was seen */
};

struct nofd_siblings {
    struct nofd_sibling *of;
    unsigned n;
    uint64_t looked_ns; /* 0: never */
};

/* Room for n of them. 0 or -ENOMEM. */
int nofd_siblings_init(struct nofd_siblings *siblings, unsigned n);
void nofd_siblings_fini(struct nofd_siblings *siblings);
/* Before the first look. Read until the caller's last one. */
void nofd_siblings_add(struct nofd_siblings *siblings, const struct nofd_lcore *lcore);

/* How much of the time since the last look a core stood that was due: all of it, or 0. A core that stands for longer
 * than NOFD_SIBLING_LATE_MAX_NS is stuck, and excuses nobody any more. */
uint64_t nofd_siblings_late_ns(struct nofd_siblings *siblings, uint64_t now_ns);

#define NOFD_SIBLINGS_LOOK_NS \
    (10 * NOFD_MS) /* between two looks; nofd_siblings_late_ns() does nothing before */
#define NOFD_SIBLING_LATE_MAX_NS (10 * NOFD_S)

#endif

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

/* Has one of them been due since the last look, and not had a turn? How long that excuses a peer is the transport's matter
 * (nof_live_excuse): one that is dead is dead, be others ever so late. */
bool nofd_siblings_late(struct nofd_siblings *siblings, uint64_t now_ns);

#define NOFD_SIBLINGS_LOOK_NS (10 * NOFD_MS) /* between two looks; false before */

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One message of a multicast group, as one member sees it: which frames have come here, and what those below in the tree
 * of acknowledgements have. A value: it knows neither frames' bytes nor the NIC.
 *
 *   nof_mcast_begin() -> nof_mcast_take() a frame, nof_mcast_heard() of a child, in any order
 *                     -> nof_mcast_sum(): of this member and all below; nof_mcast_news(): is it to be told now?
 *
 * The tree has fan-in NOF_MCAST_FAN. Members stand in a ring from the sender on: the one at distance d has those at
 * distances FAN d + 1 to FAN d + FAN below it. Of a subtree only the least is told: so many frames are everywhere
 * (`cum`), all may take the rest (`ready`), all have everything (`done`).
 *
 *   cum(subtree) = min of cum(its members)     ready, done likewise; none of the three goes back
 *
 * so the sender hears at most FAN of them for NOF_MCAST_ACK_EVERY frames. Cost: O(1) but for the FAN children. */
#ifndef NOF_MCAST_MSG_H
#define NOF_MCAST_MSG_H

#include <stdbool.h>
#include <stdint.h>

#define NOF_MCAST_FAN 8u
#define NOF_MCAST_ACK_EVERY 16u
#define NOF_MCAST_WINDOW 128u /* frames from the first that is missing somewhere */
#define NOF_MCAST_MEMBERS_MAX 256u
#define NOF_MCAST_REPAIR_SHARE 8u /* so many members, or two, miss a frame: it is multicast again */

struct nof_mcast_part {
    uint32_t cum;
    bool ready, done;
};

struct nof_mcast_msg {
    uint32_t nframes; /* 0: not known yet */
    uint32_t high; /* behind the last frame that came */
    uint64_t have[NOF_MCAST_WINDOW / 64]; /* bit i: frame own.cum + i has come */
    uint32_t nchildren;
    struct nof_mcast_part own, child[NOF_MCAST_FAN];
    struct nof_mcast_part told;
    bool
        eager; /* the last frame came again: every change that leaves no gap is told, until a new one comes */
};

/* Distances in the ring of n members from the sender. */
static inline uint32_t nof_mcast_distance(uint32_t n, uint32_t sender, uint32_t member)
{
    return member >= sender ? member - sender : member + n - sender;
}

static inline uint32_t nof_mcast_member(uint32_t n, uint32_t sender, uint32_t distance)
{
    return sender + distance < n ? sender + distance : sender + distance - n;
}

/* Whom `me`, who is not the sender, tells. */
static inline uint32_t nof_mcast_parent(uint32_t n, uint32_t sender, uint32_t me)
{
    return nof_mcast_member(n, sender, (nof_mcast_distance(n, sender, me) - 1) / NOF_MCAST_FAN);
}

/* Which child of `me` is that member; NOF_MCAST_FAN: none. */
static inline uint32_t nof_mcast_child(uint32_t n, uint32_t sender, uint32_t me, uint32_t member)
{
    uint32_t d = nof_mcast_distance(n, sender, member);
    uint32_t mine = nof_mcast_distance(n, sender, me);
    return d != 0 && (d - 1) / NOF_MCAST_FAN == mine ? (d - 1) % NOF_MCAST_FAN : NOF_MCAST_FAN;
}

/* n >= 1 members, two of them `sender` and `me`, who may be the same. The sender has everything. */
void nof_mcast_begin(struct nof_mcast_msg *m, uint32_t n, uint32_t sender, uint32_t me);

enum nof_mcast_taken { NOF_MCAST_NEW, NOF_MCAST_AGAIN, NOF_MCAST_BEYOND };
/* Would this frame be taken? */
enum nof_mcast_taken nof_mcast_look(const struct nof_mcast_msg *m, uint32_t frame);
/* A frame has come; frame < nframes. */
enum nof_mcast_taken nof_mcast_take(struct nof_mcast_msg *m, uint32_t frame);
/* All before own.cum are here, and of those behind it these. */
bool nof_mcast_has(const struct nof_mcast_msg *m, uint32_t frame);
/* Something before one that came is missing. */
static inline bool nof_mcast_gap(const struct nof_mcast_msg *m)
{
    return m->own.cum < m->high;
}

/* A child says this; less than before changes nothing. */
void nof_mcast_heard(struct nof_mcast_msg *m, uint32_t child, const struct nof_mcast_part *said);

struct nof_mcast_part nof_mcast_sum(const struct nof_mcast_msg *m);
/* Is `sum` to be told to the parent now? Then it counts as told. */
bool nof_mcast_news(struct nof_mcast_msg *m, const struct nof_mcast_part *sum);

/* Who misses a frame so often that it is multicast again, of n members. */
static inline uint32_t nof_mcast_many(uint32_t n)
{
    return n / NOF_MCAST_REPAIR_SHARE > 2 ? n / NOF_MCAST_REPAIR_SHARE : 2;
}

#endif

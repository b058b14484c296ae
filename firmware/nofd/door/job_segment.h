/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nofd's side of the segment of a job on a host (nof/segment.h): who has which slot, their bells, and the roster.
 *
 *   nofd_segment_of()       the job's segment on that host; the first that asks makes it
 *   nofd_segment_give()     a slot that nobody had, before its rank's endpoint is opened
 *   nofd_segment_keep()     its rank is attached: the roster says so
 *   nofd_segment_release()  or it is not, and the slot is the next one's
 *   nofd_segment_gone()     the roster says that it has left, or died: before any peer is told
 *   nofd_segment_alarm()    its peers are told: everybody wakes up and looks at the roster
 *   nofd_segments_end()     with the job
 *
 * Mapped are the bells and the roster, no part; both are allocated before they are passed. What ranks write there (bells) is
 * never believed: it is rung, and `asleep` only says whether a system call is worth it.
 *
 * Threads: main; bell and gone() also the NIC core of that endpoint, which ends before the job does. */
#ifndef NOFD_SEGMENT_H
#define NOFD_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nof/segment.h"

struct nofd_segment {
    struct nofd_segment *next; /* of the job, on its other hosts */
    uint32_t host_id;
    uint32_t nslots; /* 0: there is none, and nobody needs to try again */
    uint32_t given; /* slots, from 0 on */
    int fd; /* -1: none */
    int roster_fd;
    struct nof_segment_bell *bells;
    struct nof_roster *roster;
    uint64_t segment_bytes;
    uint64_t roster_bytes;
};

/* A slot, or none. */
struct nofd_slot {
    struct nofd_segment *segment; /* NULL: none */
    uint32_t index;
};

/* NULL: nslots is less than two, or there is none, which `why` says (why_bytes; "" if it is no news). */
struct nofd_segment *nofd_segment_of(struct nofd_segment **segments, uint32_t host_id, uint32_t nslots,
                                     char *why, size_t why_bytes);
/* To this rank of the job: false if it has had one, or all are given. */
bool nofd_segment_give(struct nofd_segment *segment, uint32_t rank, struct nofd_slot *slot_out);
void nofd_segment_keep(const struct nofd_slot *slot, pid_t pid);
void nofd_segment_release(struct nofd_slot *slot);
/* NOF_OK: it has left in order. NOF_ENICDEAD: nofd ends, and with it the roster. Once; later calls change nothing. */
void nofd_segment_gone(const struct nofd_slot *slot, int reason);
/* After gone(), if that was a death. */
void nofd_segment_alarm(const struct nofd_slot *slot);
void nofd_segments_end(struct nofd_segment **segments);

/* What goes into the reply. */
struct nof_segment_reply nofd_segment_told(const struct nofd_slot *slot);

static inline struct nof_segment_bell *nofd_segment_bell(const struct nofd_slot *slot)
{
    return slot->segment == NULL ? NULL : &slot->segment->bells[slot->index];
}

static inline uint32_t nofd_segment_id(const struct nofd_slot *slot)
{
    return slot->segment == NULL ? 0 : slot->segment->roster->segment_id;
}

#endif

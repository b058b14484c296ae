/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared segment of a job on a host: memory that the ranks of one job on one (simulated) host share among each other,
 * made by nofd, which knows who they are. Unnamed: nothing is left behind in a file system, and nobody else can open it.
 *
 * nofd passes two further descriptors with the attach reply, after key and user were checked, to a rank that asked for them
 * (NOF_ATTACH_F_SEGMENT): NOF_BAR_FD_SEGMENT, a memfd sealed SHRINK|GROW|SEAL, and NOF_BAR_FD_ROSTER, sealed
 * FUTURE_WRITE too: read-only for ranks. A host for which there is none (a job of one rank here, no memory, a slot too
 * many) is told 0 slots and no descriptors, and goes by its NIC.
 *
 *   segment:  0                        struct nof_segment_bell[nslots], allocated by nofd: all that nofd maps
 *             part_offset              part of slot 0, `part_bytes`, sparse: its rank allocates (fallocate) what it publishes
 *             + part_bytes             part of slot 1, ...
 *   roster:   0                        struct nof_roster, then struct nof_roster_rank[nslots]: written by nofd alone
 *
 * A slot belongs to the rank that was given it, for the job's life, and is not given again. What stands in a
 * part is an affair of the ranks (the library's shared-memory channel); nofd never reads it. All ranks of the job are equals
 * here: whoever writes over the segment can hurt his own job, and every reader takes each word once and checks it.
 *
 * Waking. A rank with a slot sleeps on the bell of its slot, not on its host words (bar.h), and with one word for all that
 * may happen to it: nofd rings it where it would have rung the host words, and so do its peers. Who is about to sleep sets
 * `asleep`, makes the store visible (below), looks at everything once more, and waits on `wake` (futex, shared) as long as
 * it holds what it held before `asleep` was set. Who has put something in for that rank looks at `asleep` afterwards; if it is
 * set, it clears it, increments `wake` and wakes. Between the two either both have a full fence, or the sleeper calls
 * membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED), if all ranks have registered for it and have a CPU each, which they say in their parts; nofd
 * rings with a fence in any case.
 *
 * Death. A rank whose life line breaks without a detach is DEAD in the roster before any of its peers is told
 * (NOF_COMP_PEER_DEAD); `deaths` is incremented after that, and all bells of the segment are rung. */
#ifndef NOF_SEGMENT_H
#define NOF_SEGMENT_H

#include <assert.h>
#include <stdint.h>

#define NOF_SEGMENT_MAGIC 0x313053474553464eull /* "NFSEGS01" */
#define NOF_SEGMENT_SLOTS_MAX 4096u
#define NOF_SEGMENT_LANE_BYTES 4096u /* of a part, for each slot of the segment */
#define NOF_SEGMENT_OWN_BYTES \
    (1088u * 1024) /* of a part, besides lanes: cells, and 64 KiB for what leads to them */

/* 64 bytes: a cache line of its own. Any rank of the job may write any of it; nofd only rings. */
struct nof_segment_bell {
    uint32_t wake; /* futex word (shared) */
    uint32_t asleep; /* 1 while that rank waits on `wake` */
    uint32_t reserved[14];
};

enum nof_roster_state {
    NOF_ROSTER_FREE = 0, /* nobody has come yet: the other fields say nothing */
    NOF_ROSTER_ATTACHED = 1,
    NOF_ROSTER_LEFT = 2, /* in order, by a detach */
    NOF_ROSTER_DEAD = 3,
};

/* One slot. `state` is written last (release) by nofd; the others do not change after ATTACHED. */
struct nof_roster_rank {
    uint32_t state; /* enum nof_roster_state */
    uint32_t rank; /* job rank */
    uint32_t pid; /* as nofd sees it (SO_PEERCRED); 0: not in nofd's pid namespace */
    uint32_t reserved[13];
};

struct nof_roster {
    uint64_t magic; /* NOF_SEGMENT_MAGIC */
    uint32_t abi_version;
    uint32_t nslots; /* ranks of the job that may be here: 2..NOF_SEGMENT_SLOTS_MAX */
    uint32_t segment_id; /* random, not 0; also in the cards of those who have a slot */
    uint32_t deaths; /* how many entries are DEAD */
    uint64_t part_offset; /* from the start of the segment; multiples of a page, both */
    uint64_t part_bytes; /* NOF_SEGMENT_OWN_BYTES + nslots lanes */
    uint64_t segment_bytes;
    uint32_t reserved[4];
};

/* Of the attach reply: what the caller was given. */
struct nof_segment_reply {
    uint32_t nslots; /* 0: no segment, and no descriptors of one */
    uint32_t slot; /* the caller's: 0..nslots-1 */
    uint64_t segment_bytes;
    uint64_t roster_bytes;
};

static_assert(sizeof(struct nof_segment_bell) == 64 && sizeof(struct nof_roster_rank) == 64 &&
                  sizeof(struct nof_roster) == 64,
              "lines of their own");

static inline uint64_t nof_segment_part_offset(uint32_t nslots)
{
    return ((uint64_t)nslots * sizeof(struct nof_segment_bell) + 4095) & ~4095ull;
}

static inline uint64_t nof_segment_part_bytes(uint32_t nslots)
{
    return NOF_SEGMENT_OWN_BYTES + (uint64_t)nslots * NOF_SEGMENT_LANE_BYTES;
}

#endif

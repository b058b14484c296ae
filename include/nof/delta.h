/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Delta messages: one message whose payload becomes ready in pieces, in any order, while its program computes the rest, and
 * whose receiver works on what has come ("Delta Send-Recv for Dynamic Pipelining in MPI Programs", section II).
 *
 *   SEND with NOF_DESC_F_DELTA   takes its place in matching order and is announced at once; payload leaves as its units
 *                                become ready
 *   RECV with NOF_DESC_F_DELTA   says in the BAR what of it has come, before it completes
 *
 * Any receive takes a delta send, and a delta receive takes any send. A message is cut into at most NOF_DELTA_UNITS units of
 * 2^unit_log2 bytes, the last one shorter. Both have their completion as without the flag.
 *
 * A SEND has a slot of struct nof_delta_host, a RECV one of struct nof_delta_nic, named in the descriptor's `handle`
 * (nof_delta_handle()) and busy until the completion, or until it is PLAIN; a descriptor that names a busy one is answered
 * NOF_EINVAL, one at a NIC without boards NOF_ENOTSUP. Whoever sets bits or words here needs no descriptor and no lock: any thread
 * of the rank, and a signal handler.
 *
 * Sender. Before the SEND: clear its `ready`. Then, whenever units are written for the last time: OR their bits (release),
 * full fence, and unless the slot's bit in `rung` is set already: OR it there, full fence, and where `nic_asleep` is set ring the
 * doorbell as after a descriptor. (The NIC clears it, full fence, and looks at the slot.) At last `end`, and the same. Units whose
 * bit is set are the NIC's to read until the completion; what is set twice, or cleared, changes nothing. With `end` all of the
 * message is ready; it may be shorter than `len` of the SEND, which is its bound, but not than what was ready before. Not with
 * INLINE, BOUNCE, GRANTED.
 * A delta SEND that names NOF_DELTA_NO_SLOT, or for which the NIC has no room, is announced and parked, whatever its length
 * (desc.h, "Park"; NOF_ENOMEM for a cookie with its top bit set): it has no slot from then on. Once it is granted and all
 * of it is ready, its host submits it with GRANTED and without DELTA; it may be shorter than the `len` of the first SEND.
 *
 * Receiver. `state` goes POSTED (by the NIC, once the descriptor is taken) -> MATCHED -> DONE, and from any to DONE; read it
 * with acquire, and the other fields after it. Bits of `unit` are set once the bytes are in the buffer, where all payload is
 * written. The host sets nothing; the NIC clears the slot when it takes the descriptor. PLAIN instead: the NIC goes on as
 * without the flag, since the message is here already, or nothing matches and the endpoint spills, or there is no memory;
 * the completion tells. It may be seen for a moment before POSTED.
 * Who sleeps until something changes: `asleep` = 1, full fence, look again, futex wait on `wake`, which the NIC increments, for
 * all waiters, when it has changed an arrival and `asleep` was set, which it clears. */
#ifndef NOF_DELTA_H
#define NOF_DELTA_H

#include <assert.h>
#include <stdint.h>

#define NOF_DELTA_SLOTS 64u /* sends, and likewise receives */
#define NOF_DELTA_NO_SLOT NOF_DELTA_SLOTS /* of a SEND */
#define NOF_DELTA_UNITS 4096u
#define NOF_DELTA_UNIT_LOG2_LEAST 1u
#define NOF_DELTA_UNIT_LOG2_MOST 52u
#define NOF_DELTA_WORDS (NOF_DELTA_UNITS / 64)

struct nof_delta_ready {
    uint64_t end; /* 0: more may become ready; else 1 + bytes of the message */
    uint64_t reserved[7];
    uint64_t unit[NOF_DELTA_WORDS]; /* bit i % 64 of word i / 64: unit i is ready */
};

/* In the BAR, the host's to write. */
struct nof_delta_host {
    uint64_t rung; /* bit i: look at ready[i]; the NIC clears it */
    uint32_t wake; /* futex word (shared), of waits for arrivals alone */
    uint32_t asleep; /* 1: somebody waits on `wake` */
    uint64_t reserved[6];
    struct nof_delta_ready ready[NOF_DELTA_SLOTS];
};

enum nof_delta_state {
    NOF_DELTA_FREE = 0,
    NOF_DELTA_POSTED, /* no message yet; it will be matched without the host */
    NOF_DELTA_MATCHED, /* peer, tag, unit_log2 and `len` are there */
    NOF_DELTA_DONE, /* `status` is there, NOF_OK: all of it has come; the completion follows */
    NOF_DELTA_PLAIN, /* so far as a receive without the flag */
};

struct nof_delta_arrival {
    uint32_t state; /* enum nof_delta_state */
    int32_t status;
    int32_t peer; /* job rank that sent it */
    int32_t tag;
    uint64_t len; /* bytes: a bound while MATCHED; of the message as sent when DONE */
    uint64_t bytes; /* that are in the buffer */
    uint32_t unit_log2;
    uint32_t reserved[7];
    uint64_t unit[NOF_DELTA_WORDS]; /* bit i % 64 of word i / 64: unit i is in the buffer */
};

struct nof_delta_taken {
    uint64_t unit[NOF_DELTA_WORDS];
};

/* In the BAR, read-only for the host. */
struct nof_delta_nic {
    struct nof_delta_arrival arrival[NOF_DELTA_SLOTS]; /* of receives */
    /* The NIC's own: units of a send that have gone into frames, or are about to; those of a receive that have come, or begun to. */
    struct nof_delta_taken taken[NOF_DELTA_SLOTS], came[NOF_DELTA_SLOTS];
};

/* What a descriptor has in `handle`; of a RECV unit_log2 is 0. */
static inline uint64_t nof_delta_handle(uint32_t slot, uint32_t unit_log2)
{
    return (uint64_t)unit_log2 << 32 | slot;
}

/* The smallest units that a message of at most len_bytes can have, and that are no smaller than 2^least_log2. */
static inline uint32_t nof_delta_unit_log2(uint64_t len_bytes, uint32_t least_log2)
{
    uint32_t log2 = least_log2 < NOF_DELTA_UNIT_LOG2_LEAST ? NOF_DELTA_UNIT_LOG2_LEAST : least_log2;
    while (len_bytes > 0 && (len_bytes - 1) >> log2 >= NOF_DELTA_UNITS)
        log2++;
    return log2;
}

static_assert(sizeof(struct nof_delta_ready) % 64 == 0 && sizeof(struct nof_delta_arrival) % 64 == 0,
              "slots do not share cache lines");

#endif

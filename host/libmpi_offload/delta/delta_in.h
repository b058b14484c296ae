/* SPDX-License-Identifier: BSD-3-Clause */
/* Delta receives (nof/delta.h): the slots, and what of each message has come.
 *
 *   take() -> the channel receives the request -> publish() -> state(), has()* -> give()
 *
 * take, publish, give: under the library's lock. The rest: any thread, without a lock, an allocation or a wait.
 * A slot is its taker's until give(), when its request goes. Of slots from NOF_DELTA_SLOTS on, which are not the board's, the
 * NIC says nothing: what of them has come by memory its channel says (matched(), came()); else the request's end does. What the NIC
 * says of the slot's last message stays there until it has taken the next one's descriptor: so DONE is not believed before POSTED or
 * MATCHED was seen. */
#ifndef NOF_MPI_DELTA_IN_H
#define NOF_MPI_DELTA_IN_H

#include "base/lib.h"
#include "delta/delta_board.h"

struct nof_request;

struct nof_delta_in {
    uint32_t slot;
    uint32_t version; /* odd while its words change */
    uint32_t begun; /* the version of which the NIC has the descriptor */
    const struct nof_delta_arrival *arrival;
    uintptr_t base; /* address of the message's first byte */
    size_t bytes;
    /* Under the lock. */
    struct nof_request *req;
    const void *buf; /* as the program gave it */
    bool unheard; /* when it was published */
};

enum nof_delta_in_result {
    NOF_DELTA_IN_WAITS,
    NOF_DELTA_IN_THERE, /* or will never come: the message is shorter */
    NOF_DELTA_IN_FAILED, /* the message has ended without it */
};

/* For a message into [base, base + bytes) of the program. on_board: with a slot of the board. NULL: there are no boards, all
 * slots are taken, or there is no memory. */
struct nof_delta_in *nof_delta_in_take(const struct nof_delta_board *board, const void *base, size_t bytes,
                                       bool on_board);
static inline uint32_t nof_delta_in_slot(const struct nof_delta_in *in)
{
    return in->slot;
}
static inline bool nof_delta_in_on_board(const struct nof_delta_in *in)
{
    return in->slot < NOF_DELTA_SLOTS;
}
/* Others may look for it by its addresses. */
void nof_delta_in_publish(struct nof_delta_in *in);
void nof_delta_in_give(struct nof_delta_in *in);

/* Under the lock, of slots that are not the NIC's; else without effect. A message of at most `bytes` from that rank is being received, and
 * nothing of it has come; units first .. first + n - 1 are in the buffer. */
void nof_delta_in_matched(struct nof_delta_in *in, int world_rank, int tag, size_t bytes, uint32_t unit_log2);
void nof_delta_in_came(struct nof_delta_in *in, size_t first, size_t n);

/* Under the lock. */
bool nof_delta_in_is_taken(const struct nof_delta_in *in);
/* Of a slot that is taken, or was. */
struct nof_delta_in *nof_delta_in_at(uint32_t slot);

/* FREE: the NIC does not have it yet, has ended it before anybody looked, or says nothing of it. */
enum nof_delta_state nof_delta_in_state(struct nof_delta_in *in);
/* The NIC says nothing of it, or said so of the slot's last message: whoever waits for it polls the library, too. */
bool nof_delta_in_unheard(struct nof_delta_in *in);
/* Bytes from .. to - 1 of the message. */
enum nof_delta_in_result nof_delta_in_has(struct nof_delta_in *in, size_t from, size_t to);

/* Likewise, have they come, whatever became of the message? */
bool nof_delta_in_units(struct nof_delta_in *in, size_t from, size_t to);

/* Those that are published, as far as they lie in [address, address + bytes): WAITS before FAILED before THERE. */
enum nof_delta_in_result nof_delta_in_look(const void *address, size_t bytes);
/* Under the lock: one that is published, into this buffer; NULL: there is none. */
struct nof_delta_in *nof_delta_in_find(const void *buf);
/* Under the lock: a published one has bytes in [low, high). */
bool nof_delta_in_overlaps(uintptr_t low, uintptr_t high);
/* Under the lock: any that is taken; NULL: none is. */
struct nof_delta_in *nof_delta_in_any(void);

/* Between two looks: polls of the board, then sleeps of at most a millisecond, until an arrival changes; who may polls the
 * library in between. False: the NIC is gone. */
struct nof_delta_pause {
    uint32_t seen; /* when it is about to sleep */
    uint32_t polls;
    uint32_t sleeps;
    bool soon; /* what is waited for comes by polls of this process */
};
/* The next pause is a sleep. */
bool nof_delta_pause_sleeps(const struct nof_delta_pause *pause);
/* Before a look. */
void nof_delta_pause_look(struct nof_delta_pause *pause);
bool nof_delta_pause(struct nof_delta_pause *pause);

#endif

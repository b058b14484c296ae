/* SPDX-License-Identifier: BSD-3-Clause */
/* Delta sends (nof/delta.h): the slots, and what of each message is ready.
 *
 *   take() -> the channel sends the request -> publish() -> add()* or units()*, ring() -> end()
 *
 * take, publish, parked, give: under the library's lock. The rest: any thread, without a lock, an allocation or a wait.
 * A slot is its taker's until give(), when its request goes. The messages of those that no board has leave at their end. */
#ifndef NOF_MPI_DELTA_OUT_H
#define NOF_MPI_DELTA_OUT_H

#include "base/lib.h"
#include "delta/delta_board.h"

/* How much of a unit is ready; a grain is its 64th part. */
struct nof_delta_unit {
    uint64_t whole; /* grains of which all is */
    uint64_t part; /* grains of which some is */
    uint64_t bytes;
};

struct nof_delta_out {
    uint64_t name; /* the request's handle; 0: none */
    const struct nof_delta_board *board;
    struct nof_delta_ready *ready;
    void *owner; /* of its taker */
    uintptr_t base; /* of the message; 0: its bytes are not the program's, which announces none */
    size_t bytes;
    uint32_t slot;
    uint32_t unit_log2;
    uint32_t grain_log2;
    bool looked_at; /* `ready` is a board's */
    bool ended;
    bool parked; /* its channel is to hear of its end */
    size_t end_bytes; /* of the message, once it is: */
    uint64_t over; /* lowest bit: it has ended; above, which of the slot's messages this is */
    bool watched; /* its pages say what is ready (delta_watch.h), not the program's calls */
    uint64_t begun_ns;
    /* Changed by any thread. */
    uint64_t ready_bytes;
    uint64_t fresh_bytes; /* of them, since the NIC was last told */
    uint64_t delta_bytes; /* from which on it is told */
    uint64_t highest; /* offset behind the last byte that is ready */
    struct nof_delta_unit *unit; /* of add(): malloc'ed, for the next taker, too */
    size_t unit_room;
};

enum nof_delta_out_result {
    NOF_DELTA_OUT_OK,
    NOF_DELTA_OUT_RANGE, /* not inside the message */
    NOF_DELTA_OUT_OVERLAP, /* some of it is ready already, found out to a grain */
    NOF_DELTA_OUT_ENDED,
};

/* A message of `bytes` at `data`, of units of at least 2^least_log2 bytes. by_address: add() will be called, for elements of
 * align_bytes. on_board: with a slot of the board. NULL: there are no boards, all slots are taken, or there is no memory. */
struct nof_delta_out_args {
    const struct nof_delta_board *board;
    const void *data;
    size_t bytes;
    uint32_t least_log2;
    uint32_t align_bytes;
    bool by_address;
    bool on_board;
};
struct nof_delta_out *nof_delta_out_take(const struct nof_delta_out_args *args);
void nof_delta_out_publish(struct nof_delta_out *out, MPI_Request handle);
void nof_delta_out_give(struct nof_delta_out *out);
/* The NIC has parked it, or it goes by memory. */
static inline void nof_delta_out_parked(struct nof_delta_out *out)
{
    __atomic_store_n(&out->parked, true, __ATOMIC_SEQ_CST);
}
/* Has it ended? Then it has *bytes_out bytes. */
static inline bool nof_delta_out_over(const struct nof_delta_out *out, size_t *bytes_out)
{
    bool over = (__atomic_load_n(&out->over, __ATOMIC_SEQ_CST) & 1) != 0;
    if (over)
        *bytes_out = out->end_bytes;
    return over;
}

/* Of a slot that is taken. */
struct nof_delta_out *nof_delta_out_at(uint32_t slot);
/* Of a handle; NULL: it names none that is published. */
struct nof_delta_out *nof_delta_out_of(MPI_Request handle);

/* These bytes are written for the last time. What is refused changes nothing. */
enum nof_delta_out_result nof_delta_out_add(struct nof_delta_out *out, const void *address, size_t bytes);
/* Units first .. first + n - 1 are; what they and ring() add to the counters is the caller's business. */
void nof_delta_out_units(struct nof_delta_out *out, size_t first, size_t n);
void nof_delta_out_ring(struct nof_delta_out *out);
void nof_delta_out_tell(struct nof_delta_out *out); /* the same, counted as an increment */
/* All of it is, and it has this many bytes. False: it was ended before. If it is parked then, its channel is to hear of it. */
bool nof_delta_out_end(struct nof_delta_out *out, size_t bytes);

/* MPI_Finalize: end what was not. */
void nof_delta_out_end_all(void);

#endif

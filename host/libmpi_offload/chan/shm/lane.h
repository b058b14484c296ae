/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A lane: messages from one process to another through 4 KiB of memory that both map. One producer, one consumer.
 *
 *   line 0      written by the consumer: how much it has taken (credit), and whether it looks at this lane by itself (hot)
 *   line 1..63  slots, one message each: 24 bytes of header, 40 of payload
 *
 * The number of the message that a slot holds is its last word to be written; the consumer knows the number that comes next, and
 * polls that one word. There is nothing else that a producer shares: one that is killed at any instruction leaves a slot
 * that was never published. The consumer gives credit once in 16 messages: all of 63 taken, 48 at least are credited.
 *
 *   producer:  nof_lane_claim() -> fill all but `number` -> nof_lane_publish()
 *   consumer:  nof_lane_peek() -> copy what is needed -> nof_lane_pop()
 *
 * Neither believes the other: numbers out of range are no credit, lengths are checked by who uses them, on a copy. Whoever
 * writes over a lane stops it, or makes messages of it that its owner is free to send.
 *
 * Memory: the lane is the caller's, zero at first, aligned to 64. Threads: one on each side. No system call, no locked operation, no fence
 * beyond release and acquire. */
#ifndef NOF_MPI_LANE_H
#define NOF_MPI_LANE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define NOF_LANE_BYTES 4096u
#define NOF_LANE_SLOTS 63u
#define NOF_LANE_PAYLOAD 40u
#define NOF_LANE_CREDIT 16u

struct nof_lane_slot {
    uint32_t number; /* of its message, from 1 */
    union {
        struct {
            uint8_t kind;
            uint8_t flags;
            uint8_t agreed;
            uint8_t len; /* of what lies in payload */
        };
        uint32_t what; /* the four of them, in one load */
    };
    uint32_t ctx;
    int32_t tag;
    uint32_t op; /* the producer's or the consumer's, by kind */
    uint32_t arg;
    uint8_t payload[NOF_LANE_PAYLOAD];
};

struct nof_lane {
    struct {
        uint32_t taken; /* number of a message: that one and all before are */
        uint32_t hot;
        uint32_t reserved[14];
    } head;
    struct nof_lane_slot slot[NOF_LANE_SLOTS];
};

/* Of `what` (little-endian). */
#define NOF_LANE_KIND_FLAGS(what) ((what)&0xffffu) /* flags << 8 | kind */
#define NOF_LANE_LEN(what) ((what) >> 24)

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "kind is the lowest byte of `what`");
static_assert(sizeof(struct nof_lane_slot) == 64 && sizeof(struct nof_lane) == NOF_LANE_BYTES,
              "one line a message");

struct nof_lane_out {
    struct nof_lane *lane;
    struct nof_lane_slot *next; /* that of the next message */
    uint32_t number; /* its */
    uint32_t room; /* slots that are known to be free */
};

struct nof_lane_in {
    struct nof_lane *lane;
    const struct nof_lane_slot *next;
    uint32_t number;
    uint32_t uncredited;
};

void nof_lane_out_init(struct nof_lane_out *out, struct nof_lane *lane);
void nof_lane_in_init(struct nof_lane_in *in, struct nof_lane *lane);

/* Looks at the credit. Slots that are free. */
uint32_t nof_lane_look(struct nof_lane_out *out);

/* The next slot; NULL: none is free. The same one until it is published. */
static inline struct nof_lane_slot *nof_lane_claim(struct nof_lane_out *out)
{
    if (out->room == 0 && nof_lane_look(out) == 0)
        return (struct nof_lane_slot *)0;
    return out->next;
}

static inline void nof_lane_publish(struct nof_lane_out *out)
{
    struct nof_lane *lane = out->lane;
    struct nof_lane_slot *slot = out->next;
    out->next = slot == &lane->slot[NOF_LANE_SLOTS - 1] ? lane->slot : slot + 1;
    out->room--;
    __atomic_store_n(&slot->number, out->number++, __ATOMIC_RELEASE);
}

/* The consumer looks at this lane without being told. To be read behind publish(): see hot.h. */
static inline bool nof_lane_is_hot(const struct nof_lane_out *out)
{
    return __atomic_load_n(&out->lane->head.hot, __ATOMIC_RELAXED) != 0;
}

/* The message of in->next has come. */
static inline bool nof_lane_has(const struct nof_lane_in *in)
{
    return __atomic_load_n(&in->next->number, __ATOMIC_ACQUIRE) == in->number;
}

/* The next message, whose words may change while they are read; NULL: it has not come. */
static inline const struct nof_lane_slot *nof_lane_peek(const struct nof_lane_in *in)
{
    return nof_lane_has(in) ? in->next : (struct nof_lane_slot *)0;
}

/* It has been copied. True: the producer was given credit. */
static inline bool nof_lane_pop(struct nof_lane_in *in)
{
    const struct nof_lane *lane = in->lane;
    in->next = in->next == &lane->slot[NOF_LANE_SLOTS - 1] ? lane->slot : in->next + 1;
    in->number++;
    if (++in->uncredited < NOF_LANE_CREDIT)
        return false;
    in->uncredited = 0;
    __atomic_store_n(&in->lane->head.taken, in->number - 1, __ATOMIC_RELEASE);
    return true;
}

#endif

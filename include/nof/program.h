/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs: collectives that the NIC runs by itself. The host writes one into the program area, the NIC copies it once and
 * validates the copy (NOF_DESC_SCHED_OPEN: sched.base[0] = offset in the program area, len = bytes), and from then on it is
 * named by name and generation, for as many starts as the host likes.
 *
 *   struct nof_program_head, then nsteps struct nof_program_step
 *
 *   SCHED_OPEN -> SCHED_START -> (COMP_SCHED_HOST -> SCHED_CONTINUE)* -> COMP_SCHED -> SCHED_START ... -> SCHED_FREE
 *
 * A program is relative to its start: the START brings context, tag and NOF_PROGRAM_BASES addresses. A SEND or RECV is
 * that of a descriptor with this context and tag, matched by the same rules: the other side cannot tell who drives.
 *
 * Order. Steps between two FENCEs are a round; a FENCE is done when all before it are, and nothing behind it begins
 * earlier. Inside a round a step begins when the steps that its `after` names, of smaller index in the same round, are
 * done: cycles cannot be written. Steps that may begin do so in the order of the program. A SEND is done when its buffer is
 * the host's again, a RECV when the bytes are in its buffer.
 *
 * In turn. A SEND with NOF_STEP_F_IN_TURN names in after[0] the SEND whose turn is before its own, which nobody else names so. It
 * need not wait for all of that: it is announced while the link still carries the end, so that the answer is here when the link is
 * free. It is a hint about time alone: the NIC may begin it then, and begins it at the latest when the other is done.
 *
 * REDUCE and COPY work on the rank's memory alone, in pieces whose order is not told: the ranges of one are the same or do
 * not overlap. to[i] = from[i] op to[i], with the bits of nof/reductions.h as a thread computes them that rounds to nearest and
 * keeps denormal numbers; done when the result is in memory. A range that cannot be read or written is an error of the
 * schedule; what has been written stays.
 *
 * HOST steps, and RECV steps of an endpoint that spills (desc.h), are the host's to do: COMP_SCHED_HOST names the step, and
 * SCHED_CONTINUE with its status ends it. One with NOF_STEP_F_AWAITS is a message with rank `peer` by
 * another way than the NIC's, from it, or with NOF_STEP_F_SENDS to it. Whom a schedule waits for are those that messages come
 * from, RECV or HOST; where none is to come, those whose messages have not ended.
 *
 * The NIC may always decline: COMP_SCHED with NOF_COMP_F_DECLINED, nothing has happened, and the host goes through the steps
 * itself. A SCHED_OPEN that is answered NOF_EAGAIN was one too many for this turn of the NIC. A step that fails ends the schedule:
 * receives are taken back, sends that are under way end by themselves; COMP_SCHED tells the first failed step, behind the end of all
 * that writes and of what reads, but for sends that take longer than 100 ms, which may read on. A
 * message that is too long, or with NOF_STEP_F_EXACT too short, is told likewise, but the schedule goes on, because others wait for
 * what follows; its later EXACT sends are empty, so that those behind learn of it.
 *
 * Source: paper "compiled communication", section 4; design after Portals 4's triggered operations. */
#ifndef NOF_PROGRAM_H
#define NOF_PROGRAM_H

#include <assert.h>
#include <stdint.h>

#define NOF_PROGRAM_MAGIC 0x4750464eu /* "NFPG" */
#define NOF_PROGRAM_STEPS_MAX 1024u
#define NOF_PROGRAM_BASES 3u
#define NOF_STEP_NONE UINT16_MAX

enum nof_step_opcode {
    NOF_STEP_SEND = 1, /* to `peer`: `len` bytes at base + offset */
    NOF_STEP_RECV = 2, /* from `peer`, into them */
    NOF_STEP_FENCE = 3, /* all other fields 0 or NONE */
    NOF_STEP_HOST =
        4, /* likewise, but for `after` and, with NOF_STEP_F_AWAITS, `peer`: the host knows what it is */
    NOF_STEP_REDUCE = 5, /* `len` bytes, whole elements: to base + offset out of it and from_base + from */
    NOF_STEP_COPY = 6, /* `len` bytes: to base + offset from from_base + from */
};

enum nof_step_flag {
    NOF_STEP_F_EXACT = 1 << 0, /* SEND, RECV: the message must have `len` bytes */
    NOF_STEP_F_LAYOUT = 1 << 1, /* SEND, RECV: base + offset is the base of the layout */
    NOF_STEP_F_IN_TURN = 1 << 2, /* SEND: after[0] is the SEND whose turn is before its own */
    NOF_STEP_F_AWAITS = 1 << 3, /* HOST: it is a message with `peer` */
    NOF_STEP_F_SENDS = 1 << 4, /* with AWAITS: the peer receives it */
    NOF_STEP_F_ANNOUNCED = 1 << 5, /* SEND: NOF_DESC_F_ANNOUNCED with the bytes in `from`; with LAYOUT 0 */
};

struct nof_program_step {
    uint8_t opcode;
    uint8_t flags;
    uint8_t elem; /* SEND: enum nof_elem; REDUCE: enum nof_reduce_type */
    uint8_t base; /* 0..NOF_PROGRAM_BASES-1 */
    int32_t peer; /* job rank; 0 where there is none */
    int64_t offset; /* bytes; addresses are computed modulo 2^64 */
    uint64_t len; /* bytes; of a RECV: its capacity */
    uint32_t layout, layout_generation;
    uint16_t after[2]; /* NOF_STEP_NONE: no such step */
    uint8_t op; /* REDUCE: enum nof_reduce_op */
    uint8_t from_base; /* REDUCE, COPY: as base */
    uint8_t reserved[2]; /* 0 */
    int64_t from; /* REDUCE, COPY: as offset; SEND, ANNOUNCED: bytes */
};

struct nof_program_head {
    uint32_t magic;
    uint32_t nsteps; /* 1..NOF_PROGRAM_STEPS_MAX */
    uint64_t reserved; /* 0 */
};

static_assert(sizeof(struct nof_program_step) == 48, "program step is 48 bytes");
static_assert(sizeof(struct nof_program_head) == 16, "program head is 16 bytes");

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Staging area of one endpoint: payload that the host reads in place or copies out, and gives back
 * with NOF_DESC_RELEASE. The host maps the area read-only; what it says about it (offsets to
 * release) is checked against our own table. docs/STAGING.md is normative.
 *
 *   slots  alloc() -> offset, write the bytes, complete with F_STAGED -> RELEASE -> release()
 *   lines  open() -> bytes arrive -> give(): the slot is the host's from now on, as above
 *                 -> remap() when a receive takes it before its last byte is here
 *                 -> victim() names it, its owner writes it back to network memory -> close()
 *
 * A line is a slot that holds a message before its receive, with the three tags of the paper: its
 * place in network memory, the message id, and the process tag (the receive that it is bound to).
 * Network and process tag exclude each other. A line is replaced by the predicted distance of its
 * receive; an order of the paper's footnote 2 says whether bound or unbound lines go first.
 *
 * Memory: the area is the caller's (in the BAR); the tables are in this struct. Cost: alloc looks at
 * a few words of a bitmap, beginning where the last one ended, because slots come back in about
 * the order in which they were given; victim looks at NOF_STAGE_LINES lines.
 * Threads: the NIC core's that owns the endpoint. Source: docs/SOURCES.md, prediction, section 7. */
#ifndef NOF_STAGE_CACHE_H
#define NOF_STAGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recv_predictor.h"

#define NOF_STAGE_SLOTS 2048u /* granules that the table can hold */
#define NOF_STAGE_GRANULE_MIN 256u
#define NOF_STAGE_LINES 64u /* messages that wait in the area for their receive */
#define NOF_STAGE_NEVER UINT64_MAX /* `due` of what is not expected */

/* The two orders of footnote 2: whose lines are looked at first. */
enum nof_stage_policy { NOF_STAGE_BOUND_FIRST = 0, NOF_STAGE_UNBOUND_FIRST = 1 };

struct nof_stage_line {
    struct nof_message_id id;
    uint32_t network; /* network tag: the owner's name for its place there; of meaning while unbound */
    uint32_t process; /* process tag; NOF_STAGE_NONE: unbound */
    uint32_t offset; /* in the area */
    uint32_t bytes; /* 0: the line is free */
    uint64_t due; /* number of the receive that is predicted to take it, or NOF_STAGE_NEVER */
    uint64_t used; /* when bytes came last, for LRU */
};

struct nof_stage {
    uint8_t *area;
    uint32_t granule_shift;
    uint32_t granule_bytes;
    uint32_t granules;
    uint32_t cursor; /* < granules, or 0 */
    uint32_t free;
    uint64_t taken[NOF_STAGE_SLOTS / 64]; /* also what lies beyond the area */
    uint16_t run[NOF_STAGE_SLOTS]; /* granules of the slot that begins here; 0: none begins */
    uint32_t lines; /* in use */
    uint32_t line_bytes; /* of the area, in granules of those */
    uint64_t clock; /* of `used` */
    struct nof_stage_line line[NOF_STAGE_LINES];
};

#define NOF_STAGE_NONE UINT32_MAX

void nof_stage_init(struct nof_stage *st, void *area, size_t area_bytes);
/* Any slot, wherever there is room; as nof_stage_alloc(). */
uint32_t nof_stage_search(struct nof_stage *st, uint32_t len_bytes);
/* Mark n granules that lie in several words. */
void nof_stage_mark(struct nof_stage *st, uint32_t at, uint32_t n, bool taken);

/* The granules [at, at + n), n >= 1, as bits of one word; 0: they lie in several. */
static inline uint64_t nof_stage_bits(uint32_t at, uint32_t n)
{
    return at % 64 + n <= 64 ? (UINT64_MAX >> (64 - n)) << (at % 64) : 0;
}

/* Offset of len bytes (>= 1) in the area, or NOF_STAGE_NONE. Inline: one granule, where the last slot
 * ended. */
static inline uint32_t nof_stage_alloc(struct nof_stage *st, uint32_t len_bytes)
{
    uint32_t at = st->cursor;
    uint64_t bit = 1ull << (at % 64);
    if (len_bytes > st->granule_bytes || (st->taken[at / 64] & bit) != 0)
        return nof_stage_search(st, len_bytes);
    st->taken[at / 64] |= bit;
    st->run[at] = 1;
    st->free--;
    st->cursor = at + 1 == st->granules ? 0 : at + 1;
    return at << st->granule_shift;
}

/* A line for len_bytes (>= 1) of message `id`, whose receive is predicted to be number `due`. At most
 * limit_bytes of the area go to lines. Its index, or NOF_STAGE_NONE: no line, no room, or over the limit. */
uint32_t nof_stage_open(struct nof_stage *st, const struct nof_message_id *id, uint32_t network,
                        uint32_t len_bytes, uint64_t due, uint32_t limit_bytes);
/* The line that should make room for one whose receive is number `due`, when `now` receives have been
 * called, or NOF_STAGE_NONE: all others are wanted sooner. What is overdue was predicted wrongly and
 * goes first; bound lines go by least recent use. */
uint32_t nof_stage_victim(const struct nof_stage *st, enum nof_stage_policy policy, uint64_t now,
                          uint64_t due);
/* Late binding: the line belongs to the process memory that receive `process` names. */
void nof_stage_remap(struct nof_stage *st, uint32_t line, uint32_t process);
/* The line is no line any more: its slot is free (close), or goes to the host, which releases it
 * (give; the slot's offset is returned). */
void nof_stage_close(struct nof_stage *st, uint32_t line);
uint32_t nof_stage_give(struct nof_stage *st, uint32_t line);
/* Does a line begin at this offset? Then it is not the host's to release. */
bool nof_stage_is_line(const struct nof_stage *st, uint32_t offset);
/* n bytes at `at` of the line: it has been used. */
uint8_t *nof_stage_touch(struct nof_stage *st, uint32_t line, uint32_t at, uint32_t n);

/* False: no slot begins at this offset. */
static inline bool nof_stage_release(struct nof_stage *st, uint32_t offset)
{
    uint32_t at = offset >> st->granule_shift;
    if (at >= st->granules || at << st->granule_shift != offset || st->run[at] == 0)
        return false;
    uint32_t n = st->run[at];
    uint64_t bits = n == 1 ? 1ull << (at % 64) : nof_stage_bits(at, n);
    st->run[at] = 0;
    if (bits != 0)
        st->taken[at / 64] &= ~bits;
    else
        nof_stage_mark(st, at, n, false);
    st->free += n;
    return true;
}

#endif

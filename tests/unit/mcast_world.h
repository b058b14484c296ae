/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A multicast group over all NICs of a small world (world.h): rank i on NIC i.
 *
 *   new_world() -> open_all() -> send(), receive() of message 2, 3, ... -> world_run_for() -> check_got() */
#ifndef NOF_TESTS_MCAST_WORLD_H
#define NOF_TESTS_MCAST_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#define MS 1000000ull
#define CTX 5u
#define NAME 3u
#define SENT_AT 0u
#define GOT_AT (WORLD_ARENA / 2)

static unsigned ranks;
static unsigned strangers; /* ranks of the job that have no part in it; the test opens them */

static inline uint8_t byte_at(unsigned number, uint64_t i)
{
    return (uint8_t)(i * 7 + i / 251 + number);
}

static inline struct world *new_world(const struct world_config *given)
{
    struct world_config cfg = *given;
    cfg.nics = WORLD_NICS;
    ranks = WORLD_NICS;
    struct world *w = world_init(&cfg);
    for (unsigned i = 0; i < ranks; i++) {
        assert_int_equal(nof_nic_feature_set(world_nic(w, i), NOF_F_MULTICAST, 1), NOF_OK);
        world_open(w, i, i, ranks + strangers);
    }
    return w;
}

/* As they lie in the program area. */
static inline const uint8_t *all_members(void)
{
    static uint32_t list[WORLD_NICS];
    static uint8_t bytes[sizeof list];
    for (unsigned i = 0; i < ranks; i++)
        list[i] = i;
    memcpy(bytes, list, sizeof list);
    return bytes;
}

static inline void open_group(struct world *w, unsigned rank, uint32_t first)
{
    memcpy(world_rank(w, rank)->program_area, all_members(), 4 * ranks);
    struct nof_desc d = {.opcode = NOF_DESC_GROUP_OPEN,
                         .ctx = CTX,
                         .cookie = 100 + rank,
                         .len = 4 * ranks,
                         .sched = {.name = NAME, .generation = first}};
    world_post(w, rank, &d);
}

/* What comes of it, which is taken. */
static inline int opened(struct world *w, unsigned rank)
{
    assert_int_equal(world_expect(w, rank, NOF_COMP_GROUP_OPEN, 100 + rank)->status, NOF_OK);
    return world_expect(w, rank, NOF_COMP_GROUP, 100 + rank)->status;
}

static inline void open_all(struct world *w)
{
    for (unsigned i = 0; i < ranks; i++)
        open_group(w, i, 1);
    world_run_for(w, 50 * MS);
    for (unsigned i = 0; i < ranks; i++)
        assert_int_equal(opened(w, i), NOF_OK);
}

static inline void send(struct world *w, unsigned rank, uint32_t number, uint64_t len)
{
    uint8_t *at = world_rank(w, rank)->arena + SENT_AT;
    for (uint64_t i = 0; i < len; i++)
        at[i] = byte_at(number, i);
    struct nof_desc d = {.opcode = NOF_DESC_GROUP_SEND,
                         .cookie = number,
                         .len = len,
                         .sched = {.name = NAME, .generation = number, .base = {(uint64_t)(uintptr_t)at}}};
    world_post(w, rank, &d);
}

static inline void receive(struct world *w, unsigned rank, unsigned from, uint32_t number, uint64_t len)
{
    uint8_t *at = world_rank(w, rank)->arena + GOT_AT;
    memset(at, 0xee, len + 1);
    struct nof_desc d = {.opcode = NOF_DESC_GROUP_RECV,
                         .cookie = number,
                         .peer = (int32_t)from,
                         .len = len,
                         .sched = {.name = NAME, .generation = number, .base = {(uint64_t)(uintptr_t)at}}};
    world_post(w, rank, &d);
}

static inline void check_got(struct world *w, unsigned rank, uint32_t number, uint64_t len)
{
    const uint8_t *at = world_rank(w, rank)->arena + GOT_AT;
    const struct nof_comp *c = world_expect(w, rank, NOF_COMP_GROUP_RECV, number);
    assert_int_equal(c->status, NOF_OK);
    assert_int_equal(c->len, len);
    for (uint64_t i = 0; i < len; i++)
        assert_int_equal(at[i], byte_at(number, i));
    assert_int_equal(at[len], 0xee);
}

static inline void bcast(struct world *w, unsigned from, uint32_t number, uint64_t len)
{
    for (unsigned i = 0; i < ranks; i++)
        if (i != from)
            receive(w, i, from, number, len);
    send(w, from, number, len);
    world_run_for(w, 2000 * MS);
    assert_int_equal(world_expect(w, from, NOF_COMP_GROUP_SEND, number)->status, NOF_OK);
    for (unsigned i = 0; i < ranks; i++)
        if (i != from)
            check_got(w, i, number, len);
}

static inline uint64_t counter(struct world *w, unsigned nic, enum nof_counter c)
{
    return nof_nic_counters(world_nic(w, nic))[c];
}

#endif

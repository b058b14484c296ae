/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Matching: against a plain list that is searched from the front, which is MPI's definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#define LIST_MAX 4000

struct entry {
    int peer, tag, kind; /* kind: opcode of a receive or probe, 0 a message */
    uint64_t id;
};

struct model {
    struct entry posted[LIST_MAX], unexpected[LIST_MAX];
    unsigned nposted, nunexpected;
};

static bool fits(const struct entry *r, const struct entry *m)
{
    return (r->peer == NOF_ANY_SOURCE || r->peer == m->peer) && (r->tag == NOF_ANY_TAG || r->tag == m->tag);
}

static void drop(struct entry *list, unsigned *n, unsigned at)
{
    memmove(&list[at], &list[at + 1], (*n - at - 1) * sizeof *list);
    (*n)--;
}

static uint64_t rnd(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static void expect_recv(struct world *w, uint64_t cookie, uint64_t id)
{
    const struct nof_comp *c = world_expect(w, 0, NOF_COMP_RECV, cookie);
    uint64_t got;
    assert_int_equal(c->status, NOF_OK);
    memcpy(&got, c->inline_data, sizeof got);
    assert_int_equal(got, id);
}

static void message(struct world *w, struct model *m, int from, int tag, uint64_t id)
{
    struct entry e = {.peer = from, .tag = tag, .id = id};
    struct nof_desc d = {.opcode = NOF_DESC_SEND,
                         .flags = NOF_DESC_F_INLINE,
                         .ctx = 1,
                         .cookie = id,
                         .peer = 0,
                         .tag = tag,
                         .len = 8};
    memcpy(d.inline_data, &id, 8);
    world_post(w, (unsigned)from, &d);
    world_run(w);
    world_expect(w, (unsigned)from, NOF_COMP_SEND, id);
    for (unsigned i = 0; i < m->nposted; i++) {
        if (m->posted[i].kind != NOF_DESC_RECV || !fits(&m->posted[i], &e))
            continue;
        expect_recv(w, m->posted[i].id, id);
        drop(m->posted, &m->nposted, i);
        return;
    }
    for (unsigned i = 0; i < m->nposted;) {
        if (!fits(&m->posted[i], &e)) {
            i++;
            continue;
        }
        int kind = m->posted[i].kind;
        const struct nof_comp *c = world_expect(w, 0, kind, m->posted[i].id);
        assert_int_equal(c->peer, from);
        assert_int_equal(c->tag, tag);
        assert_int_equal(c->len, 8);
        drop(m->posted, &m->nposted, i);
        if (kind == NOF_DESC_PROBE)
            continue;
        struct nof_desc r = {.opcode = NOF_DESC_MRECV, .cookie = 77, .handle = c->handle, .len = 8};
        world_post(w, 0, &r);
        world_run(w);
        expect_recv(w, 77, id);
        world_post(w, 0, &r);
        assert_int_equal(world_expect(w, 0, NOF_COMP_RECV, 77)->status, NOF_ENOENT);
        return;
    }
    m->unexpected[m->nunexpected++] = e;
}

static void receive(struct world *w, struct model *m, int kind, int wait, int peer, int tag, uint64_t id)
{
    struct entry e = {.peer = peer, .tag = tag, .id = id, .kind = kind};
    struct nof_desc d = {.opcode = (uint8_t)kind,
                         .ctx = 1,
                         .cookie = id,
                         .peer = peer,
                         .tag = tag,
                         .flags = wait ? NOF_DESC_F_WAIT : 0};
    d.len = kind == NOF_DESC_RECV ? 8 : 0;
    world_post(w, 0, &d);
    world_run(w);
    for (unsigned i = 0; i < m->nunexpected; i++) {
        struct entry *u = &m->unexpected[i];
        if (!fits(&e, u))
            continue;
        if (kind == NOF_DESC_RECV) {
            expect_recv(w, id, u->id);
        } else {
            const struct nof_comp *c = world_expect(w, 0, kind, id);
            assert_int_equal(c->status, NOF_OK);
            assert_int_equal(c->peer, u->peer);
            assert_int_equal(c->tag, u->tag);
            if (kind == NOF_DESC_PROBE)
                return;
            struct nof_desc r = {.opcode = NOF_DESC_MRECV, .cookie = 78, .handle = c->handle, .len = 8};
            world_post(w, 0, &r);
            world_run(w);
            expect_recv(w, 78, u->id);
        }
        drop(m->unexpected, &m->nunexpected, i);
        return;
    }
    if (kind == NOF_DESC_RECV || wait)
        m->posted[m->nposted++] = e;
    else
        assert_int_equal(world_expect(w, 0, kind, id)->status, NOF_ENOMATCH);
}

static void cancel(struct world *w, struct model *m, unsigned at, uint64_t unknown)
{
    struct nof_desc d = {.opcode = NOF_DESC_CANCEL, .cookie = at < m->nposted ? m->posted[at].id : unknown};
    world_post(w, 0, &d);
    assert_int_equal(world_expect(w, 0, NOF_COMP_CANCEL, d.cookie)->status,
                     at < m->nposted ? NOF_OK : NOF_ENOMATCH);
    if (at < m->nposted)
        drop(m->posted, &m->nposted, at);
}

static void as_a_list_would(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = 1, .seed = seed};
        cfg.nic.max_posted = 256; /* few buckets: keys collide */
        struct world *w = world_init(&cfg);
        struct model *m = calloc(1, sizeof *m);
        uint64_t s = seed * 977;
        for (unsigned i = 0; i < 4; i++)
            world_open(w, i % 2, i, 4);
        world_run(w);
        int busy = seed % 2 ? 10 : 60; /* few or many tags */
        unsigned messages = seed <= 6 ? 9 : 6; /* of 20 events: more wait, or more receives are posted */
        int plain = seed > 8; /* only receives, of one source and tag each */
        for (unsigned i = 1; i < 3000; i++) {
            int any_peer = rnd(&s) % 4 == 0, any_tag = rnd(&s) % 4 == 0;
            int peer = (int)(rnd(&s) % 4), tag = (int)(rnd(&s) % (uint64_t)busy);
            unsigned what = (unsigned)(rnd(&s) % 20);
            if (plain) {
                any_peer = any_tag = 0;
                what = what < 10 ? 0 : 15;
            }
            if (what < messages && m->nunexpected < 60) {
                message(w, m, peer, tag, i);
            } else if (what < 16 && m->nposted < 60) {
                receive(w, m, NOF_DESC_RECV, 0, any_peer ? -1 : peer, any_tag ? -1 : tag, i);
            } else if (what < 18 && m->nposted < 60) {
                receive(w, m, rnd(&s) % 2 ? NOF_DESC_PROBE : NOF_DESC_MPROBE, rnd(&s) % 2,
                        any_peer ? -1 : peer, any_tag ? -1 : tag, i);
            } else {
                cancel(w, m, (unsigned)(rnd(&s) % (m->nposted + 2u)), i + 100000);
            }
            for (unsigned r = 0; r < 4; r++)
                assert_null(world_take(w, r));
        }
        free(m);
        world_fini(w);
    }
}

static void contexts_do_not_mix(void **state)
{
    (void)state;
    struct world_config cfg = {.nics = 1, .mtu = 1500, .dma_inline = 1, .seed = 1};
    struct world *w = world_init(&cfg);
    world_open(w, 0, 0, 1);
    struct nof_desc d = {.opcode = NOF_DESC_RECV, .ctx = 9, .cookie = 1, .peer = -1, .tag = -1, .len = 8};
    world_post(w, 0, &d);
    d = (struct nof_desc){
        .opcode = NOF_DESC_SEND, .ctx = 8, .cookie = 2, .tag = 1, .len = 8, .flags = NOF_DESC_F_INLINE};
    world_post(w, 0, &d);
    world_run(w);
    world_expect(w, 0, NOF_COMP_SEND, 2);
    assert_null(world_take(w, 0));
    d.ctx = 9;
    world_post(w, 0, &d);
    world_run(w);
    world_expect(w, 0, NOF_COMP_SEND, 2);
    world_expect(w, 0, NOF_COMP_RECV, 1);
    world_fini(w);
}

static void truncation_keeps_the_beginning(void **state)
{
    (void)state;
    static const uint64_t lens[] = {100, 3000, 9000, 40000, 300000};
    for (unsigned mode = 0; mode < 4; mode++) {
        struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = mode % 2, .seed = 1};
        struct world *w = world_init(&cfg);
        world_open(w, 0, 0, 2);
        world_open(w, 1, 1, 2);
        uint8_t *out = world_rank(w, 0)->arena, *in = world_rank(w, 1)->arena;
        for (unsigned i = 0; i < 300000; i++)
            out[i] = (uint8_t)(i * 7 + i / 256);
        for (unsigned k = 0; k < 5; k++) {
            uint64_t caps[] = {0, 10, 50, lens[k] - 1, lens[k] / 2};
            for (unsigned c = 0; c < 5; c++) {
                memset(in, 0x55, 300000);
                if (mode < 2)
                    world_recv(w, 1, 0, 3, in, caps[c], 9);
                world_send(w, 0, 1, 3, out, lens[k], 8);
                if (mode >= 2) {
                    world_run_for(w, 3000000);
                    world_recv(w, 1, 0, 3, in, caps[c], 9);
                }
                world_run(w);
                const struct nof_comp *comp = world_expect(w, 1, NOF_COMP_RECV, 9);
                assert_int_equal(comp->status, NOF_ETRUNC);
                assert_int_equal(comp->len, lens[k]);
                assert_memory_equal(world_payload(w, 1, comp, in), out, caps[c]);
                assert_int_equal(in[caps[c]], 0x55);
                assert_int_equal(world_expect(w, 0, NOF_COMP_SEND, 8)->status, NOF_OK);
            }
        }
        world_fini(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_a_list_would),
        cmocka_unit_test(contexts_do_not_mix),
        cmocka_unit_test(truncation_keeps_the_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives that the host may serve as well: the NIC touches none whose claim it has not won, the message goes to whom it
 * belongs then, and whatever a host writes into its words, others are not held up and nothing is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nic.h"
#include "recv_predictor.h"
#include "world.h"

#define MS 1000000ull
#define CTX 1u
#define LARGE 100000u /* a rendezvous */
#define HALF (WORLD_ARENA / 2)

static const struct world_config worlds[] = {
    {.nics = 2, .mtu = 1500, .dma_inline = 1, .seed = 1},
    {.nics = 2, .mtu = 1500, .seed = 2},
    {.nics = 1, .mtu = 1500, .seed = 3},
    {.nics = 2, .mtu = 1500, .loss_percent = 5, .seed = 4},
};
#define NWORLDS (sizeof worlds / sizeof worlds[0])

static const struct {
    uint64_t len;
    unsigned flags;
} kinds[] = {
    {0, 0}, {20, 0}, {500, 0}, {8000, 0}, {LARGE, 0}, {20, NOF_DESC_F_SYNC}, {LARGE, NOF_DESC_F_SYNC}};
#define NKINDS (sizeof kinds / sizeof kinds[0])

/* Rank 0 receives, rank 1 sends; rank 2 is whom the host of rank 0 reaches by itself. */
static struct world *open_world(const struct world_config *cfg)
{
    struct world *w = world_init(cfg);
    for (unsigned r = 0; r < 3; r++)
        world_open(w, r % cfg->nics, r, 3);
    world_run(w);
    memset(world_rank(w, 0)->arena, 7, WORLD_ARENA);
    memset(world_rank(w, 1)->arena, 9, LARGE);
    return w;
}

static void word(struct world *w, uint32_t slot, uint32_t generation, enum nof_claim_state state)
{
    world_rank(w, 0)->claims.word[slot] = nof_claim_word(generation, state);
}

static void post(struct world *w, uint8_t opcode, uint8_t flags, int peer, int tag, uint64_t at,
                 uint64_t handle, uint64_t cookie)
{
    struct nof_desc d = {.opcode = opcode,
                         .flags = flags,
                         .ctx = CTX,
                         .cookie = cookie,
                         .peer = peer,
                         .tag = tag,
                         .len = opcode == NOF_DESC_RECV || opcode == NOF_DESC_MRECV ? HALF : 0};
    if (opcode != NOF_DESC_CANCEL) {
        d.addr = (uint64_t)(uintptr_t)world_rank(w, 0)->arena + at;
        d.handle = handle;
    }
    world_post(w, 0, &d);
}

static void claimed(struct world *w, uint32_t slot, uint64_t cookie)
{
    post(w, NOF_DESC_RECV, NOF_DESC_F_CLAIM, NOF_ANY_SOURCE, 5, 0, nof_claim_handle(slot, slot + 1), cookie);
}

static void taken(struct world *w, uint64_t cookie)
{
    post(w, NOF_DESC_CANCEL, NOF_DESC_F_TAKEN, 2, 5, 0, 0, cookie);
}

static void send(struct world *w, uint64_t len, unsigned flags, uint64_t cookie)
{
    struct nof_desc d = {
        .opcode = NOF_DESC_SEND, .flags = (uint8_t)flags, .ctx = CTX, .cookie = cookie, .peer = 0, .tag = 5};
    d.len = len;
    d.addr = (uint64_t)(uintptr_t)world_rank(w, 1)->arena;
    world_post(w, 1, &d);
}

static void expect_got(struct world *w, uint64_t cookie, uint64_t len, uint64_t at)
{
    const struct nof_comp *c = world_expect(w, 0, NOF_COMP_RECV, cookie);
    assert_int_equal(c->status, NOF_OK);
    assert_int_equal(c->len, len);
    const uint8_t *bytes = world_payload(w, 0, c, world_rank(w, 0)->arena + at);
    if (len > 0) {
        assert_int_equal(bytes[0], 9);
        assert_int_equal(bytes[len - 1], 9);
    }
}

static void expect_untouched(struct world *w)
{
    for (unsigned i = 0; i < LARGE; i++)
        assert_int_equal(world_rank(w, 0)->arena[i], 7);
}

static void expect_answer(struct world *w, uint64_t cookie, int status)
{
    assert_int_equal(world_expect(w, 0, NOF_COMP_CANCEL, cookie)->status, status);
}

static void expect_clean(struct world *w)
{
    world_run_for(w, 100 * MS);
    assert_null(world_take(w, 0));
    assert_true(nof_nic_quiet(world_nic(w, 0)));
    assert_int_equal(world_nic(w, 0)->eps[world_rank(w, 0)->endpoint].claims, 0);
    assert_int_equal(world_nic(w, 0)->recvs.used, 0);
    world_fini(w);
}

static void an_open_claim_is_won_before_anything_else(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NWORLDS * NKINDS * 2; i++) {
        struct world *w = open_world(&worlds[i % NWORLDS]);
        uint64_t len = kinds[i / NWORLDS % NKINDS].len;
        bool early = i / NWORLDS / NKINDS != 0;
        word(w, 3, 4, NOF_CLAIM_OPEN);
        if (!early)
            claimed(w, 3, 10);
        send(w, len, kinds[i / NWORLDS % NKINDS].flags, 20);
        world_run_for(w, 5 * MS);
        if (early)
            claimed(w, 3, 10);
        world_run(w);
        assert_int_equal(world_rank(w, 0)->claims.word[3], nof_claim_word(4, NOF_CLAIM_NIC));
        expect_got(w, 10, len, 0);
        assert_int_equal(world_expect(w, 1, NOF_COMP_SEND, 20)->status, NOF_OK);
        taken(w, 10); /* it came too late: the host has lied, or the answer was under way */
        world_run(w);
        expect_answer(w, 10, NOF_ENOMATCH);
        assert_int_equal(world_rank(w, 0)->counters[NOF_C_CLAIMS_WON], 1);
        expect_clean(w);
    }
}

static void what_arrives_goes_to_the_next_receive(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NWORLDS * NKINDS; i++) {
        struct world *w = open_world(&worlds[i % NWORLDS]);
        uint64_t len = kinds[i / NWORLDS].len;
        word(w, 0, 1, NOF_CLAIM_HOST);
        word(w, 1, 2, NOF_CLAIM_OPEN);
        claimed(w, 0, 10);
        claimed(w, 1, 11);
        post(w, NOF_DESC_RECV, 0, 1, 5, HALF, 0, 12);
        send(w, len, kinds[i / NWORLDS].flags, 20);
        world_run(w);
        expect_got(w, 11, len, 0);
        assert_int_equal(world_rank(w, 0)->claims.word[0], nof_claim_word(1, NOF_CLAIM_HOST));
        memset(world_rank(w, 0)->arena, 7, HALF);
        send(w, len, 0, 21);
        world_run(w);
        expect_got(w, 12, len, HALF); /* the first is out of the way, and stays so */
        expect_untouched(w);
        assert_null(world_take(w, 0));
        taken(w, 10);
        world_run(w);
        expect_answer(w, 10, NOF_OK);
        expect_clean(w);
    }
}

static void what_is_stored_stays_there(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NWORLDS * NKINDS; i++) {
        struct world *w = open_world(&worlds[i % NWORLDS]);
        uint64_t len = kinds[i / NWORLDS].len;
        send(w, len, kinds[i / NWORLDS].flags, 20);
        world_run_for(w, 5 * MS);
        word(w, 0, 1, NOF_CLAIM_HOST);
        claimed(w, 0, 10);
        post(w, NOF_DESC_MPROBE, NOF_DESC_F_CLAIM | NOF_DESC_F_WAIT, NOF_ANY_SOURCE, 5, 0,
             nof_claim_handle(0, 1), 11);
        world_run_for(w, 5 * MS);
        expect_untouched(w);
        assert_null(world_take(w, 0));
        if (len == LARGE || kinds[i / NWORLDS].flags != 0)
            assert_null(world_take(w, 1)); /* nor is its sender told of a match */
        post(w, NOF_DESC_RECV, 0, NOF_ANY_SOURCE, NOF_ANY_TAG, HALF, 0, 12);
        world_run(w);
        expect_got(w, 12, len, HALF);
        taken(w, 11);
        post(w, NOF_DESC_CANCEL, 0, 0, 0, 0, 0, 10);
        world_run(w);
        expect_answer(w, 11, NOF_OK);
        expect_answer(w, 10, NOF_OK);
        expect_untouched(w);
        expect_clean(w);
    }
}

static void a_matched_probe_claims(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NWORLDS; i++) {
        struct world *w = open_world(&worlds[i]);
        const uint8_t flags = NOF_DESC_F_CLAIM | NOF_DESC_F_WAIT;
        word(w, 0, 1, NOF_CLAIM_HOST);
        word(w, 1, 2, NOF_CLAIM_OPEN);
        post(w, NOF_DESC_MPROBE, flags, NOF_ANY_SOURCE, 5, 0, nof_claim_handle(0, 1), 10);
        post(w, NOF_DESC_MPROBE, flags, NOF_ANY_SOURCE, NOF_ANY_TAG, 0, nof_claim_handle(1, 2), 11);
        send(w, 500, 0, 20);
        world_run(w);
        const struct nof_comp *c = world_expect(w, 0, NOF_COMP_MPROBE, 11);
        assert_int_equal(c->status, NOF_OK);
        post(w, NOF_DESC_MRECV, 0, 0, 0, 0, c->handle, 12);
        taken(w, 10);
        world_run(w);
        expect_got(w, 12, 500, 0);
        expect_answer(w, 10, NOF_OK);
        expect_clean(w);
    }
}

/* As many as there are slots, half of which are posted, on a NIC that has room for few others, too, and where the message is
 * there before: the CANCELs still come through. */
static void one_message_passes_over_all_of_them(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        bool few = i == 1, stored = i == 2;
        struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = 1, .seed = 5};
        if (few)
            cfg.nic.max_posted = 64;
        struct world *w = open_world(&cfg);
        unsigned n = 0;
        if (stored)
            send(w, 20, 0, 20);
        world_run(w);
        for (unsigned k = 0; k < NOF_CLAIM_SLOTS; k++) {
            word(w, k, k + 1, NOF_CLAIM_HOST);
            claimed(w, k, 1000 + k);
        }
        if (!stored)
            send(w, 20, 0, 20);
        world_run(w);
        for (const struct nof_comp *c; (c = world_take(w, 0)) != NULL;) {
            if (c->opcode == NOF_COMP_RECV) { /* beyond the room, to the library */
                assert_int_equal(c->status, NOF_ENOMATCH);
                n++;
            }
        }
        assert_true(stored ? n == 0 : few ? n > NOF_CLAIM_SLOTS / 2 : n == NOF_CLAIM_SLOTS / 2);
        assert_int_equal(world_nic(w, 0)->eps[world_rank(w, 0)->endpoint].claims, NOF_CLAIM_SLOTS - n);
        if (stored) { /* one more than there are */
            claimed(w, 0, 5000);
            world_run(w);
            assert_int_equal(world_expect(w, 0, NOF_COMP_RECV, 5000)->status, NOF_EINVAL);
        }
        for (unsigned k = 0; k < NOF_CLAIM_SLOTS; k++)
            taken(w, 1000 + k);
        world_run(w);
        unsigned gone = 0;
        for (unsigned k = 0; k < NOF_CLAIM_SLOTS; k++) {
            int status = world_expect(w, 0, NOF_COMP_CANCEL, 1000 + k)->status;
            assert_true(status == NOF_OK || (!stored && status == NOF_ENOMATCH));
            gone += status == NOF_OK;
        }
        assert_int_equal(gone, NOF_CLAIM_SLOTS - n);
        expect_untouched(w);
        if (stored) {
            post(w, NOF_DESC_RECV, 0, NOF_ANY_SOURCE, 5, 0, 0, 30);
            world_run(w);
            expect_got(w, 30, 20, 0);
        }
        world_close(w, 0, NOF_OK);
        world_run(w);
        assert_int_equal(world_nic(w, 0)->recvs.used, 0);
        world_fini(w);
    }
}

static void refused(struct world *w, uint8_t opcode, uint8_t flags, int peer, uint64_t handle)
{
    post(w, opcode, flags, peer, 5, 0, handle, 40);
    world_run(w);
    assert_int_equal(world_expect(w, 0, opcode, 40)->status, NOF_EINVAL);
}

static void fields_out_of_range_are_answered(void **state)
{
    (void)state;
    struct world *w = open_world(&worlds[0]);
    const uint8_t claim = NOF_DESC_F_CLAIM, waits = NOF_DESC_F_CLAIM | NOF_DESC_F_WAIT;
    refused(w, NOF_DESC_RECV, claim, 1, 0);
    refused(w, NOF_DESC_RECV, claim, NOF_ANY_SOURCE, NOF_CLAIM_SLOTS);
    refused(w, NOF_DESC_RECV, claim | NOF_DESC_F_DELTA, NOF_ANY_SOURCE, 0);
    refused(w, NOF_DESC_MPROBE, claim, NOF_ANY_SOURCE, 0);
    refused(w, NOF_DESC_MPROBE, waits, 1, 0);
    refused(w, NOF_DESC_PROBE, waits, NOF_ANY_SOURCE, 0);
    word(w, 0, 1, NOF_CLAIM_HOST);
    claimed(w, 0, 10);
    post(w, NOF_DESC_CANCEL, NOF_DESC_F_TAKEN, 3, 5, 0, 0, 10);
    post(w, NOF_DESC_CANCEL, NOF_DESC_F_TAKEN, 2, -1, 0, 0, 10);
    post(w, NOF_DESC_CANCEL, NOF_DESC_F_TAKEN, 2, 6, 0, 0, 10); /* it receives tag 5 */
    taken(w, 11);
    taken(w, 10);
    world_run(w);
    for (unsigned i = 0; i < 3; i++)
        expect_answer(w, 10, NOF_EINVAL);
    expect_answer(w, 11, NOF_ENOMATCH);
    expect_answer(w, 10, NOF_OK);
    expect_clean(w);
}

/* Words of any content, slots used twice: a host harms itself alone. */
static void whatever_the_words_say(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 40; seed++) {
        struct world *w = open_world(&worlds[seed % NWORLDS]);
        uint64_t rng = seed * 0x9e3779b97f4a7c15ull + 1;
        for (unsigned i = 0; i < 300; i++) {
            rng = rng * 6364136223846793005ull + 1442695040888963407ull;
            uint32_t slot = (uint32_t)(rng >> 33) % 4;
            world_rank(w, 0)->claims.word[slot] = rng >> 60 < 4 ? rng : nof_claim_word(slot + 1, rng >> 62);
            if (rng >> 58 & 1)
                claimed(w, slot, 100 + i);
            else
                send(w, kinds[i % NKINDS].len, kinds[i % NKINDS].flags, 1000 + i);
            if (rng >> 57 & 1)
                taken(w, 100 + (rng >> 40) % (i + 1));
            if (i % 8 == 0)
                world_run_for(w, MS / 10);
        }
        world_run_for(w, 50 * MS);
        assert_int_equal(world_rank(w, 0)->failed, 0);
        world_close(w, 0, NOF_OK);
        world_run(w);
        assert_int_equal(world_nic(w, 0)->recvs.used, 0);
        world_fini(w);
    }
}

/* A loop that receives from rank 1 and from rank 2 in turn, whose messages come past the NIC. */
static void the_predictor_learns_what_the_host_gave(void **state)
{
    (void)state;
    struct world_config cfg = {.nics = 2, .dma_inline = 1, .seed = 9, .nic = {.predict_calls = 64}};
    struct world *w = open_world(&cfg);
    uint64_t hits = 0;
    assert_int_equal(nof_nic_feature_set(world_nic(w, 0), NOF_F_PREDICTION, NOF_PREDICTOR_SINGLE_CYCLE),
                     NOF_OK);
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t slot = i % 2;
        struct nof_desc d = {.opcode = NOF_DESC_RECV,
                             .flags = NOF_DESC_F_CLAIM,
                             .ctx = CTX,
                             .cookie = 100 + i,
                             .peer = NOF_ANY_SOURCE,
                             .tag = 5,
                             .len = 64};
        d.handle = nof_claim_handle(slot, i);
        d.callsite = 77;
        word(w, slot, i, slot == 0 ? NOF_CLAIM_OPEN : NOF_CLAIM_HOST);
        if (i % 4 == 0) /* behind or before its message */
            send(w, 20, 0, 300 + i);
        if (i % 4 == 0)
            world_run(w);
        world_post(w, 0, &d);
        if (i % 4 == 2)
            send(w, 20, 0, 300 + i);
        world_run(w);
        if (slot == 0)
            expect_got(w, 100 + i, 20, 0);
        else
            taken(w, 100 + i);
        world_run(w);
        if (slot == 1)
            expect_answer(w, 100 + i, NOF_OK);
        if (i == 39)
            hits = world_rank(w, 0)->counters[NOF_C_PREDICT_HITS];
    }
    assert_int_equal(world_rank(w, 0)->counters[NOF_C_PREDICT_HITS] - hits, 20);
    expect_clean(w);
}

/* Other receives are cancelled as ever, claimed ones among them, and an endpoint that closes leaves nothing. */
static void cancels_of_all_kinds(void **state)
{
    (void)state;
    struct world *w = open_world(&worlds[0]);
    for (uint32_t i = 0; i < 30; i++) {
        word(w, i, i + 1, i % 3 == 0 ? NOF_CLAIM_HOST : NOF_CLAIM_OPEN);
        claimed(w, i, 100 + i);
        post(w, NOF_DESC_RECV, 0, i % 2 ? 1 : NOF_ANY_SOURCE, 6, 0, 0, 200 + i);
    }
    send(w, 20, 0, 20); /* passes one by, takes the next */
    world_run(w);
    expect_got(w, 101, 20, 0);
    for (uint32_t i = 0; i < 30; i++) {
        if (i != 1)
            post(w, NOF_DESC_CANCEL, i % 4 == 0 ? NOF_DESC_F_TAKEN : 0, 2, 5, 0, 0, 100 + i);
        post(w, NOF_DESC_CANCEL, 0, 0, 0, 0, 0, 200 + i);
    }
    world_run(w);
    unsigned answers = 0;
    for (const struct nof_comp *c; (c = world_take(w, 0)) != NULL; answers++)
        assert_int_equal(c->status, NOF_OK);
    assert_int_equal(answers, 59);
    expect_clean(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_claim_is_won_before_anything_else),
        cmocka_unit_test(what_arrives_goes_to_the_next_receive),
        cmocka_unit_test(what_is_stored_stays_there),
        cmocka_unit_test(a_matched_probe_claims),
        cmocka_unit_test(one_message_passes_over_all_of_them),
        cmocka_unit_test(fields_out_of_range_are_answered),
        cmocka_unit_test(whatever_the_words_say),
        cmocka_unit_test(the_predictor_learns_what_the_host_gave),
        cmocka_unit_test(cancels_of_all_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

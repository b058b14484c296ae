/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The library's half of claims: who stands where, who is served by whom, and that a receive is served once when the host and
 * the NIC reach for it at the same time. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "chan/claims.h"

#define ANY NOF_MATCH_ANY
#define CTX 1u
#define NEAR 3 /* a source of memory */
#define FAR 9 /* one of the NIC */

static struct nof_claim_words words;
static struct nof_claims claims;

static int begin(void **state)
{
    (void)state;
    memset(&words, 0, sizeof(words));
    memset(&claims, 0, sizeof(claims));
    nof_claims_init(&claims, &words, 4);
    return 0;
}

static int end(void **state)
{
    (void)state;
    nof_claims_fini(&claims);
    return 0;
}

static bool by_nic(const struct nof_claim_recv *r)
{
    return nof_claim_take(&words.word[nof_claim_slot(r->handle)], nof_claim_generation(r->handle),
                          NOF_CLAIM_NIC);
}

/* Called, and submitted if it is from any source. */
static void call(struct nof_claim_recv *r, int32_t source, int32_t tag)
{
    *r = (struct nof_claim_recv){.open = false};
    assert_int_equal(nof_claim_post(&claims, r, CTX, source, tag), 0);
    if (source == ANY)
        assert_true(nof_claim_open(&claims, r));
}

static void the_first_call_has_it_unless_the_nic_does(void **state)
{
    struct nof_claim_recv r[4];

    (void)state;
    call(&r[0], ANY, 5);
    call(&r[1], NEAR, ANY);
    call(&r[2], ANY, ANY);
    call(&r[3], NEAR, 5);
    assert_true(by_nic(&r[0]));
    assert_ptr_equal(nof_claim_by_memory(&claims, CTX, NEAR, 5), &r[1]);
    assert_false(r[1].taken); /* the NIC has never heard of it */
    assert_ptr_equal(nof_claim_by_memory(&claims, CTX, NEAR, 5), &r[2]);
    assert_true(r[2].taken);
    assert_false(by_nic(&r[2]));
    assert_ptr_equal(nof_claim_by_memory(&claims, CTX, NEAR, 5), &r[3]);
    assert_null(nof_claim_by_memory(&claims, CTX, NEAR, 5));
    assert_false(nof_claim_cancel(&claims, &r[0])); /* however often it is asked for */
    assert_false(nof_claim_cancel(&claims, &r[0]));
    assert_int_equal(claims.in_use, 2);
    nof_claim_by_nic(&claims, &r[0]);
    nof_claim_close(&claims, &r[0]);
    nof_claim_close(&claims, &r[2]);
    assert_int_equal(claims.in_use, 0);
}

static void a_spilled_message_finds_what_the_nic_has_handed_back(void **state)
{
    struct nof_claim_recv r[2], far = {.open = false};

    (void)state;
    call(&r[0], ANY, ANY);
    call(&r[1], ANY, ANY);
    assert_null(nof_claim_by_spill(&claims, CTX, FAR, 5));
    nof_claim_close(&claims, &r[0]);
    assert_int_equal(nof_claim_nomatch(&claims, &r[0], CTX, ANY, ANY), 0);
    assert_int_equal(nof_claim_nomatch(&claims, &far, CTX, FAR, 5), 0);
    assert_ptr_equal(nof_claim_by_spill(&claims, CTX, FAR, 5), &r[0]);
    assert_ptr_equal(nof_claim_by_spill(&claims, CTX, FAR, 5), &far);
    assert_null(nof_claim_by_spill(&claims, CTX, FAR, 5));
    assert_ptr_equal(nof_claim_by_memory(&claims, CTX, NEAR, 5), &r[1]); /* r[0] is in neither */
}

static void what_the_nic_handed_back_keeps_its_place(void **state)
{
    struct nof_claim_recv r[2];

    (void)state;
    call(&r[0], ANY, 5);
    call(&r[1], NEAR, 5);
    nof_claim_close(&claims, &r[0]);
    assert_int_equal(nof_claim_nomatch(&claims, &r[0], CTX, ANY, 5), 0);
    assert_ptr_equal(nof_claim_by_memory(&claims, CTX, NEAR, 5), &r[0]);
    assert_false(r[0].taken);
    assert_null(nof_claim_by_spill(&claims, CTX, FAR, 5));
    assert_true(nof_claim_cancel(&claims, &r[1]));
}

static void words_are_few_and_never_the_same(void **state)
{
    struct nof_claim_recv r[5];

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        call(&r[i], ANY, (int32_t)i);
    r[4] = (struct nof_claim_recv){.open = false};
    assert_false(nof_claim_open(&claims, &r[4]));
    struct nof_claim_recv old = r[2];
    assert_true(nof_claim_cancel(&claims, &r[2]));
    assert_true(r[2].taken);
    assert_false(nof_claim_open(&claims, &r[4])); /* until its CANCEL is answered */
    nof_claim_close(&claims, &r[2]);
    nof_claim_close(&claims, &r[2]);
    assert_true(nof_claim_open(&claims, &r[4]));
    assert_int_equal(nof_claim_slot(r[4].handle), nof_claim_slot(old.handle));
    assert_false(by_nic(&old));
    assert_true(by_nic(&r[4]));
}

static void what_the_nic_has_won_needs_no_word(void **state)
{
    struct nof_claim_recv r[6];

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        call(&r[i], ANY, (int32_t)i);
    r[4] = r[5] = (struct nof_claim_recv){.open = false};
    assert_true(by_nic(&r[1]));
    assert_true(nof_claim_open(&claims, &r[4]));
    assert_int_equal(nof_claim_slot(r[4].handle), nof_claim_slot(r[1].handle));
    assert_false(nof_claim_open(&claims, &r[5])); /* the others' are open */
    assert_null(nof_claim_by_memory(&claims, CTX, NEAR, 1)); /* it is the NIC's still */
    assert_false(nof_claim_cancel(&claims, &r[1]));
    nof_claim_close(&claims, &r[1]); /* and ends without */
    assert_false(nof_claim_open(&claims, &r[5]));
    assert_true(nof_claim_cancel(&claims, &r[2]));
    nof_claim_give_word(&claims, nof_claim_leave_word(&claims, &r[2]));
    assert_true(nof_claim_open(&claims, &r[5]));
}

#define ROUNDS 1000u

static struct nof_claim_recv race[2]; /* in turn */
static unsigned round_at, nic_done; /* rounds that have begun; that the NIC is through with */
static bool nic_won;

/* Until the other one has come so far: it mostly runs beside. */
static void wait_for(const unsigned *at, unsigned least)
{
    for (unsigned looks = 0; __atomic_load_n(at, __ATOMIC_ACQUIRE) < least; looks++)
        if (looks % 256 == 255)
            (void)sched_yield();
}

static void *nic_runs(void *arg)
{
    (void)arg;
    for (unsigned i = 1; i <= ROUNDS; i++) {
        wait_for(&round_at, i);
        nic_won = by_nic(&race[i % 2]);
        __atomic_store_n(&nic_done, i, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void one_of_two_who_reach_for_it_has_it(void **state)
{
    pthread_t nic;
    unsigned host = 0;

    (void)state;
    assert_int_equal(pthread_create(&nic, NULL, nic_runs, NULL), 0);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        struct nof_claim_recv *r = &race[i % 2];
        call(r, ANY, 5);
        uint64_t handle = r->handle;
        __atomic_store_n(&round_at, i, __ATOMIC_RELEASE);
        if (i % 4 == 0) /* the NIC has been there; or it may have; or both come */
            wait_for(&nic_done, i);
        else if (i % 4 == 1)
            (void)sched_yield();
        bool mine = nof_claim_by_memory(&claims, CTX, NEAR, 5) == r;
        wait_for(&nic_done, i);
        assert_true(mine != nic_won);
        assert_int_equal(words.word[nof_claim_slot(handle)],
                         nof_claim_word(nof_claim_generation(handle), mine ? NOF_CLAIM_HOST : NOF_CLAIM_NIC));
        host += mine;
        nof_claim_close(&claims, r);
    }
    assert_int_equal(pthread_join(nic, NULL), 0);
    print_message("the host had %u of %u\n", host, ROUNDS);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(the_first_call_has_it_unless_the_nic_does),
        EACH(a_spilled_message_finds_what_the_nic_has_handed_back),
        EACH(what_the_nic_handed_back_keeps_its_place),
        EACH(words_are_few_and_never_the_same),
        EACH(what_the_nic_has_won_needs_no_word),
        EACH(one_of_two_who_reach_for_it_has_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

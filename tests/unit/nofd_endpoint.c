/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data path between a host's rings and the core: what is taken and given, and what a host that lies gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nofd/core/endpoint.h"
#include "nofd/core/nic_host.h"

#define SLOTS 64u

static struct nofd_lcore lcore;
static struct nofd_nic nic;
static struct nofd_endpoint ep;
static unsigned core_room;
static struct nof_desc taken[256];
static unsigned ntaken;

/* The core. */
unsigned nof_nic_host_room(const struct nof_nic *core, uint32_t endpoint)
{
    (void)core;
    assert_int_equal(endpoint, 5);
    return core_room;
}

void nof_nic_host(struct nof_nic *core, uint64_t now_ns, uint32_t endpoint, const struct nof_desc *descs,
                  unsigned n)
{
    (void)core;
    assert_int_equal(now_ns, 1000);
    assert_int_equal(endpoint, 5);
    assert_true(n <= core_room);
    memcpy(&taken[ntaken], descs, n * sizeof(*descs));
    ntaken += n;
}

static int start(void **state)
{
    const struct nofd_bar_config cfg = {
        .submit_slots = SLOTS, .complete_slots = SLOTS, .bounce_bytes = 4096, .program_area_bytes = 4096};

    (void)state;
    memset(&lcore, 0, sizeof(lcore));
    memset(&nic, 0, sizeof(nic));
    memset(&ep, 0, sizeof(ep));
    nic.lcore = &lcore;
    if (nofd_bar_create(&ep.bar, &cfg) != 0)
        return -1;
    ep.nic = &nic;
    ep.index = 5;
    ep.submit = ep.bar.submit;
    ep.complete = ep.bar.complete;
    ep.nic_words = ep.bar.nic_words;
    ep.host_words = ep.bar.host_words;
    ep.delta = nofd_bar_at(&ep.bar, ep.bar.identity->delta_host_offset);
    ep.counters = ep.bar.counters;
    ep.doom.any = &nic.doomed;
    core_room = 1000;
    ntaken = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    nofd_bar_destroy(&ep.bar);
    return 0;
}

static void submit(unsigned n)
{
    static uint64_t cookie;

    for (unsigned i = 0; i < n; i++) {
        struct nof_desc d = {.opcode = NOF_DESC_SEND, .cookie = cookie++};

        assert_int_equal(nof_ring_put(ep.submit, &d, 1), 1);
    }
}

static unsigned reap(void)
{
    struct nof_comp comp;
    unsigned n = 0;

    while (nof_ring_get(ep.complete, &comp, 1) == 1)
        n++;
    return n;
}

static void descriptors_are_taken_in_order_a_burst_at_a_time(void **state)
{
    (void)state;
    assert_false(nofd_endpoint_has_work(&ep));
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 0);
    submit(NOFD_BURST + 3);
    assert_true(nofd_endpoint_has_work(&ep));
    assert_int_equal(nofd_endpoint_take(&ep, 1000), NOFD_BURST);
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 3);
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 0);
    for (unsigned i = 1; i < ntaken; i++)
        assert_int_equal(taken[i].cookie, taken[i - 1].cookie + 1);
}

static void bytes_that_the_core_copies_are_paid_with_turns(void **state)
{
    const struct nof_desc large = {.opcode = NOF_DESC_SEND, .flags = NOF_DESC_F_BOUNCE, .len = 4096};
    const struct nof_desc near = {.opcode = NOF_DESC_SEND, .addr = NOF_BAR_ARENA | 64, .len = 4096};
    const struct nof_desc huge = {.opcode = NOF_DESC_SEND, .flags = NOF_DESC_F_BOUNCE, .len = UINT64_MAX};
    const struct nof_desc other = {.opcode = NOF_DESC_RECV, .flags = NOF_DESC_F_BOUNCE, .len = UINT64_MAX};
    const struct nof_desc direct = {.opcode = NOF_DESC_SEND, .len = UINT64_MAX};

    (void)state;
    for (unsigned i = 0; i < NOFD_BURST; i++)
        assert_int_equal(nof_ring_put(ep.submit, i % 2 == 0 ? &large : &near, 1), 1);
    submit(1);
    for (unsigned i = 0; i < NOFD_BURST / 8; i++) {
        assert_int_equal(nofd_endpoint_take(&ep, 1000), 8); /* 32 KiB: no more in one turn */
        assert_int_equal(ntaken, 8 * (i + 1));
        assert_true(nofd_endpoint_has_work(&ep));
        assert_int_equal(nofd_endpoint_take(&ep, 1000), 1); /* the core does not sleep on it */
        assert_int_equal(ntaken, 8 * (i + 1));
        assert_true(nofd_endpoint_has_work(&ep));
    }
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 1);
    assert_int_equal(ntaken, NOFD_BURST + 1);

    assert_int_equal(nof_ring_put(ep.submit, &huge, 1), 1);
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 1);
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 0); /* also a turn with nothing in the ring pays */
    submit(2);
    core_room = 0;
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 1);
    core_room = 1000;
    assert_int_equal(ntaken, NOFD_BURST + 2);
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 2);

    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(nof_ring_put(ep.submit, i == 0 ? &other : &direct, 1), 1);
        assert_int_equal(nofd_endpoint_take(&ep, 1000), 1);
        submit(1);
        assert_int_equal(nofd_endpoint_take(&ep, 1000), 1);
    }
    assert_int_equal(ntaken, NOFD_BURST + 8);
}

static void no_more_than_the_core_has_room_for(void **state)
{
    (void)state;
    submit(10);
    core_room = 4;
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 4);
    core_room = 0;
    assert_false(nofd_endpoint_has_work(&ep));
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 0);
    core_room = 100;
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 6);
    assert_int_equal(ntaken, 10);
}

static void doomed_once(void)
{
    assert_int_equal(ep.doom.reason, NOF_EPROTO);
    assert_true(nic.doomed);
    assert_true(ep.ring_broken);
    assert_int_equal(ep.counters[NOF_C_RING_FAULTS], 1);
    assert_int_equal(nic.counters[NOF_C_RING_FAULTS], 1);
}

static void a_producer_beyond_the_ring_dooms_and_is_not_followed(void **state)
{
    (void)state;
    ep.submit->prod.tail = SLOTS; /* one more than fit */
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(nofd_endpoint_take(&ep, 1000), 0);
    assert_int_equal(ntaken, 0);
    doomed_once();
}

static void our_own_consumer_index_must_not_be_changed(void **state)
{
    (void)state;
    submit(2);
    ep.submit->cons.head++;
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 0);
    assert_int_equal(ntaken, 0);
    doomed_once();
}

static void a_full_completion_ring_takes_what_fits(void **state)
{
    struct nof_comp comps[SLOTS + 8] = {{0}};

    (void)state;
    assert_int_equal(nofd_endpoint_give(&ep, comps, 8), 8);
    assert_true(ep.wake_host);
    assert_false(ep.complete_full);
    assert_int_equal(nofd_endpoint_give(&ep, comps, SLOTS), SLOTS - 1 - 8);
    assert_true(ep.complete_full);
    assert_int_equal(nofd_endpoint_give_room(&ep), 0);
    assert_int_equal(nofd_endpoint_give(&ep, comps, 1), 0);
    assert_int_equal(reap(), SLOTS - 1);
    assert_int_equal(nofd_endpoint_give(&ep, comps, 1), 1);
    assert_false(ep.complete_full);
}

static void a_consumer_that_lies_dooms(void **state)
{
    struct nof_comp comp = {0};

    (void)state;
    ep.complete->cons.tail = 7; /* has read what was never given */
    assert_int_equal(nofd_endpoint_give_room(&ep), 0);
    doomed_once();
    ep.complete->cons.tail = 0;
    assert_int_equal(nofd_endpoint_give(&ep, &comp, 1), 0); /* never touched again */
    assert_int_equal(reap(), 0);
}

static void our_own_producer_index_must_not_be_changed(void **state)
{
    struct nof_comp comp = {0};

    (void)state;
    ep.complete->prod.head++;
    assert_int_equal(nofd_endpoint_give(&ep, &comp, 1), 0);
    doomed_once();
}

static void only_a_host_that_sleeps_is_woken_and_once(void **state)
{
    (void)state;
    ep.wake_host = true;
    nofd_endpoint_wake(&ep);
    assert_false(ep.wake_host);
    assert_int_equal(ep.host_words->wake, 0);
    ep.host_words->host_asleep = 1;
    nofd_endpoint_wake(&ep);
    nofd_endpoint_wake(&ep);
    assert_int_equal(ep.host_words->wake, 1);
    assert_int_equal(ep.host_words->host_asleep, 0);
    assert_int_equal(ep.counters[NOF_C_WAKES], 1);
    assert_int_equal(nic.counters[NOF_C_WAKES], 1);
}

static void one_with_a_slot_is_woken_by_its_bell(void **state)
{
    struct nof_segment_bell bell = {.asleep = 1, .wake = UINT32_MAX};

    (void)state;
    ep.bell = &bell;
    ep.host_words->host_asleep = 1; /* nobody waits there */
    nofd_endpoint_wake(&ep);
    nofd_endpoint_wake(&ep);
    assert_int_equal(bell.wake, 0);
    assert_int_equal(bell.asleep, 0);
    assert_int_equal(ep.host_words->wake, 0);
    assert_int_equal(ep.counters[NOF_C_WAKES], 1);
}

static void who_waits_for_an_arrival_is_woken_by_a_word_of_its_own(void **state)
{
    (void)state;
    ep.arrived = true;
    nofd_endpoint_wake_waiters(&ep);
    assert_false(ep.arrived);
    assert_int_equal(ep.delta->wake, 0);
    ep.delta->asleep = 1;
    nofd_endpoint_wake_waiters(&ep);
    nofd_endpoint_wake_waiters(&ep);
    assert_int_equal(ep.delta->wake, 1);
    assert_int_equal(ep.delta->asleep, 0);
    assert_int_equal(ep.host_words->wake, 0);
}

static void the_longest_pause_is_kept_of_who_had_to_wait(void **state)
{
    (void)state;
    lcore.pause_ns = 300;
    submit(2);
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 2); /* nobody measures */
    assert_int_equal(ep.counters[NOF_C_PAUSE_NS], 0);
    lcore.watch_pauses = true;
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 0); /* it waits for nothing */
    assert_int_equal(ep.counters[NOF_C_PAUSE_NS], 0);
    submit(1);
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 1);
    lcore.pause_ns = 100;
    submit(1);
    assert_int_equal(nofd_endpoint_take(&ep, 1000), 1);
    assert_int_equal(ep.counters[NOF_C_PAUSE_NS], 300);
    assert_int_equal(nic.counters[NOF_C_PAUSE_NS], 300);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(descriptors_are_taken_in_order_a_burst_at_a_time),
        EACH(bytes_that_the_core_copies_are_paid_with_turns),
        EACH(no_more_than_the_core_has_room_for),
        EACH(a_producer_beyond_the_ring_dooms_and_is_not_followed),
        EACH(our_own_consumer_index_must_not_be_changed),
        EACH(a_full_completion_ring_takes_what_fits),
        EACH(a_consumer_that_lies_dooms),
        EACH(our_own_producer_index_must_not_be_changed),
        EACH(only_a_host_that_sleeps_is_woken_and_once),
        EACH(one_with_a_slot_is_woken_by_its_bell),
        EACH(who_waits_for_an_arrival_is_woken_by_a_word_of_its_own),
        EACH(the_longest_pause_is_kept_of_who_had_to_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fabric: frames by reference, links with rate and delay, faults, ports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "port/fabric/fabric.h"
#include "nof/core.h"

#define PORTS 3u
#define POOL 64u

static const uint8_t macs[PORTS][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, {2, 0, 0, 0, 0, 3}};

static struct nof_fabric *make(const struct nof_fabric_link *link, uint64_t seed)
{
    struct nof_fabric_config cfg = {.nports = PORTS,
                                    .mac = macs,
                                    .seed = seed,
                                    .frame_bytes = 2048,
                                    .pool_frames = POOL,
                                    .queue_frames = 256,
                                    .tx_queue_bytes = 20000};
    if (link != NULL)
        cfg.link = *link;
    struct nof_fabric *f = NULL;
    assert_int_equal(nof_fabric_create(&cfg, &f), NOF_OK);
    return f;
}

static struct nof_frame *frame_to(struct nof_fabric *f, unsigned from, const uint8_t *mac, uint32_t len)
{
    struct nof_frame *frame = nof_fabric_port_ops.frame_alloc(nof_fabric_port(f, from), len);
    assert_non_null(frame);
    memset(frame->data, 0x33, len);
    memcpy(frame->data, mac, 6);
    return frame;
}

/* Sends one frame and gives the core's reference back; answers how many the port took. */
static unsigned send_one(struct nof_fabric *f, unsigned from, const uint8_t *mac, uint32_t len)
{
    struct nof_frame *frame = frame_to(f, from, mac, len);
    unsigned taken = nof_fabric_port_ops.send(nof_fabric_port(f, from), &frame, 1);
    nof_fabric_port_ops.frame_free(nof_fabric_port(f, from), frame);
    return taken;
}

static unsigned fetch(struct nof_fabric *f, unsigned port, uint64_t now_ns)
{
    struct nof_frame *frames[256];
    unsigned n = nof_fabric_rx_burst(nof_fabric_port(f, port), now_ns, frames, 256);
    nof_fabric_rx_done(nof_fabric_port(f, port), frames, n);
    return n;
}

static void all_frames_back(struct nof_fabric *f)
{
    for (unsigned i = 0; i < PORTS; i++)
        assert_int_equal(nof_fabric_pool_free(f, i), POOL);
    nof_fabric_destroy(f);
}

static void a_frame_is_lent_not_copied(void **state)
{
    (void)state;
    struct nof_fabric *f = make(NULL, 1);
    struct nof_frame *frame = frame_to(f, 0, macs[1], 100), *got[4];
    assert_int_equal(nof_fabric_port_ops.send(nof_fabric_port(f, 0), &frame, 1), 1);
    assert_int_equal(nof_fabric_next_deadline(f), 0);
    assert_int_equal(nof_fabric_rx_burst(nof_fabric_port(f, 1), 5, got, 4), 1);
    assert_ptr_equal(got[0]->data, frame->data);
    assert_int_equal(got[0]->len_bytes, 100);
    nof_fabric_rx_done(nof_fabric_port(f, 1), got, 1);
    assert_int_equal(nof_fabric_pool_free(f, 0), POOL - 1);
    nof_fabric_port_ops.frame_free(nof_fabric_port(f, 0), frame);
    assert_int_equal(nof_fabric_next_deadline(f), NOF_NO_DEADLINE);
    all_frames_back(f);
}

static void an_empty_pool_gives_no_frame(void **state)
{
    (void)state;
    struct nof_fabric *f = make(NULL, 1);
    struct nof_frame *frame[POOL];
    for (unsigned i = 0; i < POOL; i++)
        frame[i] = frame_to(f, 2, macs[1], 64);
    assert_null(nof_fabric_port_ops.frame_alloc(nof_fabric_port(f, 2), 64));
    assert_int_equal(nof_fabric_stats(f, 2)->pool_empty, 1);
    for (unsigned i = 0; i < POOL; i++)
        nof_fabric_port_ops.frame_free(nof_fabric_port(f, 2), frame[i]);
    assert_null(nof_fabric_port_ops.frame_alloc(nof_fabric_port(f, 2), 2049));
    all_frames_back(f);
}

static void addresses_decide_who_gets_a_frame(void **state)
{
    (void)state;
    static const uint8_t nobody[6] = {2, 9, 9, 9, 9, 9}, group[6] = {1, 0, 0x5e, 0, 0, 1};
    struct nof_fabric *f = make(NULL, 1);
    assert_int_equal(send_one(f, 0, nobody, 64), 1);
    assert_int_equal(nof_fabric_stats(f, 0)->drop_unknown, 1);
    assert_int_equal(send_one(f, 0, group, 64), 1);
    assert_int_equal(send_one(f, 1, macs[1], 64), 1);
    assert_int_equal(fetch(f, 0, 0), 0);
    assert_int_equal(fetch(f, 1, 0), 2);
    assert_int_equal(fetch(f, 2, 0), 1);
    all_frames_back(f);
}

static void rate_and_delay_of_both_links_add_up(void **state)
{
    (void)state;
    struct nof_fabric_link link = {.rate_bps = 8000000000ull, .delay_ns = 10000};
    struct nof_fabric *f = make(&link, 1);
    nof_fabric_advance(f, 1000);
    assert_int_equal(send_one(f, 0, macs[1], 1000), 1); /* 1 us on each link */
    assert_int_equal(nof_fabric_next_deadline(f), 1000 + 1000 + 10000);
    nof_fabric_advance(f, 12000);
    assert_int_equal(fetch(f, 1, 22999), 0);
    assert_int_equal(nof_fabric_next_event(f), 23000);
    assert_int_equal(fetch(f, 1, 23000), 1);
    all_frames_back(f);
}

static void a_full_buffer_drops_the_tail(void **state)
{
    (void)state;
    struct nof_fabric_link fast = {0}, slow = {.rate_bps = 8000000, .buffer_bytes = 4000};
    struct nof_fabric *f = make(&fast, 1);
    assert_int_equal(nof_fabric_set_link(f, 1, &slow), NOF_OK);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(send_one(f, 0, macs[1], 1000), 1);
    assert_int_equal(nof_fabric_stats(f, 1)->drop_buffer, 6);
    assert_int_equal(fetch(f, 1, 10000000), 4);
    assert_int_equal(send_one(f, 0, macs[1], 1000), 1);
    assert_int_equal(fetch(f, 1, 20000000), 1);
    all_frames_back(f);
}

static void a_slow_link_pushes_back_on_its_sender(void **state)
{
    (void)state;
    struct nof_fabric_link slow = {.rate_bps = 8000000};
    struct nof_fabric *f = make(&slow, 1);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(send_one(f, 0, macs[1], 2000), 1);
    assert_int_equal(send_one(f, 0, macs[1], 2000), 0);
    assert_int_equal(nof_fabric_stats(f, 0)->tx_busy, 1);
    nof_fabric_advance(f, 2000000); /* the first has left */
    assert_int_equal(send_one(f, 0, macs[1], 2000), 1);
    assert_int_equal(send_one(f, 0, macs[1], 2000), 0);
    fetch(f, 1, 1000000000);
    all_frames_back(f);
}

static uint64_t pattern_of_losses(uint64_t seed)
{
    struct nof_fabric_link link = {.loss_ppm = 200000};
    struct nof_fabric *f = make(&link, seed);
    uint64_t pattern = 0;
    for (unsigned i = 0; i < 5000; i++) {
        assert_int_equal(send_one(f, 0, macs[1], 64), 1);
        pattern = pattern * 31 + fetch(f, 1, i);
    }
    assert_in_range(nof_fabric_stats(f, 1)->lost, 850, 1150);
    all_frames_back(f);
    return pattern;
}

static void losses_follow_the_seed(void **state)
{
    (void)state;
    assert_int_equal(pattern_of_losses(7), pattern_of_losses(7));
    assert_true(pattern_of_losses(7) != pattern_of_losses(8));
}

static void corruption_leaves_the_senders_bytes_alone(void **state)
{
    (void)state;
    struct nof_fabric_link link = {.corrupt_ppm = NOF_FABRIC_PPM};
    struct nof_fabric *f = make(&link, 3);
    uint8_t clean[500];
    for (unsigned i = 0; i < 100; i++) {
        struct nof_frame *frame = frame_to(f, 0, macs[1], 500), *got[2];
        memcpy(clean, frame->data, 500);
        assert_int_equal(nof_fabric_port_ops.send(nof_fabric_port(f, 0), &frame, 1), 1);
        assert_int_equal(nof_fabric_rx_burst(nof_fabric_port(f, 1), i, got, 2), 1);
        assert_true(got[0]->len_bytes != 500 || memcmp(got[0]->data, clean, 500) != 0);
        assert_memory_equal(frame->data, clean, 500);
        nof_fabric_rx_done(nof_fabric_port(f, 1), got, 1);
        nof_fabric_port_ops.frame_free(nof_fabric_port(f, 0), frame);
    }
    all_frames_back(f);
}

static void duplicates_and_late_frames_arrive(void **state)
{
    (void)state;
    struct nof_fabric_link link = {
        .duplicate_ppm = NOF_FABRIC_PPM, .reorder_ppm = NOF_FABRIC_PPM, .reorder_ns = 1000};
    struct nof_fabric *f = make(&link, 3);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(send_one(f, 0, macs[1], 64), 1);
    assert_int_equal(fetch(f, 1, 0), 0);
    assert_int_equal(fetch(f, 1, 1000), 40);
    assert_int_equal(nof_fabric_stats(f, 1)->duplicated, 20);
    assert_int_equal(nof_fabric_stats(f, 1)->reordered, 40);
    all_frames_back(f);
}

static void nothing_passes_a_partition_or_a_port_that_is_down(void **state)
{
    (void)state;
    struct nof_fabric *f = make(NULL, 1);
    nof_fabric_set_group(f, 1, 1);
    assert_int_equal(send_one(f, 0, macs[1], 64), 1);
    assert_int_equal(send_one(f, 0, macs[2], 64), 1);
    assert_int_equal(nof_fabric_stats(f, 1)->drop_partition, 1);
    nof_fabric_set_group(f, 1, 0);
    assert_int_equal(send_one(f, 0, macs[1], 64), 1);
    nof_fabric_set_up(f, 1, false); /* what waits there is lost, too */
    assert_int_equal(send_one(f, 1, macs[0], 64), 1);
    assert_int_equal(fetch(f, 0, 0) + fetch(f, 1, 0), 0);
    assert_int_equal(nof_fabric_stats(f, 1)->drop_down, 2);
    nof_fabric_set_up(f, 1, true);
    assert_int_equal(send_one(f, 0, macs[1], 64), 1);
    assert_int_equal(fetch(f, 1, 0), 1);
    assert_int_equal(fetch(f, 2, 0), 1);
    all_frames_back(f);
}

static void switches_have_one_link_to_each_other(void **state)
{
    (void)state;
    static const uint8_t group[6] = {1, 0, 0x5e, 0, 0, 1};
    struct nof_fabric_config cfg = {.nports = PORTS,
                                    .mac = macs,
                                    .frame_bytes = 2048,
                                    .pool_frames = POOL,
                                    .queue_frames = 256,
                                    .switches = 2,
                                    .trunk_rate_bps = 1000000000,
                                    .trunk_delay_ns = 300};
    struct nof_fabric *f = NULL;
    assert_int_equal(nof_fabric_create(&cfg, &f), NOF_OK);
    nof_fabric_advance(f, 1000); /* ports 0 and 1 are of one switch, 2 of the other: 125 bytes take 1000 ns */
    assert_int_equal(send_one(f, 0, macs[1], 125), 1);
    assert_int_equal(send_one(f, 0, macs[2], 125), 1);
    assert_int_equal(send_one(f, 1, group, 125), 1);
    assert_int_equal(send_one(f, 2, macs[0], 125), 1);
    assert_int_equal(fetch(f, 1, 1000), 1);
    assert_int_equal(fetch(f, 0, 1000), 1);
    assert_int_equal(fetch(f, 2, 2299), 0);
    assert_int_equal(fetch(f, 0, 2299), 0);
    assert_int_equal(fetch(f, 2, 2300), 1);
    assert_int_equal(fetch(f, 0, 2300), 1); /* each way by itself */
    assert_int_equal(fetch(f, 2, 3299), 0);
    assert_int_equal(fetch(f, 2, 3300), 1); /* behind the first one */
    assert_int_equal(fetch(f, 1, 10000), 0); /* nothing comes back */
    struct nof_fabric_link deaf = {.multicast = NOF_FABRIC_DROP};
    assert_int_equal(nof_fabric_set_link(f, 2, &deaf), NOF_OK);
    assert_int_equal(send_one(f, 1, group, 125), 1);
    assert_int_equal(nof_fabric_next_event(f), NOF_NO_DEADLINE); /* nobody there wants it */
    assert_int_equal(fetch(f, 0, 10000), 1);
    all_frames_back(f);
}

static void bad_configurations_are_refused(void **state)
{
    (void)state;
    static const uint8_t twice[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1}},
                         group[1][6] = {{3, 0, 0, 0, 0, 1}};
    struct nof_fabric *f = NULL;
    struct nof_fabric_config cfg = {.nports = 2, .mac = twice};
    assert_int_equal(nof_fabric_create(&cfg, &f), NOF_EINVAL);
    cfg = (struct nof_fabric_config){.nports = 1, .mac = group};
    assert_int_equal(nof_fabric_create(&cfg, &f), NOF_EINVAL);
    cfg = (struct nof_fabric_config){.nports = 1, .mac = macs, .queue_frames = 100};
    assert_int_equal(nof_fabric_create(&cfg, &f), NOF_EINVAL);
    cfg = (struct nof_fabric_config){.nports = 1, .mac = macs, .switches = 2};
    assert_int_equal(nof_fabric_create(&cfg, &f), NOF_EINVAL);
    cfg = (struct nof_fabric_config){.nports = 1, .mac = macs, .link = {.loss_ppm = NOF_FABRIC_PPM + 1}};
    assert_int_equal(nof_fabric_create(&cfg, &f), NOF_EINVAL);
    assert_null(f);
}

/* A shared fabric of four ports, two cores of two NICs; all threads are this one. */
#define SHARED_QUEUE 4u

static unsigned woken[4];

static void wake(void *arg)
{
    (*(unsigned *)arg)++;
}

static struct nof_fabric *make_shared_of(uint32_t queue_frames, const struct nof_fabric_link *link)
{
    static const uint8_t four[4][6] = {
        {2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, {2, 0, 0, 0, 0, 3}, {2, 0, 0, 0, 0, 4}};
    struct nof_fabric_config cfg = {.nports = 4,
                                    .cores = 2,
                                    .shared = true,
                                    .mac = four,
                                    .frame_bytes = 2048,
                                    .pool_frames = POOL,
                                    .queue_frames = queue_frames,
                                    .tx_queue_bytes = 20000};
    if (link != NULL)
        cfg.link = *link;
    struct nof_fabric *f = NULL;
    assert_int_equal(nof_fabric_create(&cfg, &f), NOF_OK);
    for (unsigned i = 0; i < 4; i++) {
        woken[i] = 0;
        nof_fabric_on_arrival(nof_fabric_port(f, i), wake, &woken[i]);
    }
    return f;
}

static struct nof_fabric *make_shared(const struct nof_fabric_link *link)
{
    return make_shared_of(SHARED_QUEUE, link);
}

/* Answers how many the port took of so many that are the same frame. */
static unsigned send_shared(struct nof_fabric *f, unsigned from, unsigned to, unsigned times)
{
    const struct nof_port_ops *ops = nof_fabric_ops(f);
    struct nof_frame *frame = ops->frame_alloc(nof_fabric_port(f, from), 1000), *frames[16];
    assert_non_null(frame);
    assert_ptr_equal(ops, &nof_fabric_shared_port_ops);
    memset(frame->data, 0, 6);
    frame->data[0] = 2;
    frame->data[5] = (uint8_t)(to + 1);
    for (unsigned i = 0; i < times; i++)
        frames[i] = frame;
    unsigned taken = ops->send(nof_fabric_port(f, from), frames, times);
    ops->frame_free(nof_fabric_port(f, from), frame);
    return taken;
}

static void all_shared_back(struct nof_fabric *f)
{
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(nof_fabric_rx_ready(nof_fabric_port(f, i)), 0);
        assert_int_equal(nof_fabric_pool_free(f, i), POOL);
    }
    nof_fabric_destroy(f);
}

static void a_full_ring_drops_and_counts(void **state)
{
    (void)state;
    struct nof_fabric *f = make_shared(NULL);
    assert_int_equal(send_shared(f, 0, 2, SHARED_QUEUE + 3), SHARED_QUEUE + 3);
    assert_int_equal(nof_fabric_stats(f, 2)->drop_queue, 3);
    assert_int_equal(woken[2], 1); /* once for all of them */
    assert_int_equal(nof_fabric_port_deadline(nof_fabric_port(f, 2)), 0);
    assert_int_equal(nof_fabric_port_deadline(nof_fabric_port(f, 3)), NOF_NO_DEADLINE);
    assert_int_equal(fetch(f, 2, 5), SHARED_QUEUE);
    assert_int_equal(send_shared(f, 1, 2, 1), 1); /* and there is room again */
    assert_int_equal(fetch(f, 2, 5), 1);
    all_shared_back(f);
}

/* Half of the smallest window: its sender hears of these while the others are fetched. */
static void of_another_thread_s_frames_a_part_is_fetched_at_once(void **state)
{
    (void)state;
    struct nof_fabric *f = make_shared_of(64, NULL);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(send_shared(f, 0, 2, 16), 16);
    assert_int_equal(send_shared(f, 1, 2, 3), 3);
    assert_int_equal(fetch(f, 2, 5), 16);
    assert_int_equal(nof_fabric_port_deadline(nof_fabric_port(f, 2)), 0); /* and looks at once for more */
    assert_int_equal(fetch(f, 2, 5), 16);
    assert_int_equal(fetch(f, 2, 5), 3);
    all_shared_back(f);
}

static void frames_that_come_back_are_used_again(void **state)
{
    (void)state;
    struct nof_fabric *f = make_shared(NULL);
    for (unsigned i = 0; i < 10 * POOL; i++) {
        assert_int_equal(send_shared(f, 0, 3, 1), 1);
        assert_int_equal(fetch(f, 3, 5), 1);
    }
    assert_int_equal(nof_fabric_stats(f, 0)->pool_empty, 0);
    all_shared_back(f);
}

static void what_is_not_straight_goes_through_the_switch_of_the_first_port(void **state)
{
    (void)state;
    struct nof_fabric_link link = {.rate_bps = 8000000000, .delay_ns = 10000};
    struct nof_fabric *f = make_shared(&link);
    assert_int_equal(fetch(f, 3, 100), 0); /* its clock */
    assert_int_equal(send_shared(f, 3, 0, 1), 1);
    assert_int_equal(woken[0], 1);
    assert_int_equal(nof_fabric_port_deadline(nof_fabric_port(f, 0)), 0);
    assert_int_equal(fetch(f, 0, 200), 0); /* the switch hears of it */
    assert_int_equal(nof_fabric_port_deadline(nof_fabric_port(f, 0)), 100 + 1000 + 10000);
    assert_int_equal(fetch(f, 0, 100 + 1000 + 10000), 0);
    assert_int_equal(fetch(f, 0, 100 + 2 * (1000 + 10000)), 1);
    /* A ring that nobody empties takes no more, and what it did not take is not lost. */
    assert_int_equal(send_shared(f, 3, 1, 16), SHARED_QUEUE);
    assert_int_equal(nof_fabric_stats(f, 3)->tx_busy, 16 - SHARED_QUEUE);
    assert_int_equal(fetch(f, 0, 1000000), 0);
    assert_int_equal(send_shared(f, 3, 1, 1), 1);
    assert_int_equal(fetch(f, 0, 2000000), 0);
    assert_int_equal(fetch(f, 1, 2000000), SHARED_QUEUE);
    assert_int_equal(nof_fabric_stats(f, 1)->drop_queue, 1);
    all_shared_back(f);
}

static void cores_of_a_nic_reach_each_other_past_the_switch(void **state)
{
    (void)state;
    struct nof_fabric_link link = {.rate_bps = 1000, .delay_ns = 1000000000, .loss_ppm = NOF_FABRIC_PPM};
    struct nof_fabric *f = make_shared(&link);
    nof_fabric_set_up(f, 0, false);
    assert_false(nof_fabric_is_up(f, 0));
    assert_int_equal(send_shared(f, 0, 1, 2), 2);
    assert_int_equal(fetch(f, 1, 0), 2);
    all_shared_back(f);
}

static void one_that_is_down_gets_nothing_through_the_switch(void **state)
{
    (void)state;
    struct nof_fabric *f = make_shared(NULL);
    nof_fabric_set_up(f, 2, false);
    assert_int_equal(send_shared(f, 0, 2, 2), 2);
    assert_int_equal(fetch(f, 0, 1), 0);
    assert_int_equal(fetch(f, 2, 1), 0);
    assert_int_equal(nof_fabric_stats(f, 2)->drop_down, 2);
    nof_fabric_set_up(f, 2, true);
    assert_int_equal(send_shared(f, 0, 2, 1), 1);
    assert_int_equal(fetch(f, 2, 1), 1);
    all_shared_back(f);
}

static void groups_are_told_to_the_switch(void **state)
{
    (void)state;
    static const uint8_t mac[6] = {1, 0, 0x5e, 1, 2, 3};
    struct nof_fabric_link link = {.multicast = NOF_FABRIC_SNOOP};
    struct nof_fabric *f = make_shared(&link);
    const struct nof_port_ops *ops = nof_fabric_ops(f);
    for (unsigned round = 0; round < 3; round++) {
        struct nof_frame *frame = ops->frame_alloc(nof_fabric_port(f, 0), 100);
        memcpy(frame->data, mac, 6);
        if (round == 1) /* twice is one */
            for (unsigned times = 0; times < 2; times++)
                assert_int_equal(ops->group(nof_fabric_port(f, 2), 0xe0010203, mac, true), NOF_OK);
        if (round == 2)
            for (unsigned times = 0; times < 2; times++)
                assert_int_equal(ops->group(nof_fabric_port(f, 2), 0xe0010203, mac, false), NOF_OK);
        assert_int_equal(ops->send(nof_fabric_port(f, 0), &frame, 1), 1);
        ops->frame_free(nof_fabric_port(f, 0), frame);
        assert_int_equal(fetch(f, 0, 1), 0);
        assert_int_equal(fetch(f, 2, 1), round == 1);
        assert_int_equal(fetch(f, 3, 1), 0);
    }
    all_shared_back(f);
}

static int group(struct nof_fabric *f, unsigned port, uint8_t id, bool join)
{
    const uint8_t mac[6] = {1, 0, 0x5e, 1, 2, id};
    return nof_fabric_ops(f)->group(nof_fabric_port(f, port), 0xe0010200u + id, mac, join);
}

/* Answers how many of a group's frame, which port 0 sends, port 2 gets. */
static unsigned hears_group(struct nof_fabric *f, uint8_t id, uint64_t *now_ns)
{
    const struct nof_port_ops *ops = nof_fabric_ops(f);
    const uint8_t mac[6] = {1, 0, 0x5e, 1, 2, id};
    struct nof_frame *frame = ops->frame_alloc(nof_fabric_port(f, 0), 100);
    assert_non_null(frame);
    memcpy(frame->data, mac, 6);
    assert_int_equal(ops->send(nof_fabric_port(f, 0), &frame, 1), 1);
    ops->frame_free(nof_fabric_port(f, 0), frame);
    for (unsigned i = 0; i < 2; i++)
        fetch(f, 0, *now_ns += 100);
    return fetch(f, 2, *now_ns);
}

static void a_leave_that_finds_no_room_is_told_later(void **state)
{
    (void)state;
    struct nof_fabric_link link = {.multicast = NOF_FABRIC_SNOOP, .delay_ns = 10};
    struct nof_fabric *f = make_shared(&link);
    uint64_t now_ns = 0;
    for (uint8_t id = 0; id < NOF_FABRIC_GROUPS_MAX + 8; id++) {
        assert_int_equal(group(f, 2, id, true), NOF_OK);
        assert_int_equal(hears_group(f, id, &now_ns), 1);
        assert_int_equal(send_shared(f, 3, 1, SHARED_QUEUE), SHARED_QUEUE); /* the ring is full */
        assert_int_equal(group(f, 2, id, false), NOF_OK);
        assert_int_equal(group(f, 2, id, false), NOF_OK); /* once too often */
        assert_int_equal(group(f, 2, 200, true), NOF_ENOMEM);
        fetch(f, 0, now_ns += 100);
        fetch(f, 0, now_ns += 100);
        fetch(f, 1, now_ns);
        if (id % 2 != 0)
            continue; /* the next join tells it; else: */
        woken[0] = 0;
        fetch(f, 2, now_ns);
        assert_int_equal(woken[0], 2); /* two groups */
        assert_int_equal(hears_group(f, id, &now_ns), 0);
    }
    assert_int_equal(group(f, 2, 200, true), NOF_OK);
    assert_int_equal(hears_group(f, 200, &now_ns), 1);
    all_shared_back(f);
}

static void what_is_too_much_for_the_switch_is_counted(void **state)
{
    (void)state;
    struct nof_fabric_link link = {.delay_ns = 1000000, .duplicate_ppm = NOF_FABRIC_PPM};
    struct nof_fabric *f = make_shared(&link);
    for (unsigned i = 0; i < 5; i++) { /* four ports have four queues' room under way */
        assert_int_equal(send_shared(f, 3, 1, SHARED_QUEUE), SHARED_QUEUE);
        assert_int_equal(fetch(f, 0, 1), 0);
    }
    assert_int_equal(nof_fabric_stats(f, 3)->drop_queue, SHARED_QUEUE);
    assert_int_equal(fetch(f, 0, 1000001), 0);
    assert_int_equal(fetch(f, 0, 2000001), 0);
    assert_int_equal(fetch(f, 1, 2000001), SHARED_QUEUE);
    /* Copies of four queues' frames had no room on their way to the port, three queues' frames none in its ring. */
    assert_int_equal(nof_fabric_stats(f, 1)->drop_queue, (4 + 3) * SHARED_QUEUE);
    all_shared_back(f);
}

static void cores_are_as_many_on_each_nic(void **state)
{
    (void)state;
    struct nof_fabric_config cfg = {.nports = PORTS, .cores = 2, .shared = true, .mac = macs};
    struct nof_fabric *f = NULL;
    assert_int_equal(nof_fabric_create(&cfg, &f), NOF_EINVAL);
    cfg.cores = 3;
    cfg.shared = false;
    assert_int_equal(nof_fabric_create(&cfg, &f), NOF_EINVAL);
    cfg.shared = true;
    assert_int_equal(nof_fabric_create(&cfg, &f), NOF_OK);
    nof_fabric_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_lent_not_copied),
        cmocka_unit_test(an_empty_pool_gives_no_frame),
        cmocka_unit_test(addresses_decide_who_gets_a_frame),
        cmocka_unit_test(rate_and_delay_of_both_links_add_up),
        cmocka_unit_test(a_full_buffer_drops_the_tail),
        cmocka_unit_test(a_slow_link_pushes_back_on_its_sender),
        cmocka_unit_test(losses_follow_the_seed),
        cmocka_unit_test(corruption_leaves_the_senders_bytes_alone),
        cmocka_unit_test(duplicates_and_late_frames_arrive),
        cmocka_unit_test(nothing_passes_a_partition_or_a_port_that_is_down),
        cmocka_unit_test(switches_have_one_link_to_each_other),
        cmocka_unit_test(bad_configurations_are_refused),
        cmocka_unit_test(a_full_ring_drops_and_counts),
        cmocka_unit_test(of_another_thread_s_frames_a_part_is_fetched_at_once),
        cmocka_unit_test(frames_that_come_back_are_used_again),
        cmocka_unit_test(what_is_not_straight_goes_through_the_switch_of_the_first_port),
        cmocka_unit_test(cores_of_a_nic_reach_each_other_past_the_switch),
        cmocka_unit_test(one_that_is_down_gets_nothing_through_the_switch),
        cmocka_unit_test(groups_are_told_to_the_switch),
        cmocka_unit_test(a_leave_that_finds_no_room_is_told_later),
        cmocka_unit_test(what_is_too_much_for_the_switch_is_counted),
        cmocka_unit_test(cores_are_as_many_on_each_nic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

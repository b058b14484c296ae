/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several cores of a DPDK port on net_ring: frames reach the core that their UDP port names, whichever queue they come on and
 * whoever sends; a core that does not look costs others nothing; no frame is lost to the pools. One thread: tests/ipc/cores_dpdk.c
 * has as many as cores. */
#define ALLOW_EXPERIMENTAL_API /* of the events of devices */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_ring.h>

#include "nof/status.h"

#include "port/dpdk/dpdk_port.h"

#define CORES 4u
#define IP 0x0a000001u
#define BASE 48620u
#define VLAN 0x100u /* a kind of frame: the port's number with this has a tag */
#define FRAME_BYTES 200u
#define RING 64u /* frames between two queues of the device */

static struct nof_dpdk_port *port;
static struct nof_dpdk_queue *core[CORES];
static unsigned woken[CORES];

static void wake(void *arg)
{
    ++*(unsigned *)arg;
}

static void put_be16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

/* A frame to this UDP port; of somebody else's address, or ours. */
static struct nof_frame *frame_to(unsigned from, unsigned udp_port, bool ours, uint8_t fill)
{
    struct nof_frame *f = nof_dpdk_cores_port_ops.frame_alloc(core[from], FRAME_BYTES);
    uint8_t *ip;

    assert_non_null(f);
    memset(f->data, fill, FRAME_BYTES);
    memcpy(f->data, nof_dpdk_port_info(port)->mac, 6);
    f->data[5] = (uint8_t)(f->data[5] ^ !ours);
    ip = f->data + 14;
    if (udp_port & VLAN << 16) {
        put_be16(ip - 2, 0x8100);
        ip += 4;
    }
    put_be16(ip - 2, 0x0800);
    ip[0] = 0x45;
    ip[9] = 17;
    put_be16(ip + 22, udp_port);
    f->len_bytes = FRAME_BYTES;
    return f;
}

static unsigned send_from(unsigned from, struct nof_frame *f)
{
    unsigned n = nof_dpdk_cores_port_ops.send(core[from], &f, 1);

    nof_dpdk_cores_port_ops.frame_free(core[from], f);
    return n;
}

static void flush_all(void)
{
    for (unsigned i = 0; i < CORES; i++)
        nof_dpdk_queue_flush(core[i], 0);
}

/* Frames that a core gets now; all of them must have this fill. */
static unsigned got(unsigned at, uint8_t fill)
{
    struct nof_frame *frames[NOF_DPDK_BURST_MAX];
    unsigned n = nof_dpdk_queue_rx(core[at], frames, NOF_DPDK_BURST_MAX);

    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(frames[i]->len_bytes, FRAME_BYTES);
        assert_int_equal(frames[i]->data[FRAME_BYTES - 1], fill);
    }
    nof_dpdk_queue_rx_done(core[at], frames, n);
    return n;
}

/* All cores, until nothing moves any more: what each got. */
static void settle(uint8_t fill, unsigned n[CORES])
{
    memset(n, 0, CORES * sizeof(n[0]));
    for (unsigned round = 0; round < 4; round++) {
        flush_all();
        for (unsigned i = 0; i < CORES; i++)
            n[i] += got(i, fill);
    }
}

static uint64_t counted(enum nof_dpdk_counter counter)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < CORES; i++)
        sum += nof_dpdk_queue_counter(core[i], counter);
    return sum;
}

static uint32_t frames_free(void)
{
    struct nof_dpdk_queue_stats stats;
    uint32_t n = 0;

    for (unsigned i = 0; i < CORES; i++) {
        (void)got(i, 0); /* what others gave back is collected */
        nof_dpdk_queue_stats(core[i], &stats);
        n += stats.frames_free;
    }
    return n;
}

/* From every core, by the device. */
static void a_frame_reaches_the_core_that_its_port_names(void **state)
{
    uint32_t before = frames_free();
    unsigned n[CORES];

    (void)state;
    for (unsigned from = 0; from < CORES; from++)
        for (unsigned to = 0; to < CORES; to++) {
            uint8_t fill = (uint8_t)(1 + from * CORES + to);

            assert_int_equal(send_from(from, frame_to(from, BASE + to, false, fill)), 1);
            assert_int_equal(send_from(from, frame_to(from, (BASE + to) | VLAN << 16, false, fill)), 1);
            settle(fill, n);
            for (unsigned i = 0; i < CORES; i++)
                assert_int_equal(n[i], i == to ? 2 : 0);
        }
    assert_int_equal(frames_free(), before);
    assert_int_equal(counted(NOF_DPDK_DROP_QUEUE), 0);
}

static void what_is_for_no_core_stays_where_it_came(void **state)
{
    struct nof_frame *arp = frame_to(0, BASE, false, 5);
    unsigned n[CORES], at = 1 % nof_dpdk_port_info(port)->nqueues;

    (void)state;
    arp->data[12] = 0x86; /* another protocol */
    assert_int_equal(send_from(0, arp), 1);
    assert_int_equal(send_from(0, frame_to(0, BASE + CORES, false, 5)), 1);
    assert_int_equal(send_from(0, frame_to(0, BASE - 1, false, 5)), 1);
    settle(5, n);
    for (unsigned i = 0; i < CORES; i++)
        assert_int_equal(n[i], i == at ? 3 : 0);
}

/* Past the device, and whether that is plugged in or not. */
static void cores_reach_each_other_past_the_device(void **state)
{
    struct nof_dpdk_queue_stats before, after;
    struct nof_frame *frames[NOF_DPDK_BURST_MAX], *f;
    unsigned n[CORES];

    (void)state;
    nof_dpdk_queue_stats(core[0], &before);
    for (unsigned i = 0; i < CORES; i++)
        nof_dpdk_queue_unplug(core[i], true);
    assert_int_equal(send_from(0, frame_to(0, BASE + 1, false, 8)), 1); /* goes, and does not come */
    settle(0, n);
    assert_int_equal(n[0] + n[1] + n[2] + n[3], 0);
    for (unsigned i = 0; i < CORES; i++)
        assert_int_equal(nof_dpdk_queue_sleep(core[i]), 1);
    memset(woken, 0, sizeof(woken));
    f = frame_to(3, BASE + 1, true, 9);
    assert_int_equal(nof_dpdk_cores_port_ops.send(core[3], &f, 1), 1);
    assert_int_equal(woken[1], 1);
    assert_int_equal(nof_dpdk_queue_sleep(core[1]), 0);
    assert_int_equal(nof_dpdk_queue_rx(core[1], frames, NOF_DPDK_BURST_MAX), 1);
    assert_ptr_equal(frames[0], f); /* the frame itself, whose sender has it still */
    nof_dpdk_queue_rx_done(core[1], frames, 1);
    assert_int_equal(f->data[FRAME_BYTES - 1], 9);
    nof_dpdk_cores_port_ops.frame_free(core[3], f);
    for (unsigned i = 0; i < CORES; i++)
        nof_dpdk_queue_unplug(core[i], false);
    nof_dpdk_queue_stats(core[0], &after);
    assert_int_equal(after.tx_frames, before.tx_frames + 1);
}

/* A core that does not look any more: its ring is full, which is counted; the others' frames pass, and no pool runs dry. */
static void a_core_that_has_died_costs_its_own_frames_alone(void **state)
{
    uint32_t before = frames_free();
    uint64_t dropped = counted(NOF_DPDK_DROP_QUEUE), handed = counted(NOF_DPDK_HANDED);
    unsigned sent = 0, came = 0, n[CORES];

    (void)state;
    for (unsigned round = 0; round < 20000 / 8; round++) {
        for (unsigned k = 0; k < 8; k++)
            sent += send_from(1, frame_to(1, BASE + 3, k % 2 == 0, 3));
        assert_int_equal(send_from(0, frame_to(0, BASE + 1, false, 4)), 1);
        for (unsigned i = 0; i < 3; i++)
            nof_dpdk_queue_flush(core[i], 0);
        for (unsigned i = 0; i < 6; i++) {
            unsigned some = got(i % 3, 4);

            came += some;
            assert_true(some == 0 || i % 3 == 1);
        }
    }
    assert_int_equal(sent, 20000);
    assert_int_equal(came, 20000 / 8);
    dropped = counted(NOF_DPDK_DROP_QUEUE) - dropped;
    handed = counted(NOF_DPDK_HANDED) - handed;
    assert_true(dropped > 10000);
    assert_true(dropped + handed >= sent);
    settle(3, n);
    while (n[3] > 0) /* it looks again after all */
        settle(3, n);
    assert_int_equal(frames_free(), before);
}

/* The core that has the queue does not get round to sending: the others are told that no more goes, and lose nothing. */
static void who_sends_through_another_core_is_told_when_that_is_full(void **state)
{
    uint32_t before = frames_free();
    unsigned sent = 0, came = 0, n[CORES];

    (void)state;
    if (nof_dpdk_port_info(port)->nqueues == CORES)
        return;
    while (send_from(3, frame_to(3, BASE, false, 6)) == 1)
        sent++;
    assert_true(sent >= 64 && sent < 5000);
    do {
        settle(6, n);
        came += n[0];
    } while (n[0] > 0);
    assert_int_equal(came, sent);
    assert_int_equal(frames_free(), before);
}

/* Of two cores without a queue one sends in bulk; an acknowledgement of the other still goes, and soon. */
static void one_that_sends_in_bulk_does_not_hold_up_another(void **state)
{
    uint32_t before = frames_free();
    struct nof_frame *frames[NOF_DPDK_BURST_MAX];
    unsigned n = 0, at = 0, came[CORES];

    (void)state;
    if (nof_dpdk_port_info(port)->nqueues != 1)
        return;
    while (send_from(3, frame_to(3, BASE, false, 6)) == 1)
        continue;
    assert_int_equal(send_from(2, frame_to(2, BASE, false, 7)), 1);
    assert_true(nof_dpdk_queue_flush(core[0], 0) > 0); /* others' frames are work */
    n = nof_dpdk_queue_rx(core[0], frames, NOF_DPDK_BURST_MAX);
    while (at < n && frames[at]->data[FRAME_BYTES - 1] != 7)
        at++;
    assert_in_range(at, 0, 2); /* in turn, not behind the bulk */
    nof_dpdk_queue_rx_done(core[0], frames, n);
    do
        settle(6, came);
    while (came[0] > 0);
    assert_int_equal(nof_dpdk_queue_flush(core[0], 0), 0);
    assert_int_equal(frames_free(), before);
}

static void what_is_handed_over_is_work_once(void **state)
{
    unsigned at = 1 % nof_dpdk_port_info(port)->nqueues, to = (at + 1) % CORES;

    (void)state;
    (void)nof_dpdk_queue_flush(core[at], 0);
    assert_int_equal(send_from(0, frame_to(0, BASE + to, false, 5)), 1);
    (void)nof_dpdk_queue_flush(core[0], 0);
    assert_int_equal(got(at, 5), 0);
    assert_int_equal(nof_dpdk_queue_flush(core[at], 0), 1);
    assert_int_equal(nof_dpdk_queue_flush(core[at], 0), 0);
    assert_int_equal(got(to, 5), 1);
}

/* The frames that one waits for come first to another, as it may be. */
static void none_is_quiet_while_another_waits(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CORES; i++)
        (void)nof_dpdk_queue_quiet(core[i], true);
    assert_true(nof_dpdk_queue_quiet(core[0], true));
    assert_int_equal(send_from(1, frame_to(1, BASE, true, 5)), 1);
    assert_false(nof_dpdk_queue_quiet(core[0], true));
    assert_false(nof_dpdk_queue_quiet(core[1], false));
    assert_false(nof_dpdk_queue_quiet(core[0], true));
    assert_true(nof_dpdk_queue_quiet(core[1], true));
    assert_true(nof_dpdk_queue_quiet(core[0], true));
    assert_int_equal(got(0, 5), 1);
}

static uint64_t without_a_frame(unsigned at)
{
    struct nof_dpdk_queue_stats stats;

    nof_dpdk_queue_stats(core[at], &stats);
    return stats.no_frames;
}

static void a_pool_that_is_empty_is_counted_once_and_one_that_is_not_never(void **state)
{
    uint64_t before = without_a_frame(1);
    struct nof_dpdk_queue_stats stats;
    struct nof_frame **frames, *f;
    unsigned n = 0;

    (void)state;
    nof_dpdk_queue_stats(core[1], &stats);
    frames = calloc(stats.frames_total, sizeof(frames[0]));
    assert_non_null(frames);
    while ((f = nof_dpdk_cores_port_ops.frame_alloc(core[1], FRAME_BYTES)) != NULL)
        frames[n++] = f;
    assert_int_equal(without_a_frame(1), before + 1);
    nof_dpdk_cores_port_ops.frame_free(core[0],
                                       frames[--n]); /* another lets go of it, and so it comes back */
    f = nof_dpdk_cores_port_ops.frame_alloc(core[1], FRAME_BYTES);
    assert_non_null(f);
    frames[n++] = f;
    assert_int_equal(without_a_frame(1), before + 1);
    while (n > 0)
        nof_dpdk_cores_port_ops.frame_free(core[1], frames[--n]);
    free(frames);
}

static void groups_need_a_port_with_one_core(void **state)
{
    const uint8_t mac[6] = {1, 0, 0x5e, 0, 0, 1};

    (void)state;
    assert_int_equal(nof_dpdk_cores_port_ops.group(core[0], 0xe0000001u, mac, true), NOF_ENOTSUP);
}

/* Every core asks for itself, and only then is the device let go. The last test: the port stays so. */
static void a_device_goes_for_all_its_cores(void **state)
{
    char err[NOF_DPDK_ERROR_BYTES];
    uint32_t before = frames_free();
    unsigned lost;

    (void)state;
    rte_dev_event_callback_process(nof_dpdk_port_info(port)->device, RTE_DEV_EVENT_REMOVE);
    for (unsigned i = 0; i < CORES; i++) {
        assert_int_equal(nof_dpdk_port_release(port, err, sizeof(err)), NOF_EAGAIN);
        assert_true(nof_dpdk_queue_gone(core[i]));
    }
    lost = send_from(0, frame_to(0, BASE + 1, true, 1)) + send_from(3, frame_to(3, BASE, false, 1));
    assert_int_equal(lost, 2);
    assert_int_equal(frames_free(), before);
    assert_int_equal(nof_dpdk_port_release(port, err, sizeof(err)), NOF_OK);
}

static int start_eal(void)
{
    static char program[] = "port_cores", no_huge[] = "--no-huge", no_pci[] = "--no-pci";
    static char no_shconf[] = "--no-shconf", no_telemetry[] = "--no-telemetry", mem[] = "-m", mb[] = "192";
    static char lcores[] = "--lcores", map[] = "0@0", log[] = "--log-level=1";
    static char *argv[] = {program, no_huge, no_pci, no_shconf, no_telemetry, mem,
                           mb,      lcores,  map,    log,       NULL};
    static bool started;

    if (started)
        return 0;
    started = true;
    return rte_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv) < 0 ? -1 : 0;
}

/* devargs: an ethdev that is there, or one to make. */
static int open_port(const char *devargs, unsigned nqueues)
{
    struct nof_dpdk_port_config cfg = {.devargs = devargs, .core_frames = 1024, .ip4 = IP, .ncores = CORES};
    char err[NOF_DPDK_ERROR_BYTES];

    if (nof_dpdk_port_open(&cfg, &port, err, sizeof(err)) != NOF_OK) {
        print_error("%s\n", err);
        return -1;
    }
    if (nof_dpdk_port_info(port)->nqueues != nqueues || nof_dpdk_port_info(port)->ncores != CORES)
        return -1;
    for (unsigned i = 0; i < CORES; i++) {
        core[i] = nof_dpdk_port_queue(port, i);
        nof_dpdk_queue_on_arrival(core[i], wake, &woken[i]);
    }
    for (uint64_t now_ns = 0; now_ns < 4; now_ns++) { /* announcements go, and come back */
        nof_dpdk_queue_flush(core[0], now_ns << 40);
        for (unsigned i = 0; i < CORES; i++)
            (void)got(i, 0);
    }
    return 0;
}

/* A device that sends to itself; what went out on one queue comes in on the next. */
static int crossed_queues(unsigned n, const char *name)
{
    struct rte_ring *tx[CORES], *rx[CORES];
    char ring_name[32];

    if (start_eal() != 0)
        return -1;
    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(ring_name, sizeof(ring_name), "%s_%u", name, i);
        tx[i] = rte_ring_create(ring_name, RING, SOCKET_ID_ANY, 0);
        if (tx[i] == NULL)
            return -1;
        rx[(i + 1) % n] = tx[i];
    }
    if (rte_eth_from_rings(name, rx, n, tx, n, 0) < 0)
        return -1;
    (void)snprintf(ring_name, sizeof(ring_name), "net_ring_%s", name);
    return open_port(ring_name, n);
}

static int one_queue(void **state)
{
    (void)state;
    return crossed_queues(1, "one");
}

static int two_queues(void **state)
{
    (void)state;
    return crossed_queues(2, "two");
}

static int four_queues(void **state)
{
    (void)state;
    return crossed_queues(CORES, "four");
}

static int close_port(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CORES; i++)
        nof_dpdk_port_close(port);
    return 0;
}

static bool hash_refused;
static unsigned queues_taken = NOF_DPDK_QUEUES_MAX;

int __real_rte_eth_dev_configure(uint16_t port_id, uint16_t nrx, uint16_t ntx,
                                 const struct rte_eth_conf *conf);
int __wrap_rte_eth_dev_configure(uint16_t port_id, uint16_t nrx, uint16_t ntx,
                                 const struct rte_eth_conf *conf);

/* A driver that does not take all that it says of its device. */
int __wrap_rte_eth_dev_configure(uint16_t port_id, uint16_t nrx, uint16_t ntx,
                                 const struct rte_eth_conf *conf)
{
    if (nrx > queues_taken || (hash_refused && conf->rxmode.mq_mode == RTE_ETH_MQ_RX_RSS))
        return -EINVAL;
    return __real_rte_eth_dev_configure(port_id, nrx, ntx, conf);
}

static enum nof_dpdk_spread spread_of_null(unsigned nqueues)
{
    enum nof_dpdk_spread spread;

    assert_int_equal(open_port("net_null,no-rx=1", nqueues), 0);
    spread = nof_dpdk_port_info(port)->spread;
    (void)close_port(NULL);
    return spread;
}

static void a_driver_that_refuses_much_is_asked_for_less(void **state)
{
    (void)state;
    assert_int_equal(spread_of_null(CORES), NOF_DPDK_SPREAD_HASH);
    hash_refused = true;
    assert_int_equal(spread_of_null(CORES), NOF_DPDK_SPREAD_KERNEL);
    queues_taken = 1;
    assert_int_equal(spread_of_null(1), NOF_DPDK_SPREAD_FIRST);
    queues_taken = NOF_DPDK_QUEUES_MAX;
    hash_refused = false;
}

int main(void)
{
    const struct CMUnitTest refusing[] = {cmocka_unit_test(a_driver_that_refuses_much_is_asked_for_less)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_reaches_the_core_that_its_port_names),
        cmocka_unit_test(what_is_for_no_core_stays_where_it_came),
        cmocka_unit_test(cores_reach_each_other_past_the_device),
        cmocka_unit_test(a_core_that_has_died_costs_its_own_frames_alone),
        cmocka_unit_test(who_sends_through_another_core_is_told_when_that_is_full),
        cmocka_unit_test(one_that_sends_in_bulk_does_not_hold_up_another),
        cmocka_unit_test(what_is_handed_over_is_work_once),
        cmocka_unit_test(none_is_quiet_while_another_waits),
        cmocka_unit_test(a_pool_that_is_empty_is_counted_once_and_one_that_is_not_never),
        cmocka_unit_test(groups_need_a_port_with_one_core),
        cmocka_unit_test(a_device_goes_for_all_its_cores),
    };
    int failed = cmocka_run_group_tests(tests, one_queue, close_port);

    failed += cmocka_run_group_tests(tests, two_queues, close_port);
    failed += cmocka_run_group_tests(tests, four_queues, close_port);
    failed += cmocka_run_group_tests(refusing, NULL, NULL);
    return failed + (rte_eal_cleanup() < 0);
}

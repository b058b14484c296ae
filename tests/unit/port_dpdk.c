/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The DPDK port on net_ring, a virtual device whose transmit ring is its receive ring: ownership of
 * frames, ARP where no kernel answers, errors. Needs neither root nor hugepages. */
#define ALLOW_EXPERIMENTAL_API /* of the events of devices */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_interrupts.h>
#include <rte_pause.h>

#include "nof/status.h"

#include "port/dpdk/dpdk_port.h"
#include "port/dpdk/netif.h"
#include "port/dpdk/removal.h"

#define IP 0x0a000001u

static struct nof_dpdk_port *port;
static struct nof_dpdk_queue *q;

static struct nof_frame *new_frame(uint8_t fill, uint32_t len)
{
    struct nof_frame *frame = nof_dpdk_port_ops.frame_alloc(q, len);

    assert_non_null(frame);
    assert_true(frame->cap_bytes >= len);
    memset(frame->data, fill, len);
    frame->len_bytes = len;
    return frame;
}

static uint32_t frames_free(void)
{
    struct nof_dpdk_queue_stats stats;

    nof_dpdk_queue_stats(q, &stats);
    return stats.frames_free;
}

static void drain(void)
{
    struct nof_frame *frames[NOF_DPDK_BURST_MAX];
    unsigned n;

    nof_dpdk_queue_flush(q, 0);
    while ((n = nof_dpdk_queue_rx(q, frames, NOF_DPDK_BURST_MAX)) > 0)
        nof_dpdk_queue_rx_done(q, frames, n);
}

static void what_is_sent_comes_back_whole(void **state)
{
    struct nof_frame *frames[NOF_DPDK_BURST_MAX], *frame = new_frame(0x5a, 1514);

    (void)state;
    assert_int_equal(nof_dpdk_port_ops.send(q, &frame, 1), 1);
    nof_dpdk_port_ops.frame_free(q, frame);
    nof_dpdk_queue_flush(q, 0);
    assert_int_equal(nof_dpdk_queue_rx(q, frames, NOF_DPDK_BURST_MAX), 1);
    assert_int_equal(frames[0]->len_bytes, 1514);
    assert_int_equal(frames[0]->data[0], 0x5a);
    assert_int_equal(frames[0]->data[1513], 0x5a);
    nof_dpdk_queue_rx_done(q, frames, 1);
}

/* As the core does for a retransmission: the reference stays, the frame goes out again. */
static void a_frame_can_be_sent_again_while_it_is_under_way(void **state)
{
    struct nof_frame *frames[NOF_DPDK_BURST_MAX], *frame;
    uint32_t before;

    (void)state;
    before = frames_free();
    frame = new_frame(1, 100);
    assert_int_equal(nof_dpdk_port_ops.send(q, &frame, 1), 1);
    assert_int_equal(nof_dpdk_port_ops.send(q, &frame, 1), 1);
    nof_dpdk_queue_flush(q, 0);
    assert_int_equal(nof_dpdk_queue_rx(q, frames, NOF_DPDK_BURST_MAX), 2);
    assert_int_equal(frames[0]->data[50], 1);
    nof_dpdk_queue_rx_done(q, frames, 2);
    assert_int_equal(frame->data[50], 1); /* still the core's */
    assert_int_equal(frames_free(), before - 1);
    nof_dpdk_port_ops.frame_free(q, frame);
    assert_int_equal(frames_free(), before);
}

static void a_full_device_takes_fewer_and_loses_none(void **state)
{
    struct nof_frame *frame = new_frame(2, 64), *frames[NOF_DPDK_BURST_MAX];
    unsigned long sent = 0, received = 0;
    uint32_t before = frames_free();
    unsigned n;

    (void)state;
    while (nof_dpdk_port_ops.send(q, &frame, 1) == 1)
        sent++;
    assert_true(sent > 100 && sent < 100000);
    assert_int_equal(nof_dpdk_queue_sleep(q), 0); /* frames of ours still wait */
    do {
        n = nof_dpdk_queue_rx(q, frames, NOF_DPDK_BURST_MAX);
        received += n;
        nof_dpdk_queue_rx_done(q, frames, n);
        nof_dpdk_queue_flush(q, 0);
    } while (n > 0);
    assert_int_equal(received, sent);
    assert_int_equal(frames_free(), before);
    nof_dpdk_port_ops.frame_free(q, frame);
}

static void an_empty_pool_says_so(void **state)
{
    struct nof_dpdk_queue_stats stats;
    struct nof_frame **held;
    uint32_t n = 0;

    (void)state;
    nof_dpdk_queue_stats(q, &stats);
    held = calloc(stats.frames_total + 1, sizeof(*held));
    assert_non_null(held);
    while (n <= stats.frames_total && (held[n] = nof_dpdk_port_ops.frame_alloc(q, 64)) != NULL)
        n++;
    assert_true(n > 0 && n <= stats.frames_total);
    nof_dpdk_queue_stats(q, &stats);
    assert_int_equal(stats.no_frames, 1);
    while (n > 0)
        nof_dpdk_port_ops.frame_free(q, held[--n]);
    free(held);
    assert_null(nof_dpdk_port_ops.frame_alloc(q, 100000)); /* longer than any frame */
}

static void arp_is_answered_inside(void **state)
{
    static const uint8_t request[42] = {
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0,  0, 0, 0, 2, 8, 6, 0, 1, 8, 0,  6, 4, 0,
        1,    2,    0,    0,    0,    0,    2, 10, 0, 0, 2, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1,
    };
    struct nof_frame *frames[NOF_DPDK_BURST_MAX], *frame = new_frame(0, 60);
    struct nof_dpdk_queue_stats stats;

    (void)state;
    memcpy(frame->data, request, sizeof(request));
    assert_int_equal(nof_dpdk_port_ops.send(q, &frame, 1), 1);
    nof_dpdk_port_ops.frame_free(q, frame);
    nof_dpdk_queue_flush(q, 0);
    assert_int_equal(nof_dpdk_queue_rx(q, frames, NOF_DPDK_BURST_MAX), 0);
    nof_dpdk_queue_stats(q, &stats);
    assert_int_equal(stats.arp_replies, 1);
    drain(); /* the answer comes back on the ring and is swallowed as ARP */
}

static void what_cannot_be_opened_says_what_to_type(void **state)
{
    char err[NOF_DPDK_ERROR_BYTES];
    struct nof_dpdk_port *other = NULL;
    struct nof_dpdk_port_config cfg = {.devargs = "net_nosuch"};

    (void)state;
    assert_int_equal(nof_dpdk_port_open(&cfg, &other, err, sizeof(err)), NOF_ENOTSUP);
    assert_non_null(strstr(err, "net_nosuch"));
    cfg.devargs = "";
    assert_int_equal(nof_dpdk_port_open(&cfg, &other, err, sizeof(err)), NOF_EINVAL);
    assert_non_null(strstr(err, "net_af_xdp,iface="));
    cfg.devargs = "net_ring";
    cfg.mtu_bytes = 100;
    assert_int_equal(nof_dpdk_port_open(&cfg, &other, err, sizeof(err)), NOF_EINVAL);
    cfg.mtu_bytes = 1500;
    cfg.ncores = NOF_DPDK_QUEUES_MAX + 1;
    assert_int_equal(nof_dpdk_port_open(&cfg, &other, err, sizeof(err)), NOF_EINVAL);
    assert_null(other);
}

static struct nof_netif_facts facts;

int __wrap_nof_netif_facts(int fd, const char *ifname, struct nof_netif_facts *facts_out);

int __wrap_nof_netif_facts(int fd, const char *ifname, struct nof_netif_facts *facts_out)
{
    (void)fd;
    (void)ifname;
    *facts_out = facts;
    return 0;
}

static bool refused(const char *devargs, unsigned ncores, const char *what, const char *type)
{
    char err[NOF_DPDK_ERROR_BYTES] = "";
    struct nof_dpdk_port *other = NULL;
    struct nof_dpdk_port_config cfg = {.devargs = devargs, .ncores = ncores};
    int rc = nof_dpdk_port_open(&cfg, &other, err, sizeof(err));

    nof_dpdk_port_close(other);
    return rc == NOF_EINVAL && strstr(err, what) != NULL && strstr(err, type) != NULL;
}

/* Frames of queues that are open, or dealt to, and that no core reads would be lost, and nobody would say so. */
static void queues_that_no_core_would_read_are_refused(void **state)
{
    (void)state;
    facts = (struct nof_netif_facts){.ip4 = 0x0a000001, .mtu_bytes = 1500, .channels = 4, .pairs = 4};
    assert_true(
        refused("net_af_packet,iface=nof0,qpairs=4", 2, "qpairs=4 has the kernel deal", "--cores-per-nic 4"));
    assert_true(
        refused("net_af_xdp,iface=nof0,queue_count=1", 4, "queue_count=1 opens no more", "combined 1"));
    assert_true(
        refused("net_af_xdp,iface=nof0,queue_count=3", 4, "queue_count=3 opens no more", "combined 3"));
    assert_true(refused("net_af_xdp,iface=nof0", 2, "2 NIC core(s) would serve it", "combined 2"));
}

static void unplugged_it_gives_no_frame_and_keeps_none(void **state)
{
    struct nof_frame *frames[NOF_DPDK_BURST_MAX], *frame = new_frame(1, 100);
    uint32_t before = frames_free();

    (void)state;
    for (int unplugged = 1; unplugged >= 0; unplugged--) {
        nof_dpdk_queue_unplug(q, unplugged != 0);
        assert_int_equal(nof_dpdk_port_ops.send(q, &frame, 1), 1);
        nof_dpdk_queue_flush(q, 0);
        assert_int_equal(nof_dpdk_queue_rx(q, frames, NOF_DPDK_BURST_MAX), !unplugged);
        nof_dpdk_queue_rx_done(q, frames, !unplugged);
        assert_int_equal(frames_free(), before);
    }
    nof_dpdk_port_ops.frame_free(q, frame);
}

/* As VFIO does when somebody wants the device back: by DPDK's event. The last test: the port stays so. */
static void a_device_that_goes_takes_frames_along_and_leaks_none(void **state)
{
    uint32_t free_before = frames_free();
    struct nof_frame *frame = new_frame(1, 100);
    char err[NOF_DPDK_ERROR_BYTES];

    (void)state;
    assert_false(nof_dpdk_queue_gone(q));
    assert_int_equal(nof_dpdk_port_release(port, err, sizeof(err)),
                     NOF_EAGAIN); /* its core would go on asking it */
    rte_dev_event_callback_process("net_other", RTE_DEV_EVENT_REMOVE);
    assert_false(nof_dpdk_queue_gone(q));
    rte_dev_event_callback_process(nof_dpdk_port_info(port)->device, RTE_DEV_EVENT_REMOVE);
    assert_true(nof_dpdk_queue_gone(q));
    assert_int_equal(nof_dpdk_port_ops.send(q, &frame, 1), 1);
    nof_dpdk_port_ops.frame_free(q, frame);
    assert_int_equal(frames_free(), free_before);
    assert_true(nof_dpdk_port_ops.group(q, 0xe0000001u, (const uint8_t[6]){1, 0, 0x5e, 0, 0, 1}, true) < 0);
    assert_int_equal(nof_dpdk_port_release(port, err, sizeof(err)), NOF_OK);
}

static int open_port(void **state)
{
    char program[] = "port_dpdk", no_huge[] = "--no-huge", no_pci[] = "--no-pci";
    char no_shconf[] = "--no-shconf", no_telemetry[] = "--no-telemetry", mem[] = "-m", mb[] = "64";
    char lcores[] = "--lcores", map[] = "0@0", log[] = "--log-level=1";
    char *argv[] = {program, no_huge, no_pci, no_shconf, no_telemetry, mem, mb, lcores, map, log, NULL};
    struct nof_dpdk_port_config cfg = {.devargs = "net_ring", .core_frames = 2048, .ip4 = IP};
    char err[NOF_DPDK_ERROR_BYTES];

    (void)state;
    if (rte_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv) < 0)
        return -1;
    if (nof_dpdk_port_open(&cfg, &port, err, sizeof(err)) != NOF_OK) {
        print_error("%s\n", err);
        return -1;
    }
    q = nof_dpdk_port_queue(port, 0);
    drain(); /* announcements */
    nof_dpdk_queue_flush(q, UINT64_MAX / 2);
    drain();
    return 0;
}

static int close_port(void **state)
{
    (void)state;
    nof_dpdk_port_close(port);
    return rte_eal_cleanup();
}

static bool handler_entered, handler_left;

static void slow_handler(void *arg)
{
    const struct timespec nap = {.tv_nsec = 50000000};
    uint64_t count;

    (void)!read(*(int *)arg, &count, sizeof(count));
    __atomic_store_n(&handler_entered, true, __ATOMIC_RELEASE);
    (void)nanosleep(&nap, NULL);
    __atomic_store_n(&handler_left, true, __ATOMIC_RELEASE);
}

/* As VFIO's, of the device that is let go. */
static void a_device_is_let_go_when_no_handler_speaks_of_it(void **state)
{
    struct rte_intr_handle *handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    uint64_t one = 1;

    (void)state;
    assert_non_null(handle);
    assert_int_equal(rte_intr_fd_set(handle, fd), 0);
    assert_int_equal(rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT), 0);
    assert_int_equal(rte_intr_callback_register(handle, slow_handler, &fd), 0);
    assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
    while (!__atomic_load_n(&handler_entered, __ATOMIC_ACQUIRE))
        rte_pause();
    nof_port_removal_settle();
    assert_true(__atomic_load_n(&handler_left, __ATOMIC_ACQUIRE));
    assert_int_equal(rte_intr_callback_unregister(handle, slow_handler, &fd), 1);
    rte_intr_instance_free(handle);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sent_comes_back_whole),
        cmocka_unit_test(a_frame_can_be_sent_again_while_it_is_under_way),
        cmocka_unit_test(a_full_device_takes_fewer_and_loses_none),
        cmocka_unit_test(an_empty_pool_says_so),
        cmocka_unit_test(arp_is_answered_inside),
        cmocka_unit_test(what_cannot_be_opened_says_what_to_type),
        cmocka_unit_test(queues_that_no_core_would_read_are_refused),
        cmocka_unit_test(unplugged_it_gives_no_frame_and_keeps_none),
        cmocka_unit_test(a_device_that_goes_takes_frames_along_and_leaks_none),
        cmocka_unit_test(a_device_is_let_go_when_no_handler_speaks_of_it),
    };

    return cmocka_run_group_tests(tests, open_port, close_port);
}

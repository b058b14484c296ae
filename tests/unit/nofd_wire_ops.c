/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One table for all kinds of ports: a real fabric, real sockets, and a DPDK port that is a stand-in. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "nof/status.h"

#include "nofd/core/wire_ops.h"

static const uint8_t macs[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};

/* The DPDK port: one queue. */
static struct nof_dpdk_port_info info;
static int open_says, device_up, wait_fd, opened, frames_waiting, frames_lent, flushes, armed;
static bool interrupted;
static struct nof_frame frame;
#define NOFD_TEST_CORES 3u

static char place, places[NOFD_TEST_CORES]; /* of the port and its queues */
static bool told_unplugged, others_busy;

const struct nof_port_ops nof_dpdk_port_ops;
static uint64_t guarded_nic;

int nof_dpdk_port_open(const struct nof_dpdk_port_config *cfg, struct nof_dpdk_port **port_out, char *err,
                       size_t err_bytes)
{
    (void)cfg;
    if (open_says != 0) {
        snprintf(err, err_bytes, "no such port");
        return open_says;
    }
    opened++;
    *port_out = (struct nof_dpdk_port *)(void *)&place;
    return 0;
}

void nof_dpdk_port_close(struct nof_dpdk_port *port)
{
    assert_ptr_equal(port, &place);
    opened--;
}

const struct nof_dpdk_port_info *nof_dpdk_port_info(const struct nof_dpdk_port *port)
{
    (void)port;
    return &info;
}

struct nof_dpdk_queue *nof_dpdk_port_queue(struct nof_dpdk_port *port, unsigned queue)
{
    (void)port;
    assert_in_range(queue, 0, NOFD_TEST_CORES - 1);
    return (struct nof_dpdk_queue *)(void *)&places[queue];
}

int nof_dpdk_queue_wait_fd(const struct nof_dpdk_queue *q)
{
    (void)q;
    return wait_fd;
}

uint64_t nof_dpdk_port_rate(const struct nof_dpdk_port *port)
{
    (void)port;
    return info.rate_bps;
}

bool nof_dpdk_queue_naps(const struct nof_dpdk_queue *q)
{
    (void)q;
    return wait_fd < 0;
}

void nof_dpdk_queue_unplug(struct nof_dpdk_queue *q, bool unplugged)
{
    (void)q;
    told_unplugged = unplugged;
}

void nof_dpdk_queue_on_arrival(struct nof_dpdk_queue *q, void (*wake)(void *arg), void *arg)
{
    (void)q;
    wake(arg);
}

const struct nof_port_ops nof_dpdk_cores_port_ops;

int nof_dpdk_queue_link(struct nof_dpdk_queue *q, uint64_t now_ns)
{
    (void)q;
    (void)now_ns;
    return device_up;
}

int nof_dpdk_queue_guard(struct nof_dpdk_queue *q, uint64_t nic_id, uint32_t max_paths, int *errno_out)
{
    (void)q;
    guarded_nic = nic_id;
    assert_int_equal(max_paths, 99);
    *errno_out = nic_id == 1 ? EPERM : 0;
    return nic_id == 1 ? NOF_ENOTSUP : NOF_OK;
}

unsigned nof_dpdk_queue_rx(struct nof_dpdk_queue *q, struct nof_frame **frames, unsigned max)
{
    unsigned n = 0;

    (void)q;
    while (n < max && frames_waiting > 0) {
        frames[n++] = &frame;
        frames_waiting--;
        frames_lent++;
    }
    return n;
}

void nof_dpdk_queue_rx_done(struct nof_dpdk_queue *q, struct nof_frame *const *frames, unsigned n)
{
    (void)q;
    (void)frames;
    frames_lent -= (int)n;
}

unsigned nof_dpdk_queue_flush(struct nof_dpdk_queue *q, uint64_t now_ns)
{
    (void)q;
    assert_int_equal(now_ns, 77);
    flushes++;
    return 3;
}

int nof_dpdk_queue_sleep(struct nof_dpdk_queue *q)
{
    (void)q;
    armed = frames_waiting == 0;
    return armed;
}

void nof_dpdk_queue_wake(struct nof_dpdk_queue *q)
{
    (void)q;
    armed = 0;
}

bool nof_dpdk_queue_quiet(struct nof_dpdk_queue *q, bool quiet)
{
    (void)q;
    return quiet && !others_busy;
}

bool nof_dpdk_queue_wakes(const struct nof_dpdk_queue *q)
{
    (void)q;
    return interrupted;
}

static bool device_gone;
static unsigned releases;

bool nof_dpdk_queue_gone(struct nof_dpdk_queue *q)
{
    (void)q;
    return device_gone;
}

int nof_dpdk_port_release(struct nof_dpdk_port *port, char *why, size_t why_bytes)
{
    assert_ptr_equal(port, &place);
    assert_true(why_bytes > 0);
    why[0] = '\0';
    releases++;
    return NOF_OK;
}

static struct nofd_wire wire;
static char err[128];

static int start(void **state)
{
    (void)state;
    info = (struct nof_dpdk_port_info){.driver = "net_af_xdp",
                                       .device = "net_af_xdp0",
                                       .ifname = "eth0",
                                       .mac = {2, 1, 2, 3, 4, 5},
                                       .ip4 = 0x0a000001,
                                       .mtu_bytes = 9000,
                                       .ncores = 1,
                                       .rate_bps = 1000};
    open_says = opened = frames_waiting = frames_lent = flushes = armed = 0;
    device_up = 1;
    wait_fd = 12;
    return 0;
}

static void open_dpdk(void)
{
    struct nof_dpdk_port_config cfg = {.devargs = "eth0"};

    assert_int_equal(nofd_wire_open_dpdk(&wire, &cfg, err, sizeof(err)), 0);
}

static void a_dpdk_port_is_as_it_says(void **state)
{
    (void)state;
    open_dpdk();
    assert_memory_equal(wire.mac, info.mac, 6);
    assert_int_equal(wire.ip4, info.ip4);
    assert_int_equal(wire.mtu_bytes, 9000);
    assert_int_equal(wire.rate_bps, 1000);
    assert_string_equal(wire.kind, "net_af_xdp");
    assert_string_equal(wire.device_name, "eth0");
    assert_false(wire.simulated_host);
    assert_false(wire.naps);
    nofd_wire_close(&wire);
    nofd_wire_close(&wire); /* once only */
    assert_int_equal(opened, 0);
    info.ifname[0] = '\0';
    wait_fd = -1;
    open_dpdk();
    assert_string_equal(wire.device_name, "net_af_xdp0");
    assert_true(wire.naps); /* nothing wakes it */
    nofd_wire_close(&wire);
}

static void a_port_that_cannot_be_opened_says_why(void **state)
{
    struct nof_dpdk_port_config cfg = {.devargs = "eth9"};

    (void)state;
    open_says = NOF_ENOTSUP;
    assert_int_equal(nofd_wire_open_dpdk(&wire, &cfg, err, sizeof(err)), NOF_ENOTSUP);
    assert_string_equal(err, "no such port");
}

static void unplugged_its_link_is_down_and_the_port_hears_it(void **state)
{
    (void)state;
    open_dpdk();
    assert_true(wire.ops->link(&wire, 1));
    assert_true(wire.ops->set_link(&wire, false));
    assert_false(wire.ops->link(&wire, 1));
    assert_true(told_unplugged);
    assert_true(wire.ops->set_link(&wire, true));
    assert_false(told_unplugged);
    assert_true(wire.ops->link(&wire, 1));
    device_up = 0;
    assert_false(wire.ops->link(&wire, 1)); /* nor when the cable is out */
    nofd_wire_close(&wire);
}

static void a_dpdk_port_is_told_whom_it_stands_for(void **state)
{
    int error = -1;

    (void)state;
    open_dpdk();
    assert_int_equal(wire.ops->guard(&wire, 4711, 99, &error), NOF_OK);
    assert_int_equal(guarded_nic, 4711);
    assert_int_equal(error, 0);
    assert_int_equal(wire.ops->guard(&wire, 1, 99, &error), NOF_ENOTSUP);
    assert_int_equal(error, EPERM); /* the kernel's own reason */
    nofd_wire_close(&wire);
}

static void the_rate_is_that_of_the_link_that_came_up(void **state)
{
    (void)state;
    open_dpdk();
    assert_true(wire.ops->link(&wire, 1));
    assert_int_equal(wire.rate_bps, 1000);
    info.rate_bps = 2000;
    assert_true(wire.ops->link(&wire, 1));
    assert_int_equal(wire.rate_bps, 2000);
    nofd_wire_close(&wire);
}

static void told(void *arg)
{
    (*(unsigned *)arg)++;
}

static void each_core_of_a_dpdk_port_has_its_wire(void **state)
{
    struct nof_dpdk_port_config cfg = {.devargs = "eth0", .ncores = NOFD_TEST_CORES};
    struct nofd_wire wires[NOFD_TEST_CORES];
    unsigned wakes = 0;

    (void)state;
    info.ncores = NOFD_TEST_CORES;
    info.rate_bps = 10000;
    assert_int_equal(nofd_wire_open_dpdk(wires, &cfg, err, sizeof(err)), 0);
    for (unsigned i = 0; i < NOFD_TEST_CORES; i++) {
        assert_int_equal(wires[i].core, i);
        assert_int_equal(wires[i].ncores, NOFD_TEST_CORES);
        assert_ptr_equal(wires[i].port, &places[i]);
        assert_ptr_equal(wires[i].port_ops, &nof_dpdk_cores_port_ops);
        assert_int_equal(wires[i].rate_bps, 3334);
        assert_memory_equal(wires[i].mac, info.mac, 6);
        wires[i].ops->on_arrival(&wires[i], told, &wakes);
    }
    assert_int_equal(wakes, NOFD_TEST_CORES);
    info.rate_bps = 1;
    assert_true(wires[2].ops->link(&wires[2], 1));
    assert_int_equal(wires[2].rate_bps, 1); /* 0 would be no bound */
    for (unsigned i = 0; i < NOFD_TEST_CORES; i++)
        nofd_wire_close(&wires[i]); /* each of them, and the port knows which is the last */
    assert_int_equal(opened, 1 - (int)NOFD_TEST_CORES);
}

static void an_interrupt_is_believed_when_it_has_come(void **state)
{
    (void)state;
    open_dpdk();
    interrupted = false;
    assert_false(wire.ops->wakes(&wire));
    interrupted = true;
    assert_true(wire.ops->wakes(&wire));
    nofd_wire_close(&wire);
}

static void a_dpdk_port_is_armed_for_a_sleep_and_flushed(void **state)
{
    (void)state;
    open_dpdk();
    assert_int_equal(wire.ops->deadline(&wire), UINT64_MAX);
    assert_int_equal(wire.ops->flush(&wire, 77), 3);
    assert_int_equal(flushes, 1);
    assert_true(wire.ops->quiet(&wire, true));
    assert_false(wire.ops->quiet(&wire, false));
    others_busy = true;
    assert_false(wire.ops->quiet(&wire, true));
    others_busy = false;
    assert_true(wire.ops->sleep(&wire));
    assert_int_equal(armed, 1);
    wire.ops->wake(&wire);
    assert_int_equal(armed, 0);
    frames_waiting = 1;
    assert_false(wire.ops->sleep(&wire));
    nofd_wire_close(&wire);
}

static void a_device_that_has_gone_is_asked_for_nothing_any_more(void **state)
{
    struct nof_frame *frames[NOFD_RX_BURST];

    (void)state;
    open_dpdk();
    device_gone = false;
    assert_false(wire.ops->gone(&wire));
    device_gone = true;
    frames_waiting = 5;
    assert_int_equal(wire.ops->rx(&wire, 1, frames, NOFD_RX_BURST), 5); /* lent before */
    assert_true(wire.ops->gone(&wire));
    wire.ops->rx_done(&wire, frames, 5);
    assert_int_equal(frames_lent, 0);
    frames_waiting = 5;
    flushes = 0;
    assert_int_equal(wire.ops->rx(&wire, 1, frames, NOFD_RX_BURST), 0);
    wire.ops->flush(&wire, 77);
    assert_int_equal(frames_waiting, 5);
    assert_int_equal(flushes, 0);
    assert_true(wire.ops->sleep(&wire));
    wire.ops->wake(&wire);
    assert_int_equal(wire.wait_fd, -1);
    assert_false(wire.ops->link(&wire, 1)); /* whatever the device says */
    assert_false(wire.ops->set_link(&wire, true));
    releases = 0;
    assert_int_equal(wire.ops->release(&wire, err, sizeof(err)), NOF_OK);
    assert_int_equal(releases, 1);
    nofd_wire_close(&wire);
    assert_int_equal(opened, 0);
}

static struct nof_fabric *fabric(struct nofd_wire wires[2])
{
    struct nof_fabric_config cfg = {.nports = 2, .mac = macs, .pool_frames = 64};
    struct nof_fabric *f = NULL;

    assert_int_equal(nof_fabric_create(&cfg, &f), NOF_OK);
    for (unsigned i = 0; i < 2; i++)
        nofd_wire_open_fabric(&wires[i], f, i, macs[i], 0x0a000001 + i, 1500, 0);
    return f;
}

static void send_to_second(struct nofd_wire wires[2])
{
    struct nof_frame *f = wires[0].port_ops->frame_alloc(wires[0].port, 100);

    memset(f->data, 0, 100);
    memcpy(f->data, macs[1], 6);
    assert_int_equal(wires[0].port_ops->send(wires[0].port, &f, 1), 1);
    wires[0].port_ops->frame_free(wires[0].port, f);
}

static void frames_of_the_fabric_come_and_keep_awake(void **state)
{
    struct nofd_wire wires[2];
    struct nof_fabric *f = fabric(wires);
    struct nof_frame *frames[NOFD_RX_BURST];

    (void)state;
    assert_string_equal(wires[1].device_name, "switch port 1");
    assert_true(wires[1].simulated_host);
    assert_int_equal(wires[1].ops->deadline(&wires[1]), UINT64_MAX);
    assert_true(wires[1].ops->sleep(&wires[1]));
    send_to_second(wires);
    assert_int_equal(wires[1].ops->deadline(&wires[1]), 0);
    assert_false(wires[1].ops->sleep(&wires[1]));
    assert_true(wires[0].ops->sleep(&wires[0]));
    assert_int_equal(wires[1].ops->rx(&wires[1], 1, frames, NOFD_RX_BURST), 1);
    assert_int_equal(nof_fabric_pool_free(f, 0), 63);
    wires[1].ops->rx_done(&wires[1], frames, 1);
    assert_int_equal(nof_fabric_pool_free(f, 0), 64);
    for (unsigned i = 0; i < 2; i++)
        nofd_wire_close(&wires[i]);
    nof_fabric_destroy(f); /* not the wires' to close */
}

static void a_switch_port_is_unplugged_by_itself(void **state)
{
    struct nofd_wire wires[2];
    struct nof_fabric *f = fabric(wires);
    struct nof_frame *frames[NOFD_RX_BURST];

    (void)state;
    assert_true(wires[1].ops->set_link(&wires[1], false));
    assert_false(wires[1].ops->link(&wires[1], 1));
    assert_true(wires[0].ops->link(&wires[0], 1));
    send_to_second(wires);
    assert_int_equal(wires[1].ops->rx(&wires[1], 1, frames, NOFD_RX_BURST), 0);
    assert_true(wires[1].ops->set_link(&wires[1], true));
    send_to_second(wires);
    assert_int_equal(wires[1].ops->rx(&wires[1], 2, frames, NOFD_RX_BURST), 1);
    wires[1].ops->rx_done(&wires[1], frames, 1);
    nof_fabric_destroy(f);
}

static void send_to(struct nofd_wire *from, const struct nofd_wire *to)
{
    struct nof_frame *f = from->port_ops->frame_alloc(from->port, 100);
    const uint8_t ip4[4] = {(uint8_t)(to->ip4 >> 24), (uint8_t)(to->ip4 >> 16), (uint8_t)(to->ip4 >> 8),
                            (uint8_t)to->ip4};

    memset(f->data, 0, 100);
    memcpy(f->data + 30, ip4, sizeof(ip4));
    f->data[46] = 3; /* version of the wire */
    f->data[36] = (uint8_t)(to->udp_port >> 8);
    f->data[37] = (uint8_t)to->udp_port;
    assert_int_equal(from->port_ops->send(from->port, &f, 1), 1);
    from->port_ops->frame_free(from->port, f);
    from->ops->flush(from, 77);
}

static unsigned comes(struct nofd_wire *of)
{
    struct pollfd p = {.fd = of->wait_fd, .events = POLLIN};
    struct nof_frame *frames[NOFD_RX_BURST];
    unsigned n;

    assert_int_equal(poll(&p, 1, 5000), 1);
    n = of->ops->rx(of, 1, frames, NOFD_RX_BURST);
    of->ops->rx_done(of, frames, n);
    return n;
}

static void a_udp_port_is_a_wire_too(void **state)
{
    struct nof_udp_port_config cfg = {.spec = "udp:127.0.3.1:0", .mtu_bytes = 1500};
    struct nofd_wire wires[2];

    (void)state;
    assert_int_equal(nofd_wire_open_udp(&wires[0], &cfg, err, sizeof(err)), 0);
    cfg.spec = "udp:127.0.3.2:0,rate=1g";
    assert_int_equal(nofd_wire_open_udp(&wires[1], &cfg, err, sizeof(err)), 0);
    cfg.spec = "udp:203.0.113.1";
    assert_int_equal(nofd_wire_open_udp(&wire, &cfg, err, sizeof(err)), NOF_ENOTSUP);
    assert_non_null(strstr(err, "no address of this host"));
    assert_string_equal(wires[1].kind, "udp");
    assert_memory_equal(wires[1].device_name, "lo:", 3);
    assert_int_equal(wires[1].ip4, 0x7f000302);
    assert_int_equal(wires[1].rate_bps, 1000000000);
    assert_int_not_equal(wires[1].udp_port, 0);
    assert_false(wires[1].naps || wires[1].simulated_host);
    assert_int_equal(wires[1].ops->deadline(&wires[1]), UINT64_MAX);
    assert_true(wires[1].ops->sleep(&wires[1]));
    send_to(&wires[0], &wires[1]);
    assert_int_equal(comes(&wires[1]), 1);
    wires[1].ops->wake(&wires[1]);
    for (unsigned i = 0; i < 2; i++)
        nofd_wire_close(&wires[i]);
}

static void an_unplugged_udp_port_hears_its_own_address_alone(void **state)
{
    struct nof_udp_port_config cfg[2] = {{.spec = "udp:127.0.3.1:0", .mtu_bytes = 1500},
                                         {.spec = "udp:127.0.3.2:0", .mtu_bytes = 1500}};
    struct nofd_wire wires[2];

    (void)state;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(nofd_wire_open_udp(&wires[i], &cfg[i], err, sizeof(err)), 0);
    assert_true(wires[1].ops->link(&wires[1], 1));
    assert_true(wires[1].ops->set_link(&wires[1], false));
    assert_false(wires[1].ops->link(&wires[1], 1));
    send_to(&wires[0], &wires[1]);
    assert_int_equal(comes(&wires[1]), 0);
    send_to(&wires[1], &wires[1]); /* as another core of this NIC does */
    assert_int_equal(comes(&wires[1]), 1);
    assert_true(wires[1].ops->set_link(&wires[1], true));
    assert_true(wires[1].ops->link(&wires[1], 1));
    send_to(&wires[0], &wires[1]);
    assert_int_equal(comes(&wires[1]), 1);
    for (unsigned i = 0; i < 2; i++)
        nofd_wire_close(&wires[i]);
}

#define EACH(test) cmocka_unit_test_setup(test, start)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_dpdk_port_is_as_it_says),
        EACH(a_port_that_cannot_be_opened_says_why),
        EACH(a_device_that_has_gone_is_asked_for_nothing_any_more),
        EACH(unplugged_its_link_is_down_and_the_port_hears_it),
        EACH(a_dpdk_port_is_armed_for_a_sleep_and_flushed),
        EACH(a_dpdk_port_is_told_whom_it_stands_for),
        EACH(the_rate_is_that_of_the_link_that_came_up),
        EACH(each_core_of_a_dpdk_port_has_its_wire),
        EACH(an_interrupt_is_believed_when_it_has_come),
        EACH(frames_of_the_fabric_come_and_keep_awake),
        EACH(a_switch_port_is_unplugged_by_itself),
        EACH(a_udp_port_is_a_wire_too),
        EACH(an_unplugged_udp_port_hears_its_own_address_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

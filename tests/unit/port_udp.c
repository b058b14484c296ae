/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The UDP port on 127.0.0.0/8, and with a kernel that says what the test wants. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "nof/status.h"

#include "port/udp/udp_private.h"
#include "transport/packet.h"

#define ERR_BYTES 512
#define OURS 0x7f000101u /* 127.0.1.1 */
#define THEIRS 0x7f000102u
#define WAIT_MS 5000

/* What the kernel says to the next calls; 0: what it wants. */
static int sendmmsg_says[8], sendmsg_says[8];
static unsigned nsendmmsg, nsendmsg, sent_fragments;

int __real_sendmmsg(int fd, struct mmsghdr *msg, unsigned n, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *msg, unsigned n, int flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
static bool lets_cut(int fd)
{
    int discover = IP_PMTUDISC_PROBE;
    socklen_t len = sizeof(discover);

    (void)getsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, &len);
    return discover == IP_PMTUDISC_OMIT;
}

int __wrap_sendmmsg(int fd, struct mmsghdr *msg, unsigned n, int flags)
{
    int error = nsendmmsg < 8 ? sendmmsg_says[nsendmmsg] : 0;

    nsendmmsg++;
    if (error == 0) {
        sent_fragments += lets_cut(fd) ? n : 0;
        return __real_sendmmsg(fd, msg, n, flags);
    }
    errno = error;
    return -1;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
    int error = nsendmsg < 8 ? sendmsg_says[nsendmsg] : 0;

    nsendmsg++;
    sent_fragments += lets_cut(fd);
    if (error == 0)
        return __real_sendmsg(fd, msg, flags);
    errno = error;
    return -1;
}

static struct nof_udp_port *ours, *theirs;
static char err[ERR_BYTES];

static int start(void **state)
{
    (void)state;
    memset(sendmmsg_says, 0, sizeof(sendmmsg_says));
    memset(sendmsg_says, 0, sizeof(sendmsg_says));
    nsendmmsg = nsendmsg = sent_fragments = 0;
    err[0] = '\0';
    return 0;
}

static struct nof_udp_port *open_at(const char *spec, uint32_t mtu, uint32_t frames)
{
    struct nof_udp_port_config cfg = {.spec = spec, .mtu_bytes = mtu, .core_frames = frames};
    struct nof_udp_port *port = NULL;

    if (nof_udp_port_open(&cfg, &port, err, sizeof(err)) != NOF_OK)
        fail_msg("%s", err);
    return port;
}

static int start_pair(void **state)
{
    ours = open_at("udp:127.0.1.1:0", 1500, 0);
    theirs = open_at("udp:127.0.1.2:0", 1500, 0);
    return start(state);
}

static int end_pair(void **state)
{
    (void)state;
    nof_udp_port_close(ours);
    nof_udp_port_close(theirs);
    return 0;
}

static struct nof_packet_addr address(const struct nof_udp_port *port)
{
    const struct nof_udp_port_info *info = nof_udp_port_info(port);
    struct nof_packet_addr addr = {.udp_port = info->udp_port, .ip4 = info->ip4};

    memcpy(addr.mac, info->mac, sizeof(addr.mac));
    return addr;
}

/* A frame of this type whose datagram has so many bytes, filled from `number`. */
static struct nof_frame *frame_of(struct nof_udp_port *from, const struct nof_udp_port *to, uint8_t type,
                                  uint32_t number, uint32_t bytes)
{
    struct nof_packet_addr self = address(from), peer = address(to);
    struct nof_packet_fill fill = {.type = type, .pn = number};
    struct nof_frame *f = nof_udp_port_ops.frame_alloc(from, NOF_WIRE_OUTER_BYTES + bytes);
    uint8_t head[NOF_PACKET_HEAD_BYTES];
    uint16_t sum = nof_packet_head(head, &self, &peer, 50000, 7);

    assert_non_null(f);
    f->len_bytes = NOF_WIRE_OUTER_BYTES + bytes;
    for (uint32_t i = NOF_WIRE_COMMON_BYTES; i < bytes; i++)
        f->data[NOF_WIRE_OUTER_BYTES + i] = (uint8_t)(number * 7 + i);
    nof_packet_finish(f->data, head, sum, &fill, bytes - NOF_WIRE_COMMON_BYTES);
    return f;
}

static void send_one(struct nof_udp_port *from, const struct nof_udp_port *to, uint8_t type, uint32_t number,
                     uint32_t bytes)
{
    struct nof_frame *f = frame_of(from, to, type, number, bytes);

    assert_int_equal(nof_udp_port_ops.send(from, &f, 1), 1);
    nof_udp_port_ops.frame_free(from, f);
}

static unsigned receive(struct nof_udp_port *port, struct nof_frame **frames, unsigned max)
{
    struct pollfd p = {.fd = nof_udp_port_info(port)->wait_fd, .events = POLLIN};
    unsigned n = nof_udp_port_rx(port, frames, max);

    if (n > 0)
        return n;
    assert_int_equal(poll(&p, 1, WAIT_MS), 1);
    return nof_udp_port_rx(port, frames, max);
}

/* The next frame, whole and ours, has this number and size. */
static void expect(struct nof_udp_port *port, uint32_t number, uint32_t bytes)
{
    struct nof_packet_addr addr = address(port);
    struct nof_packet_self self;
    struct nof_packet packet;
    struct nof_frame *f;

    nof_packet_self(&self, &addr);
    assert_int_equal(receive(port, &f, 1), 1);
    assert_int_equal(nof_packet_parse(f->data, f->len_bytes, &self, &packet), 0);
    assert_true(nof_packet_crc_ok(&packet));
    assert_int_equal(nof_get32(packet.common + NOF_WIRE_PN), number);
    assert_int_equal(packet.len_bytes, bytes);
    for (uint32_t i = NOF_WIRE_COMMON_BYTES; i < bytes; i++)
        assert_int_equal(packet.common[i], (uint8_t)(number * 7 + i));
}

/* Only who has answered gets super-frames. */
static void become_acquainted(struct nof_udp_port *with)
{
    send_one(with, ours, NOF_WIRE_ACKS, 0, 72);
    nof_udp_port_flush(with);
    expect(ours, 0, 72);
}

static uint64_t count(const struct nof_udp_port *port, enum nof_udp_counter counter)
{
    return nof_udp_port_counter(port, counter);
}

static void what_stands_behind_udp_is_read(void **state)
{
    struct udp_spec spec;

    (void)state;
    assert_true(nof_udp_port_is("udp:10.0.0.1"));
    assert_false(nof_udp_port_is("net_af_xdp,iface=udp:"));
    assert_int_equal(udp_spec_read("udp:10.0.0.1", 48620, &spec, err, ERR_BYTES), NOF_OK);
    assert_int_equal(spec.ip4, 0x0a000001);
    assert_int_equal(spec.port_first, 48620);
    assert_int_equal(spec.port_last, 48620);
    assert_int_equal(udp_spec_read("udp:eth0:0", 48620, &spec, err, ERR_BYTES), NOF_OK);
    assert_string_equal(spec.where, "eth0");
    assert_int_equal(spec.ip4, 0);
    assert_int_equal(spec.port_last, 0);
    assert_int_equal(udp_spec_read("udp:10.0.0.1:100-200,rate=1g", 48620, &spec, err, ERR_BYTES), NOF_OK);
    assert_int_equal(spec.port_first, 100);
    assert_int_equal(spec.port_last, 200);
    assert_int_equal(spec.rate_bps, 1000000000);
}

static void what_is_no_place_is_refused_with_a_sentence(void **state)
{
    static const struct {
        const char *spec, *says;
    } rows[] = {
        {"udp:", "an address or an interface"},
        {"udp:[fe80::1]:48620", "IPv6"},
        {"udp:fe80::1", "IPv6"},
        {"udp:0.0.0.0", "one interface"},
        {"udp:239.1.2.3", "one interface"},
        {"udp:10.0.0.1:65536", "65536"},
        {"udp:10.0.0.1:", "is no UDP port"},
        {"udp:10.0.0.1:9-8", "9-8"},
        {"udp:10.0.0.1:0-8", "0-8"},
        {"udp:10.0.0.1:4x", "4x"},
        {"udp:10.0.0.1,rate=fast", "rate=fast"},
        {"udp:10.0.0.1,mtu=3", "mtu=3"},
        {"udp:a-name-that-is-longer-than-any-interface's", "an address or an interface"},
    };
    struct udp_spec spec;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(udp_spec_read(rows[i].spec, 48620, &spec, err, ERR_BYTES), NOF_EINVAL);
        if (strstr(err, rows[i].says) == NULL || strstr(err, "Type") == NULL)
            fail_msg("%s: %s", rows[i].spec, err);
    }
}

static void expect_refusal(const char *spec, uint32_t mtu, int status, const char *says)
{
    struct nof_udp_port_config cfg = {.spec = spec, .mtu_bytes = mtu};
    struct nof_udp_port *port = NULL;
    int rc = nof_udp_port_open(&cfg, &port, err, sizeof(err));

    if (rc != status || strstr(err, says) == NULL)
        fail_msg("%s: %d, %s", spec, rc, err);
    assert_null(port);
}

static void a_place_that_cannot_be_had_is_refused_with_a_sentence(void **state)
{
    struct nof_udp_port *port = open_at("udp:127.0.1.1:0", 0, 0), *next;
    unsigned at = nof_udp_port_info(port)->udp_port;
    char text[64];

    (void)state;
    snprintf(text, sizeof(text), "udp:127.0.1.1:%u", at);
    expect_refusal(text, 0, NOF_EAGAIN, "is taken");
    if (at < UINT16_MAX) {
        snprintf(text, sizeof(text), "udp:127.0.1.1:%u-%u", at, at + 1);
        next = open_at(text, 0, 0);
        assert_int_equal(nof_udp_port_info(next)->udp_port, at + 1);
        expect_refusal(text, 0, NOF_EAGAIN, "are all taken");
        nof_udp_port_close(next);
    }
    nof_udp_port_close(port);
    expect_refusal("udp:203.0.113.77", 0, NOF_ENOTSUP, "is no address of this host");
    expect_refusal("udp:nosuch0", 0, NOF_ENOTSUP, "neither an IPv4 address nor an interface");
    expect_refusal("udp:127.0.1.1:0", 500, NOF_EINVAL, "outside 576..9216");
    if (geteuid() != 0)
        expect_refusal("udp:127.0.1.1:7", 0, NOF_EPERM, "needs root");
    nof_udp_port_close(NULL);
}

static void it_says_what_it_stands_on(void **state)
{
    struct nof_udp_port *port = open_at("udp:lo:0", 0, 0);
    const struct nof_udp_port_info *info = nof_udp_port_info(port);
    static const uint8_t none[6];

    (void)state;
    assert_string_equal(info->ifname, "lo");
    assert_int_equal(info->ip4, 0x7f000001);
    assert_int_not_equal(info->udp_port, 0);
    assert_true(info->mtu_bytes <= 9216 && info->mtu_bytes >= 1500);
    assert_memory_not_equal(info->mac, none, 6);
    assert_true(info->receive_bytes > 0);
    assert_true(nof_udp_port_link(port));
    nof_udp_port_close(port);
}

static void frames_come_whole_and_in_order(void **state)
{
    static const uint32_t sizes[] = {32, 33, 100, 1000, 1471, 1472};

    (void)state;
    assert_true(nof_udp_port_sleep(theirs));
    for (uint32_t i = 0; i < 6; i++)
        send_one(ours, theirs, NOF_WIRE_MSG, i, sizes[i]);
    assert_false(nof_udp_port_sleep(ours));
    nof_udp_port_flush(ours);
    assert_true(nof_udp_port_sleep(ours));
    for (uint32_t i = 0; i < 6; i++) {
        expect(theirs, i, sizes[i]);
        assert_int_equal(nof_udp_port_sleep(theirs), i == 5);
    }
    assert_int_equal(count(ours, NOF_UDP_TX_CALLS), 1);
}

static void send_many(uint32_t n, uint32_t bytes, uint32_t last_bytes)
{
    for (uint32_t i = 0; i < n; i++)
        send_one(ours, theirs, NOF_WIRE_DATA, i, i + 1 < n ? bytes : last_bytes);
    nof_udp_port_flush(ours);
    for (uint32_t i = 0; i < n; i++)
        expect(theirs, i, i + 1 < n ? bytes : last_bytes);
}

static void a_run_of_equal_frames_is_one_to_the_kernel(void **state)
{
    uint64_t runs;

    (void)state;
    send_many(20, 1472, 1472); /* a stranger may be a port without a kernel */
    assert_int_equal(count(ours, NOF_UDP_TX_RUNS), 20);
    become_acquainted(theirs);
    runs = count(ours, NOF_UDP_TX_RUNS);
    send_many(40, 1472, 1472);
    assert_int_equal(count(ours, NOF_UDP_TX_RUNS) - runs, 1);
    send_many(45, 1472, 1472); /* 44 are as many bytes as a datagram can have */
    assert_int_equal(count(ours, NOF_UDP_TX_RUNS) - runs, 3);
    send_many(64, 200, 199);
    assert_int_equal(count(ours, NOF_UDP_TX_RUNS) - runs, 4);
}

/* Anybody can send one datagram in a peer's name. */
static void who_is_not_heard_again_gets_no_more_runs(void **state)
{
    uint64_t runs;

    (void)state;
    become_acquainted(theirs);
    runs = count(ours, NOF_UDP_TX_RUNS);
    for (unsigned i = 0; i < UDP_TRUSTED_RUNS; i++)
        send_many(2, 100, 100);
    assert_int_equal(count(ours, NOF_UDP_TX_RUNS) - runs, UDP_TRUSTED_RUNS);
    send_many(2, 100, 100);
    assert_int_equal(count(ours, NOF_UDP_TX_RUNS) - runs, UDP_TRUSTED_RUNS + 2);
    become_acquainted(theirs);
    runs = count(ours, NOF_UDP_TX_RUNS);
    send_many(2, 100, 100);
    assert_int_equal(count(ours, NOF_UDP_TX_RUNS) - runs, 1);
}

static void runs_of_other_sizes_come_whole(void **state)
{
    (void)state;
    become_acquainted(theirs);
    send_many(40, 1472, 1472);
    send_many(40, 1300, 12 + 32);
    send_many(40, 1300, 1300);
    send_many(50, 90, 80);
    send_many(3, 1472, 40);
    assert_int_not_equal(count(theirs, NOF_UDP_RX_MOVED), 0);
    assert_true(count(theirs, NOF_UDP_RX_MOVED) < 6); /* a size that stays is expected */
}

static void frames_to_others_in_between_break_no_run(void **state)
{
    struct nof_udp_port *third = open_at("udp:127.0.1.3:0", 1500, 0);

    (void)state;
    become_acquainted(theirs);
    become_acquainted(third);
    for (uint32_t i = 0; i < 20; i++) {
        send_one(ours, theirs, NOF_WIRE_DATA, i, 1000);
        send_one(ours, third, NOF_WIRE_DATA, i, 1000);
    }
    nof_udp_port_flush(ours);
    assert_int_equal(count(ours, NOF_UDP_TX_CALLS), 1);
    assert_int_equal(count(ours, NOF_UDP_TX_RUNS), 2);
    for (uint32_t i = 0; i < 20; i++) {
        expect(theirs, i, 1000);
        expect(third, i, 1000);
    }
    nof_udp_port_close(third);
}

static void a_frame_may_be_sent_twice_and_freed_before_it_leaves(void **state)
{
    struct nof_udp_port *small = open_at("udp:127.0.1.4:0", 1500, 2);
    struct nof_frame *a = frame_of(small, theirs, NOF_WIRE_DATA, 1, 60),
                     *b = frame_of(small, theirs, NOF_WIRE_DATA, 2, 60);

    (void)state;
    assert_null(nof_udp_port_ops.frame_alloc(small, 60));
    assert_int_equal(nof_udp_port_ops.send(small, &a, 1), 1);
    assert_int_equal(nof_udp_port_ops.send(small, &b, 1), 1);
    assert_int_equal(nof_udp_port_ops.send(small, &a, 1), 1);
    nof_udp_port_ops.frame_free(small, a);
    nof_udp_port_ops.frame_free(small, b);
    assert_null(nof_udp_port_ops.frame_alloc(small, 60)); /* they are still to leave */
    nof_udp_port_flush(small);
    expect(theirs, 1, 60);
    expect(theirs, 2, 60);
    expect(theirs, 1, 60);
    a = nof_udp_port_ops.frame_alloc(small, 60);
    assert_non_null(a);
    assert_null(nof_udp_port_ops.frame_alloc(small, 65000));
    nof_udp_port_ops.frame_free(small, a);
    nof_udp_port_close(small);
}

static void raw(const void *bytes, size_t len, uint16_t segment)
{
    const struct nof_udp_port_info *info = nof_udp_port_info(theirs);
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(info->udp_port), .sin_addr = {htonl(info->ip4)}};
    int fd = socket(AF_INET, SOCK_DGRAM, 0), value = segment;

    assert_true(fd >= 0);
    if (segment != 0 && setsockopt(fd, IPPROTO_UDP, 103, &value, sizeof(value)) != 0)
        skip();
    assert_int_equal(sendto(fd, bytes, len, 0, (const struct sockaddr *)&to, sizeof(to)), (ssize_t)len);
    close(fd);
}

static void strangers_datagrams_harm_nothing(void **state)
{
    static uint8_t bytes[60000];
    struct nof_packet_addr addr = address(theirs);
    struct nof_packet_self self;
    struct nof_packet packet;
    struct nof_frame *f;

    (void)state;
    nof_packet_self(&self, &addr);
    raw(bytes, 0, 0); /* no kernel keeps such, or those of another version */
    raw(bytes, 31, 0);
    raw(bytes, 1000, 0);
    bytes[NOF_WIRE_VER] = NOF_WIRE_VERSION;
    raw(bytes, 31, 0);
    raw(bytes, 32, 0);
    assert_int_equal(receive(theirs, &f, 1), 1);
    assert_int_equal(f->len_bytes, NOF_WIRE_OUTER_BYTES + 32);
    assert_int_not_equal(nof_packet_parse(f->data, f->len_bytes, &self, &packet), 0);
    assert_int_equal(count(theirs, NOF_UDP_RX_DROPPED), 4);
    raw(bytes, 60000, 0); /* beyond our MTU */
    raw(bytes, 1473, 0);
    send_one(ours, theirs, NOF_WIRE_DATA, 9, 100);
    nof_udp_port_flush(ours);
    while (receive(theirs, &f, 1) == 0)
        ;
    assert_int_equal(nof_packet_parse(f->data, f->len_bytes, &self, &packet), 0);
    assert_int_equal(count(theirs, NOF_UDP_RX_LARGE), 2);
    raw(bytes, 640, 10); /* as many as one message can have */
    for (unsigned n = 0; n < 64;) {
        assert_int_equal(receive(theirs, &f, 1), 1);
        assert_int_equal(f->len_bytes, NOF_WIRE_OUTER_BYTES + 10);
        n++;
    }
}

static void a_routers_mark_reaches_the_core(void **state)
{
    struct nof_packet_addr addr = address(theirs);
    struct nof_packet_self self;
    struct nof_packet packet;
    struct nof_frame *f;
    int tos = -1;
    socklen_t len = sizeof(tos);

    (void)state;
    nof_packet_self(&self, &addr);
    assert_int_equal(getsockopt(ours->fd, IPPROTO_IP, IP_TOS, &tos, &len), 0);
    assert_int_equal(tos, 2); /* routers may mark what we send */
    for (int mark = 2; mark <= 3; mark++) {
        assert_int_equal(setsockopt(ours->fd, IPPROTO_IP, IP_TOS, &mark, sizeof(mark)), 0);
        send_one(ours, theirs, NOF_WIRE_DATA, 1, 100);
        nof_udp_port_flush(ours);
        assert_int_equal(receive(theirs, &f, 1), 1);
        assert_int_equal(nof_packet_parse(f->data, f->len_bytes, &self, &packet), 0);
        assert_int_equal(nof_packet_marked(&packet), mark == 3);
        assert_int_equal(count(theirs, NOF_UDP_RX_MARKED), mark == 3);
    }
}

static void a_full_socket_keeps_what_it_does_not_take(void **state)
{
    struct nof_frame *f;

    (void)state;
    sendmmsg_says[0] = sendmmsg_says[1] = sendmmsg_says[2] = EAGAIN;
    for (uint32_t i = 0; i < UDP_PENDING_MAX; i++)
        send_one(ours, theirs, NOF_WIRE_DATA, i, 40);
    f = frame_of(ours, theirs, NOF_WIRE_DATA, 500, 40);
    assert_int_equal(nof_udp_port_ops.send(ours, &f, 1), 0);
    assert_false(nof_udp_port_full(theirs));
    nof_udp_port_flush(ours);
    assert_true(nof_udp_port_full(ours));
    assert_true(nof_udp_port_sleep(ours)); /* until there is room */
    sendmmsg_says[2] = 0;
    assert_int_equal(nof_udp_port_ops.send(ours, &f, 1), 1);
    nof_udp_port_ops.frame_free(ours, f);
    assert_false(nof_udp_port_full(ours));
    assert_false(nof_udp_port_sleep(ours)); /* this one waits here alone */
    nof_udp_port_flush(ours);
    for (uint32_t i = 0; i < UDP_PENDING_MAX; i++)
        expect(theirs, i, 40);
    expect(theirs, 500, 40);
}

static void what_the_kernel_refuses_is_lost_and_told_once(void **state)
{
    uint32_t ip4;
    int error;

    (void)state;
    sendmmsg_says[0] = EHOSTUNREACH;
    send_one(ours, theirs, NOF_WIRE_DATA, 1, 40);
    send_one(ours, theirs, NOF_WIRE_DATA, 2, 50);
    nof_udp_port_flush(ours);
    expect(theirs, 2, 50);
    assert_int_equal(count(ours, NOF_UDP_TX_LOST), 1);
    assert_true(nof_udp_port_refused(ours, &ip4, &error));
    assert_int_equal(ip4, THEIRS);
    assert_int_equal(error, EHOSTUNREACH);
    assert_false(nof_udp_port_refused(ours, &ip4, &error));
    assert_int_equal(nof_udp_port_info(ours)->ip4, OURS);
}

static void a_device_that_cuts_nothing_gets_frames_singly(void **state)
{
    uint64_t runs;

    (void)state;
    become_acquainted(theirs);
    sendmmsg_says[1] = EIO; /* the first call was theirs */
    sendmsg_says[3] = EAGAIN;
    for (uint32_t i = 0; i < 10; i++)
        send_one(ours, theirs, NOF_WIRE_DATA, i, 1000);
    nof_udp_port_flush(ours);
    assert_true(nof_udp_port_full(ours));
    nof_udp_port_flush(ours);
    for (uint32_t i = 0; i < 10; i++)
        expect(theirs, i, 1000);
    assert_int_equal(count(ours, NOF_UDP_TX_RUNS), 10);
    runs = count(ours, NOF_UDP_TX_RUNS);
    send_many(5, 1000, 1000);
    assert_int_equal(count(ours, NOF_UDP_TX_RUNS) - runs, 5);
}

/* A frame that routers may cut, as the core says by its header. */
static void send_to_be_cut(uint32_t number, uint32_t bytes)
{
    struct nof_frame *f = frame_of(ours, theirs, NOF_WIRE_DATA, number, bytes);

    nof_packet_cut(f->data, (uint16_t)number);
    assert_int_equal(nof_udp_port_ops.send(ours, &f, 1), 1);
    nof_udp_port_ops.frame_free(ours, f);
}

static void only_frames_that_the_core_lets_be_cut_are(void **state)
{
    (void)state;
    become_acquainted(theirs);
    for (uint32_t i = 0; i < 8; i++)
        send_to_be_cut(i, 1400);
    send_one(ours, theirs, NOF_WIRE_DATA, 8, 1400);
    nof_udp_port_flush(ours);
    for (uint32_t i = 0; i < 9; i++)
        expect(theirs, i, 1400);
    assert_int_equal(sent_fragments, 1); /* a run */
    assert_int_equal(count(ours, NOF_UDP_TX_RUNS), 2);
    assert_int_equal(count(ours, NOF_UDP_TX_FRAGMENTED), 8);
}

static void probes_go_alone(void **state)
{
    static const uint8_t types[] = {NOF_WIRE_DATA, NOF_WIRE_PROBE, NOF_WIRE_PROBE, NOF_WIRE_DATA,
                                    NOF_WIRE_DATA};

    (void)state;
    become_acquainted(theirs);
    for (uint32_t i = 0; i < 5; i++)
        send_one(ours, theirs, types[i], i, 1400);
    nof_udp_port_flush(ours);
    for (uint32_t i = 0; i < 5; i++)
        expect(theirs, i, 1400);
    assert_int_equal(count(ours, NOF_UDP_TX_RUNS), 4);
}

/* The kernel learns of ICMP what anybody may have forged; no frame of ours is to heed that. */
static void what_icmp_says_of_a_path_is_not_asked_for(void **state)
{
    int how = -1;
    socklen_t len = sizeof(how);

    (void)state;
    assert_int_equal(getsockopt(nof_udp_port_info(ours)->wait_fd, IPPROTO_IP, IP_MTU_DISCOVER, &how, &len),
                     0);
    assert_int_equal(how, IP_PMTUDISC_PROBE);
}

/* Of an interface that has become narrower than frames are: those may be cut, in a turn of few calls, or do not go. */
static void what_the_interface_does_not_carry_is_cut_or_stays(void **state)
{
    uint64_t calls, runs;

    (void)state;
    become_acquainted(theirs);
    sendmmsg_says[1] = EMSGSIZE; /* the first call was theirs */
    sendmsg_says[0] = sendmsg_says[1] = EMSGSIZE;
    for (uint32_t i = 0; i < 3; i++)
        send_one(ours, theirs, NOF_WIRE_DATA, i, i < 2 ? 1000 : 500);
    nof_udp_port_flush(ours);
    expect(theirs, 2, 500);
    assert_int_equal(count(ours, NOF_UDP_TX_LARGE), 2);
    assert_int_equal(count(ours, NOF_UDP_TX_FRAGMENTED), 0);
    runs = count(ours, NOF_UDP_TX_RUNS);
    send_many(4, 500, 500);
    assert_int_equal(count(ours, NOF_UDP_TX_RUNS) - runs, 1); /* what fits still goes in runs */
    sendmmsg_says[3] = EINVAL; /* older kernels */
    for (uint32_t i = 0; i < 2; i++)
        send_to_be_cut(i, 548);
    nof_udp_port_flush(ours);
    calls = count(ours, NOF_UDP_TX_CALLS);
    for (uint32_t i = 2; i < 64; i++)
        send_to_be_cut(i, 548);
    nof_udp_port_flush(ours);
    for (uint32_t i = 0; i < 64; i++)
        expect(theirs, i, 548);
    assert_int_equal(count(ours, NOF_UDP_TX_CALLS) - calls, 1);
    assert_int_equal(sent_fragments, 64);
    assert_int_equal(count(ours, NOF_UDP_TX_FRAGMENTED), 64);
    /* It may have become wider: that is tried from time to time. */
    for (uint32_t i = 0; i < UDP_SINGLY_FRAMES; i++) {
        send_to_be_cut(i, 548);
        nof_udp_port_flush(ours);
        expect(theirs, i, 548);
    }
    calls = count(ours, NOF_UDP_TX_RUNS);
    for (uint32_t i = 0; i < 8; i++)
        send_to_be_cut(i, 548);
    nof_udp_port_flush(ours);
    assert_int_equal(count(ours, NOF_UDP_TX_RUNS) - calls, 1);
}

/* Kernels refuse runs for other reasons than their size. */
static void runs_that_are_refused_are_not_tried_again(void **state)
{
    uint64_t runs;

    (void)state;
    become_acquainted(theirs);
    sendmmsg_says[1] = EINVAL;
    send_many(3, 1000, 1000);
    runs = count(ours, NOF_UDP_TX_RUNS);
    send_many(3, 1000, 1000);
    assert_int_equal(count(ours, NOF_UDP_TX_RUNS) - runs, 3);
}

static void every_counter_has_a_name(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NOF_UDP_COUNTERS; i++)
        assert_memory_equal(nof_udp_port_counter_name(i), "udp.", 4);
    assert_null(nof_udp_port_counter_name(NOF_UDP_COUNTERS));
}

#define ALONE(test) cmocka_unit_test_setup(test, start)
#define PAIR(test) cmocka_unit_test_setup_teardown(test, start_pair, end_pair)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(what_stands_behind_udp_is_read),
        ALONE(what_is_no_place_is_refused_with_a_sentence),
        ALONE(a_place_that_cannot_be_had_is_refused_with_a_sentence),
        ALONE(it_says_what_it_stands_on),
        ALONE(every_counter_has_a_name),
        PAIR(frames_come_whole_and_in_order),
        PAIR(a_run_of_equal_frames_is_one_to_the_kernel),
        PAIR(who_is_not_heard_again_gets_no_more_runs),
        PAIR(runs_of_other_sizes_come_whole),
        PAIR(frames_to_others_in_between_break_no_run),
        PAIR(a_frame_may_be_sent_twice_and_freed_before_it_leaves),
        PAIR(strangers_datagrams_harm_nothing),
        PAIR(a_routers_mark_reaches_the_core),
        PAIR(a_full_socket_keeps_what_it_does_not_take),
        PAIR(what_the_kernel_refuses_is_lost_and_told_once),
        PAIR(a_device_that_cuts_nothing_gets_frames_singly),
        PAIR(only_frames_that_the_core_lets_be_cut_are),
        PAIR(probes_go_alone),
        PAIR(what_icmp_says_of_a_path_is_not_asked_for),
        PAIR(what_the_interface_does_not_carry_is_cut_or_stays),
        PAIR(runs_that_are_refused_are_not_tried_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

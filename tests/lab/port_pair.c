/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two DPDK ports of one process, each in its own network namespace, joined by a veth pair that the
 * test makes: what one sends the other receives, byte for byte; the kernel keeps its own traffic;
 * malformed frames are dropped and counted; link and ownership are noticed; nothing stays behind.
 *
 *   port_pair net_af_xdp|net_af_packet      the test
 *   port_pair DRIVER mtu BYTES              frames of the interface's MTU, or of the most that the driver carries
 *   port_pair net_af_xdp refused BYTES      the reason and the command, where the interface takes no XDP at its MTU
 *   port_pair net_af_xdp speed [SECONDS]    frames per second, one thread each side
 *
 * Needs root; exits 77 with the reason where the machine lacks what it needs. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_lcore.h>

#include "nof/status.h"

#include "port/dpdk/dpdk_port.h"
#include "transport/wire.h"

#define SKIP 77
#define FRAME_BYTES 1514u
#define JUMBO_BYTES (9216u + 14u)
#define XDP_LEAST_BYTES 3300u /* what AF_XDP carries at least, by docs/PORTS.md */
#define BURST 32u
#define PATIENCE_NS 20000000000ull /* a frame that comes, comes before, also on a slow machine */
#define IP_A 0x0a0a0901u /* 10.10.9.1 */
#define IP_B 0x0a0a0902u

static char ns_name[2][32];
static int ns_fd[2] = {-1, -1};
static struct nof_dpdk_port *ports[2];
static const char *driver;

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            tear_down(); \
            exit(1); \
        } \
    } while (0)

static int sh(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int sh(const char *format, ...)
{
    char command[512];
    va_list args;
    int rc;

    va_start(args, format);
    (void)vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    rc = system(command); /* NOLINT: a test that drives iproute2 */
    return WIFEXITED(rc) ? WEXITSTATUS(rc) : 127;
}

static void tear_down(void)
{
    for (int i = 0; i < 2; i++)
        if (ns_name[i][0] != '\0')
            (void)sh("ip netns del %s 2>/dev/null", ns_name[i]);
}

/* A test that takes too long is told to end. */
static void on_signal(int number)
{
    tear_down();
    _exit(128 + number);
}

static void skip(const char *reason)
{
    printf("SKIP: %s\n", reason);
    tear_down();
    exit(SKIP);
}

static void set_up(void)
{
    if (geteuid() != 0)
        skip("network namespaces and AF_XDP need root");
    if (sh("command -v ip >/dev/null && command -v ethtool >/dev/null") != 0)
        skip("iproute2 or ethtool is missing: apt install iproute2 ethtool");
    for (int i = 0; i < 2; i++) {
        char path[64];

        snprintf(ns_name[i], sizeof(ns_name[i]), "nofpp%d-%c", getpid(), 'a' + i);
        if (sh("ip netns add %s", ns_name[i]) != 0)
            skip("no network namespaces here");
        if (sh("ip netns exec %s true", ns_name[i]) != 0)
            skip("no mounts in a network namespace here (a container or a chroot?)");
        snprintf(path, sizeof(path), "/run/netns/%s", ns_name[i]);
        ns_fd[i] = open(path, O_RDONLY | O_CLOEXEC);
        CHECK(ns_fd[i] >= 0);
    }
    CHECK(sh("ip link add eth0 netns %s type veth peer name eth0 netns %s", ns_name[0], ns_name[1]) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(sh("ip -n %s addr add 10.10.9.%d/24 dev eth0 && ip -n %s link set eth0 up && ip -n %s link "
                 "set lo up",
                 ns_name[i], i + 1, ns_name[i], ns_name[i]) == 0);
        CHECK(sh("ip netns exec %s ethtool -K eth0 tso off gso off gro off tx off >/dev/null 2>&1",
                 ns_name[i]) == 0);
    }
}

static void enter(int side)
{
    CHECK(setns(ns_fd[side], CLONE_NEWNET) == 0);
}

static int open_side(int side, uint32_t mtu_bytes, struct nof_dpdk_port **port, char *err)
{
    char devargs[64];
    struct nof_dpdk_port_config cfg = {.devargs = devargs, .mtu_bytes = mtu_bytes};

    snprintf(devargs, sizeof(devargs), "%s,iface=eth0", driver);
    cfg.core_frames = 2048;
    enter(side);
    return nof_dpdk_port_open(&cfg, port, err, NOF_DPDK_ERROR_BYTES);
}

static void start_eal(void)
{
    char program[] = "port_pair", no_huge[] = "--no-huge", no_pci[] = "--no-pci";
    char no_shconf[] = "--no-shconf", no_telemetry[] = "--no-telemetry", mem[] = "-m", mb[] = "512";
    char lcores[] = "--lcores", map[] = "0@(0-1)", log[] = "--log-level=4";
    char *argv[] = {program, no_huge, no_pci, no_shconf, no_telemetry, mem, mb, lcores, map, log, NULL};

    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        memcpy(map, "0@0", 4);
    CHECK(rte_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv) >= 0);
}

static void put_be16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

/* A well-formed frame of ours with `fill` as payload. */
static void build(uint8_t *f, uint32_t len, int from, uint8_t fill)
{
    const struct nof_dpdk_port_info *me = nof_dpdk_port_info(ports[from]);
    const struct nof_dpdk_port_info *you = nof_dpdk_port_info(ports[!from]);
    uint32_t sum = 0;

    memset(f, fill, len);
    memcpy(f, you->mac, 6);
    memcpy(f + 6, me->mac, 6);
    put_be16(f + 12, 0x0800);
    memset(f + 14, 0, 28);
    f[14] = 0x45;
    put_be16(f + 16, len - 14);
    put_be16(f + 20, 0x4000); /* DF */
    f[22] = 64;
    f[23] = 17;
    put_be16(f + 26, me->ip4 >> 16);
    put_be16(f + 28, me->ip4 & 0xffff);
    put_be16(f + 30, you->ip4 >> 16);
    put_be16(f + 32, you->ip4 & 0xffff);
    for (int i = 14; i < 34; i += 2)
        sum += (uint32_t)f[i] << 8 | f[i + 1];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    put_be16(f + 24, ~sum);
    put_be16(f + 34, NOF_WIRE_UDP_PORT);
    put_be16(f + 36, NOF_WIRE_UDP_PORT);
    put_be16(f + 38, len - 34);
    f[42 + NOF_WIRE_VER] = NOF_WIRE_VERSION;
    nof_put16(f + 42 + NOF_WIRE_LEN, (uint16_t)(len - 42));
    f[42 + NOF_WIRE_FIELDS] = 0;
}

/* Sends `n` copies of one frame from a side and gives the core's reference back at once. */
static void send_bytes(int from, const uint8_t *bytes, uint32_t len, unsigned n)
{
    struct nof_dpdk_queue *q = nof_dpdk_port_queue(ports[from], 0);
    struct nof_frame *frame = nof_dpdk_port_ops.frame_alloc(q, len);

    CHECK(frame && frame->cap_bytes >= len);
    memcpy(frame->data, bytes, len);
    frame->len_bytes = len;
    for (unsigned i = 0; i < n; i++) {
        while (nof_dpdk_port_ops.send(q, &frame, 1) == 0)
            nof_dpdk_queue_flush(q, now_ns());
        nof_dpdk_queue_flush(q, now_ns());
    }
    nof_dpdk_port_ops.frame_free(q, frame);
}

/* Receives until `want` frames equal to `bytes` came or the time is over; foreign frames are ignored. */
static unsigned receive_within(int side, const uint8_t *bytes, uint32_t len, unsigned want, uint64_t ns)
{
    struct nof_dpdk_queue *q = nof_dpdk_port_queue(ports[side], 0);
    struct nof_frame *frames[BURST];
    uint64_t until = now_ns() + ns;
    unsigned got = 0;

    while (got < want && now_ns() < until) {
        unsigned n = nof_dpdk_queue_rx(q, frames, BURST);

        for (unsigned i = 0; i < n; i++)
            got += frames[i]->len_bytes == len && memcmp(frames[i]->data, bytes, len) == 0;
        nof_dpdk_queue_rx_done(q, frames, n);
    }
    return got;
}

static unsigned receive(int side, const uint8_t *bytes, uint32_t len, unsigned want)
{
    return receive_within(side, bytes, len, want, PATIENCE_NS);
}

/* The kernel gathers link events and publishes them at most once a second. */
static bool link_becomes(int side, int up)
{
    uint64_t until = now_ns() + PATIENCE_NS;

    while (nof_dpdk_queue_link(nof_dpdk_port_queue(ports[side], 0), now_ns()) != up)
        if (now_ns() > until)
            return false;
    return true;
}

static void test_info(void)
{
    for (int i = 0; i < 2; i++) {
        const struct nof_dpdk_port_info *info = nof_dpdk_port_info(ports[i]);

        CHECK(strcmp(info->driver, driver) == 0);
        CHECK(strcmp(info->ifname, "eth0") == 0);
        CHECK(info->ip4 == (i == 0 ? IP_A : IP_B));
        CHECK(info->mtu_bytes == 1500 && info->nqueues == 1);
        CHECK(info->rate_bps == 0); /* veth's 10 Gbit/s are made up */
        CHECK(info->kernel == NOF_DPDK_KERNEL_KEEPS);
        CHECK(link_becomes(i, 1));
        CHECK(nof_dpdk_queue_wait_fd(nof_dpdk_port_queue(ports[i], 0)) >= 0);
    }
}

static void test_frames_pass_both_ways(void)
{
    uint8_t f[FRAME_BYTES];
    static const uint32_t lengths[] = {74, 75, 128, 1000, 1514};

    for (unsigned k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++)
        for (int from = 0; from < 2; from++) {
            build(f, lengths[k], from, (uint8_t)(k * 2 + (unsigned)from + 1));
            send_bytes(from, f, lengths[k], 3);
            CHECK(receive(!from, f, lengths[k], 3) == 3);
        }
}

/* Many rounds through rings and pool: every frame comes back to the pool. */
static void test_no_frame_is_lost_from_the_pool(void)
{
    struct nof_dpdk_queue_stats before, after;
    uint8_t f[FRAME_BYTES];

    build(f, 600, 0, 7);
    send_bytes(0, f, 600, 64);
    CHECK(receive(1, f, 600, 64) == 64);
    nof_dpdk_queue_stats(nof_dpdk_port_queue(ports[0], 0), &before);
    for (int i = 0; i < 200; i++) {
        send_bytes(0, f, 600, 32);
        CHECK(receive(1, f, 600, 32) == 32);
    }
    nof_dpdk_queue_stats(nof_dpdk_port_queue(ports[0], 0), &after);
    CHECK(after.no_frames == 0 && after.tx_frames == before.tx_frames + 6400);
    /* What the driver has not reaped yet may be out, at most its rings. */
    CHECK(after.frames_free + 2048 >= before.frames_free);
}

/* Whichever frame of the pool it is: a buffer that the driver silently cannot send would be sent again for
 * ever. */
static void test_every_frame_of_the_pool_can_be_sent(void)
{
    struct nof_dpdk_queue *q = nof_dpdk_port_queue(ports[0], 0);
    struct nof_dpdk_queue_stats stats;
    struct nof_frame **all;
    uint8_t f[FRAME_BYTES];
    uint32_t n = 0, lost = 0;

    build(f, FRAME_BYTES, 0, 11);
    nof_dpdk_queue_stats(q, &stats);
    all = calloc(stats.frames_total, sizeof(*all));
    CHECK(all);
    while (n < stats.frames_total && (all[n] = nof_dpdk_port_ops.frame_alloc(q, FRAME_BYTES)) != NULL)
        n++;
    CHECK(n > stats.frames_total / 4);
    for (uint32_t i = 0; i < n; i++) {
        memcpy(all[i]->data, f, FRAME_BYTES);
        all[i]->len_bytes = FRAME_BYTES;
        while (nof_dpdk_port_ops.send(q, &all[i], 1) == 0)
            nof_dpdk_queue_flush(q, now_ns());
        if (i % BURST == BURST - 1 || i + 1 == n) {
            uint32_t sent = i % BURST + 1;

            nof_dpdk_queue_flush(q, now_ns());
            lost += sent - receive_within(1, f, FRAME_BYTES, sent, lost == 0 ? PATIENCE_NS : 20000000u);
        }
    }
    for (uint32_t i = 0; i < n; i++)
        nof_dpdk_port_ops.frame_free(q, all[i]);
    free(all);
    if (lost > 0)
        fprintf(stderr, "%u of %u frames cannot be sent\n", lost, n);
    CHECK(lost == 0);
}

static void test_wait_fd_wakes(void)
{
    struct nof_dpdk_queue *q = nof_dpdk_port_queue(ports[1], 0);
    struct epoll_event ev = {.events = EPOLLIN};
    int ep = epoll_create1(EPOLL_CLOEXEC);
    uint8_t f[FRAME_BYTES];

    CHECK(ep >= 0);
    CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, nof_dpdk_queue_wait_fd(q), &ev) == 0);
    build(f, 100, 0, 9);
    /* The kernels' own frames wake as well: as often as it takes for none to come. */
    for (int i = 0, quiet = 0; !quiet; i++) {
        CHECK(i < 100);
        (void)receive_within(1, f, 100, UINT32_MAX, 200000000u);
        quiet = nof_dpdk_queue_sleep(q) == 1 && epoll_wait(ep, &ev, 1, 20) == 0;
        if (!quiet)
            nof_dpdk_queue_wake(q);
    }
    send_bytes(0, f, 100, 1);
    CHECK(epoll_wait(ep, &ev, 1, (int)(PATIENCE_NS / 1000000u)) == 1);
    nof_dpdk_queue_wake(q);
    CHECK(receive(1, f, 100, 1) == 1);
    close(ep);
}

static uint64_t xdp_counter(int side, const char *name)
{
    uint64_t counts[NOF_DPDK_XDP_COUNTERS];
    unsigned n = nof_dpdk_port_xdp_counters(ports[side], counts);

    for (unsigned i = 0; i < n; i++)
        if (strcmp(nof_dpdk_port_xdp_name(i), name) == 0)
            return counts[i];
    return 0;
}

static void test_malformed_is_dropped_and_counted(void)
{
    uint64_t version = xdp_counter(1, "xdp.drop_version"), length = xdp_counter(1, "xdp.drop_length");
    uint64_t taken = xdp_counter(1, "xdp.taken");
    uint8_t f[FRAME_BYTES], good[FRAME_BYTES];

    build(f, 200, 0, 3);
    f[42 + NOF_WIRE_VER] = NOF_WIRE_VERSION + 1;
    send_bytes(0, f, 200, 5);
    build(f, 200, 0, 3);
    nof_put16(f + 42 + NOF_WIRE_LEN, 157);
    send_bytes(0, f, 200, 7);
    build(good, 200, 0, 4);
    send_bytes(0, good, 200, 1);
    CHECK(receive(1, good, 200, 1) == 1);
    CHECK(xdp_counter(1, "xdp.drop_version") == version + 5);
    CHECK(xdp_counter(1, "xdp.drop_length") == length + 7);
    CHECK(xdp_counter(1, "xdp.taken") == taken + 1);
    CHECK(nof_dpdk_port_info(ports[1])->xdp_pinned);
}

/* An ordinary datagram between the kernels' sockets, ARP included. */
static void test_kernel_keeps_its_traffic(void)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(5555), .sin_addr = {.s_addr = htonl(IP_B)}};
    struct timeval patience = {.tv_sec = PATIENCE_NS / 1000000000u};
    char text[8] = "";
    int in, out;

    enter(1);
    in = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(in >= 0 && bind(in, (const struct sockaddr *)&to, sizeof(to)) == 0);
    CHECK(setsockopt(in, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
    enter(0);
    out = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(out >= 0);
    CHECK(sendto(out, "hello", 6, 0, (const struct sockaddr *)&to, sizeof(to)) == 6);
    CHECK(recv(in, text, sizeof(text), 0) == 6 && strcmp(text, "hello") == 0);
    close(in);
    close(out);
}

/* A kernel that sees our datagrams without an owner would answer each with "port unreachable". */
static void test_kernel_does_not_answer_ours(void)
{
    uint8_t f[FRAME_BYTES];

    build(f, 100, 0, 1);
    send_bytes(0, f, 100, 4);
    CHECK(receive(1, f, 100, 4) == 4);
    CHECK(sh("ip netns exec %s awk '/^Icmp:/ {n++; if (n == 2) exit $16 != 0}' /proc/net/snmp", ns_name[1]) ==
          0);
}

static void test_second_owner_is_refused(void)
{
    struct nof_dpdk_port *other = NULL;
    char err[NOF_DPDK_ERROR_BYTES] = "";

    CHECK(open_side(0, 0, &other, err) == NOF_EAGAIN);
    CHECK(strstr(err, "another nofd already drives eth0") != NULL);
    CHECK(other == NULL);
}

static void test_link_down_and_up(void)
{
    CHECK(sh("ip -n %s link set eth0 down", ns_name[1]) == 0);
    CHECK(link_becomes(0, 0));
    CHECK(sh("ip -n %s link set eth0 up", ns_name[1]) == 0);
    CHECK(link_becomes(0, 1));
}

static void test_errors_say_what_to_type(void)
{
    struct nof_dpdk_port *port = NULL;
    char err[NOF_DPDK_ERROR_BYTES];
    struct nof_dpdk_port_config cfg = {.devargs = "net_af_xdp,iface=nosuch"};

    CHECK(nof_dpdk_port_open(&cfg, &port, err, sizeof(err)) == NOF_EINVAL);
    CHECK(strstr(err, "no interface nosuch") != NULL);
    cfg.devargs = "net_af_packet";
    CHECK(nof_dpdk_port_open(&cfg, &port, err, sizeof(err)) == NOF_EINVAL);
    CHECK(strstr(err, "iface=eth0") != NULL);
    cfg.devargs = ",";
    CHECK(nof_dpdk_port_open(&cfg, &port, err, sizeof(err)) == NOF_EINVAL);
    CHECK(open_side(0, 9000, &port, err) == NOF_EINVAL);
    CHECK(strstr(err, "ip link set eth0 mtu 9000") != NULL);
}

/* `port_pair DRIVER crash NETNS`: opens a port there and dies without a word. */
static int crash(const char *netns)
{
    char err[NOF_DPDK_ERROR_BYTES] = "", path[64];

    snprintf(path, sizeof(path), "/run/netns/%s", netns);
    ns_fd[0] = open(path, O_RDONLY | O_CLOEXEC);
    start_eal();
    if (open_side(0, 0, &ports[0], err) != NOF_OK)
        fprintf(stderr, "%s\n", err);
    _exit(ports[0] ? 0 : 1);
}

/* What an owner that was killed leaves (its program stays attached) does not hinder the next one, which the
 * rest of this test is. */
static void test_dead_owner(const char *self)
{
    CHECK(sh("%s %s crash %s", self, driver, ns_name[0]) == 0);
    if (strcmp(driver, "net_af_xdp") == 0)
        CHECK(sh("ip -n %s -d link show eth0 | grep -q 'prog/xdp'", ns_name[0]) == 0);
}

static void test_nothing_stays_behind(void)
{
    for (int i = 0; i < 2; i++) {
        enter(i);
        nof_dpdk_port_close(ports[i]);
        CHECK(sh("ip -n %s -d link show eth0 | grep -q 'prog/xdp'", ns_name[i]) == 1);
    }
    CHECK(access("/sys/fs/bpf/nof/eth0", F_OK) != 0);
}

static void set_mtu(uint32_t mtu_bytes)
{
    for (int i = 0; i < 2; i++)
        CHECK(sh("ip -n %s link set eth0 mtu %u", ns_name[i], mtu_bytes) == 0);
}

static int open_both(char *err)
{
    int rc = open_side(0, 0, &ports[0], err);

    return rc == NOF_OK ? open_side(1, 0, &ports[1], err) : rc;
}

/* The interface has `mtu_bytes`; the port carries frames of `carried_bytes`, both ways. */
static void test_largest_frame_passes(uint32_t mtu_bytes, uint32_t carried_bytes)
{
    uint8_t f[JUMBO_BYTES];

    for (int from = 0; from < 2; from++) {
        const struct nof_dpdk_port_info *info = nof_dpdk_port_info(ports[from]);

        CHECK(info->iface_mtu_bytes == mtu_bytes && info->mtu_bytes == carried_bytes);
        CHECK(link_becomes(from, 1));
    }
    for (int from = 0; from < 2; from++)
        for (uint32_t len = carried_bytes + 14; len > 1514; len = len / 2 + 1) {
            build(f, len, from, (uint8_t)len);
            send_bytes(from, f, len, 3);
            CHECK(receive(!from, f, len, 3) == 3);
        }
}

/* What the interface's MTU is, the port carries, as far as the driver can. */
static void test_mtu(uint32_t mtu_bytes)
{
    uint32_t carried = mtu_bytes;
    char err[NOF_DPDK_ERROR_BYTES] = "";
    int rc;

    set_mtu(mtu_bytes);
    rc = open_both(err);
    if (rc == NOF_ENOTSUP && mtu_bytes == 1500)
        skip(err);
    if (rc != NOF_OK)
        fprintf(stderr, "%s\n", err);
    CHECK(rc == NOF_OK);
    if (strcmp(driver, "net_af_xdp") == 0 && mtu_bytes > XDP_LEAST_BYTES) {
        carried = nof_dpdk_port_info(ports[0])->mtu_bytes;
        CHECK(carried >= XDP_LEAST_BYTES && carried <= mtu_bytes);
    }
    test_largest_frame_passes(mtu_bytes, carried);
}

/* veth refuses XDP where a frame could be larger than a page. The error has the kernel's words, and the MTU of its
 * command is one that works. */
static void test_refused_mtu(const char *self, uint32_t mtu_bytes)
{
    char err[NOF_DPDK_ERROR_BYTES] = "";
    const char *type;
    uint32_t fits = 0;

    set_mtu(mtu_bytes);
    CHECK(open_side(0, 0, &ports[0], err) == NOF_ENOTSUP);
    printf("%s\n", err);
    CHECK(strstr(err, "the kernel says: ") && strstr(err, "MTU is too large"));
    CHECK(strstr(err, "net_af_packet,iface=eth0"));
    CHECK(!strstr(err, "ulimit"));
    type = strstr(err, "ip link set dev eth0 mtu ");
    CHECK(type && sscanf(type, "ip link set dev eth0 mtu %u", &fits) == 1);
    CHECK(fits >= XDP_LEAST_BYTES && fits < mtu_bytes);
    CHECK(sh("%s %s mtu %u", self, driver, fits) == 0);
}

/* `port_pair DRIVER mtu BYTES`, `port_pair net_af_xdp refused BYTES`. A machine that has no such ports says so at the
 * usual MTU too; each in a process of its own, because the driver keeps its sockets. */
static void other_mtu(const char *self, bool refused, uint32_t mtu_bytes)
{
    if (mtu_bytes != 1500 && sh("%s %s mtu 1500", self, driver) == SKIP)
        skip("this machine has no such ports at MTU 1500 either, see above");
    start_eal();
    if (refused) {
        test_refused_mtu(self, mtu_bytes);
    } else {
        test_mtu(mtu_bytes);
        test_nothing_stays_behind();
    }
    (void)rte_eal_cleanup();
    tear_down();
}

static atomic_bool stop_speed;
static atomic_ulong received;

static void pin(size_t cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
    (void)rte_thread_register();
}

static void *speed_tx(void *arg)
{
    struct nof_dpdk_queue *q = nof_dpdk_port_queue(ports[0], 0);

    (void)arg;
    pin(0);
    while (!atomic_load(&stop_speed)) {
        struct nof_frame *frames[BURST];

        for (unsigned i = 0; i < BURST; i++) {
            frames[i] = nof_dpdk_port_ops.frame_alloc(q, FRAME_BYTES);
            CHECK(frames[i]);
            build(frames[i]->data, FRAME_BYTES, 0, 1);
            frames[i]->len_bytes = FRAME_BYTES;
        }
        for (unsigned done = 0; done < BURST;) {
            done += nof_dpdk_port_ops.send(q, frames + done, BURST - done);
            nof_dpdk_queue_flush(q, now_ns());
        }
        for (unsigned i = 0; i < BURST; i++)
            nof_dpdk_port_ops.frame_free(q, frames[i]);
    }
    return NULL;
}

static void *speed_rx(void *arg)
{
    struct nof_dpdk_queue *q = nof_dpdk_port_queue(ports[1], 0);
    struct nof_frame *frames[BURST];

    (void)arg;
    pin(1);
    while (!atomic_load(&stop_speed)) {
        unsigned n = nof_dpdk_queue_rx(q, frames, BURST);

        nof_dpdk_queue_rx_done(q, frames, n);
        atomic_fetch_add_explicit(&received, n, memory_order_relaxed);
    }
    return NULL;
}

static void speed(unsigned seconds)
{
    pthread_t tx, rx;
    uint64_t frames, start;
    double s;

    CHECK(pthread_create(&rx, NULL, speed_rx, NULL) == 0);
    CHECK(pthread_create(&tx, NULL, speed_tx, NULL) == 0);
    sleep(1);
    start = now_ns();
    frames = atomic_load(&received);
    sleep(seconds);
    frames = atomic_load(&received) - frames;
    s = (double)(now_ns() - start) * 1e-9;
    atomic_store(&stop_speed, true);
    pthread_join(tx, NULL);
    pthread_join(rx, NULL);
    printf("%s: %.0f frames/s received, %.0f Mbit/s in frames of %u bytes\n", driver, (double)frames / s,
           (double)frames * FRAME_BYTES * 8e-6 / s, FRAME_BYTES);
}

int main(int argc, char **argv)
{
    char err[NOF_DPDK_ERROR_BYTES] = "";
    int rc = NOF_OK;

    if (argc < 2) {
        fprintf(stderr, "usage: port_pair net_af_xdp|net_af_packet [speed [SECONDS]]\n");
        return 2;
    }
    driver = argv[1];
    if (argc > 3 && strcmp(argv[2], "crash") == 0)
        return crash(argv[3]);
    (void)signal(SIGTERM, on_signal);
    (void)signal(SIGINT, on_signal);
    set_up();
    if (argc == 2)
        test_dead_owner(argv[0]);
    if (argc > 3 && (strcmp(argv[2], "mtu") == 0 || strcmp(argv[2], "refused") == 0)) {
        other_mtu(argv[0], argv[2][0] == 'r', (uint32_t)atoi(argv[3]));
        return 0;
    }
    start_eal();
    for (int i = 0; i < 2 && rc == NOF_OK; i++)
        rc = open_side(i, 0, &ports[i], err);
    if (rc == NOF_ENOTSUP)
        skip(err);
    if (rc != NOF_OK)
        fprintf(stderr, "%s\n", err);
    CHECK(rc == NOF_OK);
    if (argc > 2) {
        speed(argc > 3 ? (unsigned)atoi(argv[3]) : 3);
    } else {
        test_info();
        test_frames_pass_both_ways();
        test_no_frame_is_lost_from_the_pool();
        test_every_frame_of_the_pool_can_be_sent();
        test_wait_fd_wakes();
        if (strcmp(driver, "net_af_xdp") == 0)
            test_malformed_is_dropped_and_counted();
        test_kernel_keeps_its_traffic();
        test_kernel_does_not_answer_ours();
        test_second_owner_is_refused();
        test_link_down_and_up();
        test_errors_say_what_to_type();
    }
    test_nothing_stays_behind();
    (void)rte_eal_cleanup();
    tear_down();
    return 0;
}

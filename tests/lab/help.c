/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device helps with: a port on net_tap, which says that it computes UDP checksums. Frames that the port sends reach a
 * kernel with a checksum that holds, the same frame sent again as well; what is not UDP goes as it is. In a network namespace of
 * its own, so nothing stays behind. */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_eal.h>

#include "nof/status.h"

#include "port/dpdk/dpdk_port.h"

#define SKIP 77
#define LEN 401u /* odd: a checksum ends in the middle of a word */
#define PATIENCE_MS 20000

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

static struct nof_dpdk_port *port;

static void build(uint8_t *f, uint8_t protocol)
{
    static const uint8_t head[] = {0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 0, 0, 0, 10, 9, 8, 1, 10, 9, 8, 2};
    static const uint8_t udp[] = {0xc0, 0, 0xbd, 0xec, (LEN - 34) >> 8, (LEN - 34) & 255, 0, 0};

    for (uint32_t i = 0; i < LEN; i++)
        f[i] = (uint8_t)(i * 7);
    memset(f, 0xff, 6);
    f[12] = 8;
    f[13] = 0;
    memcpy(f + 14, head, sizeof(head));
    f[16] = (LEN - 14) >> 8;
    f[17] = (LEN - 14) & 255;
    f[23] = protocol;
    memcpy(f + 34, udp, sizeof(udp));
}

static void send_twice(uint8_t protocol)
{
    struct nof_dpdk_queue *q = nof_dpdk_port_queue(port, 0);
    struct nof_frame *frame = nof_dpdk_port_ops.frame_alloc(q, LEN);

    CHECK(frame != NULL);
    build(frame->data, protocol);
    frame->len_bytes = LEN;
    for (int i = 0; i < 2; i++) {
        while (nof_dpdk_port_ops.send(q, &frame, 1) == 0)
            nof_dpdk_queue_flush(q, 1);
        nof_dpdk_queue_flush(q, 1);
    }
    nof_dpdk_port_ops.frame_free(q, frame);
}

/* The one's complement sum of the pseudo header and the datagram: 0xffff where the checksum holds. */
static uint32_t sum_of(const uint8_t *f)
{
    uint32_t sum = 17 + LEN - 34;

    for (uint32_t i = 26; i < LEN; i++)
        sum += i % 2 == 0 ? (uint32_t)f[i] << 8 : f[i];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

/* The next frame of this protocol from our address, as the kernel got it. */
static void receive(int fd, uint8_t protocol, uint8_t *f)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    do {
        CHECK(poll(&p, 1, PATIENCE_MS) == 1);
        CHECK(recv(fd, f, 2048, 0) > 0);
    } while (f[12] != 8 || f[13] != 0 || f[23] != protocol || f[26] != 10 || f[29] != 1);
}

static int hear(const char *ifname)
{
    struct sockaddr_ll at = {
        .sll_family = AF_PACKET, .sll_protocol = htons(0x0003), .sll_ifindex = (int)if_nametoindex(ifname)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(0x0003));
    struct ifreq ifr = {.ifr_flags = IFF_UP};

    CHECK(fd >= 0 && at.sll_ifindex != 0);
    snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
    CHECK(ioctl(fd, SIOCSIFFLAGS, &ifr) == 0);
    CHECK(bind(fd, (const struct sockaddr *)(const void *)&at, sizeof(at)) == 0);
    return fd;
}

int main(void)
{
    static char name[] = "help", no_huge[] = "--no-huge", m[] = "-m", mb[] = "128", no_pci[] = "--no-pci",
                no_shconf[] = "--no-shconf", quiet[] = "--log-level=error";
    char *args[] = {name, no_huge, m, mb, no_pci, no_shconf, quiet, NULL};
    struct nof_dpdk_port_config cfg = {
        .devargs = "net_tap0,iface=nofhelp", .ip4 = 0x0a090801, .core_frames = 512};
    const struct nof_dpdk_port_info *info;
    char err[NOF_DPDK_ERROR_BYTES] = "";
    uint8_t f[2048];
    int fd;

    if (geteuid() != 0 || access("/dev/net/tun", R_OK | W_OK) != 0 || unshare(CLONE_NEWNET) != 0) {
        printf("SKIP: tap devices and network namespaces need root and /dev/net/tun\n");
        return SKIP;
    }
    CHECK(rte_eal_init(7, args) >= 0);
    if (nof_dpdk_port_open(&cfg, &port, err, sizeof(err)) != NOF_OK) {
        printf("SKIP: no port on net_tap: %s\n", err);
        return SKIP;
    }
    info = nof_dpdk_port_info(port);
    CHECK(info->udp_checksum == NOF_DPDK_HELP_USED);
    fd = hear("nofhelp");
    send_twice(17);
    for (int i = 0; i < 2; i++) {
        receive(fd, 17, f);
        CHECK(f[40] != 0 || f[41] != 0);
        CHECK(sum_of(f) == 0xffff);
        for (uint32_t k = 42; k < LEN; k++)
            CHECK(f[k] == (uint8_t)(k * 7));
    }
    send_twice(6); /* no datagram: not a byte of it changes */
    receive(fd, 6, f);
    CHECK(f[40] == 0 && f[41] == 0);
    close(fd);
    nof_dpdk_port_close(port);
    (void)rte_eal_cleanup();
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who does not belong to a job sends to one of its hosts, until SIGTERM; then it prints "sent FRAMES SECONDS".
 *
 *   stranger KIND TO PEER PORT KPPS       TO: the host that gets it, PEER: whose name it is in, PORT: UDP port of both
 *
 *   unknown      UDP datagrams that are none of the protocol
 *   version      those of the protocol's version, with connection ids that do not exist
 *   spoofed      the same in the peer's name, every other one a handshake
 *   unreachable  ICMP: the peer cannot be reached (host, port, forbidden, in turn)
 *   narrow       ICMP: the way to the peer carries 68 bytes
 *
 * Needs root (a raw socket). */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/bytes.h"
#include "transport/wire.h"

#define BATCH 64u
#define IP_BYTES 20u
#define UDP_BYTES 8u
#define ICMP_BYTES 8u
#define PAYLOAD_BYTES 200u
#define FRAME_BYTES (IP_BYTES + UDP_BYTES + PAYLOAD_BYTES)
#define LATE_NS 10000000u /* what could not be sent for so long is not made up for */
#define NS 1000000000ull

enum kind { UNKNOWN, VERSION, SPOOFED, UNREACHABLE, NARROW, KINDS };

static const char *const names[KINDS] = {"unknown", "version", "spoofed", "unreachable", "narrow"};

struct stranger {
    enum kind kind;
    uint32_t to, peer, self; /* host byte order */
    uint16_t port;
    uint64_t random, frames;
    uint8_t frame[BATCH][FRAME_BYTES];
};

static volatile sig_atomic_t over;

static void on_term(int number)
{
    (void)number;
    over = 1;
}

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * NS + (uint64_t)ts.tv_nsec;
}

static uint64_t draw(struct stranger *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random;
}

static uint16_t internet_sum(const uint8_t *at, size_t bytes)
{
    uint32_t sum = 0;

    for (size_t i = 0; i + 1 < bytes; i += 2)
        sum += nof_get_be16(at + i);
    while (sum >> 16 != 0)
        sum = (sum & 0xffffu) + (sum >> 16);
    return (uint16_t)~sum;
}

static void put_ip(uint8_t *ip, uint32_t from, uint32_t to, uint8_t protocol, uint32_t bytes)
{
    memset(ip, 0, IP_BYTES);
    ip[0] = 0x45;
    nof_put_be16(ip + 2, bytes);
    nof_put_be16(ip + 6, 0x4000);
    ip[8] = 64;
    ip[9] = protocol;
    nof_put_be32(ip + 12, from);
    nof_put_be32(ip + 16, to);
    nof_put_be16(ip + 10, internet_sum(ip, IP_BYTES));
}

static void put_udp(uint8_t *udp, uint16_t from, uint16_t to, uint32_t bytes)
{
    nof_put_be16(udp, from);
    nof_put_be16(udp + 2, to);
    nof_put_be16(udp + 4, UDP_BYTES + bytes);
    nof_put_be16(udp + 6, 0);
}

static uint32_t put_datagram(struct stranger *s, uint8_t *ip)
{
    uint8_t *udp = ip + IP_BYTES, *common = udp + UDP_BYTES;
    bool hello = s->kind == SPOOFED && s->frames % 2 == 1;

    put_ip(ip, s->kind == SPOOFED ? s->peer : s->self, s->to, IPPROTO_UDP, FRAME_BYTES);
    put_udp(udp, s->kind == SPOOFED ? s->port : (uint16_t)(1024 + draw(s) % 60000), s->port, PAYLOAD_BYTES);
    for (uint32_t i = 0; i < PAYLOAD_BYTES; i += 8)
        nof_put64(common + i, draw(s));
    if (s->kind == UNKNOWN) {
        common[NOF_WIRE_VER] = NOF_WIRE_VERSION + 1;
        return FRAME_BYTES;
    }
    common[NOF_WIRE_VER] = NOF_WIRE_VERSION;
    common[NOF_WIRE_TYPE] = hello ? NOF_WIRE_HELLO : NOF_WIRE_DATA;
    nof_put16(common + NOF_WIRE_LEN, PAYLOAD_BYTES);
    common[NOF_WIRE_FIELDS] = hello ? NOF_WIRE_HELLO_BYTES : 16;
    if (hello)
        nof_put64(common + NOF_WIRE_CONN, 0);
    return FRAME_BYTES;
}

/* What a router would say of a datagram that `to` has sent to the peer. */
static uint32_t put_error(struct stranger *s, uint8_t *ip)
{
    static const uint8_t codes[] = {1, 3, 13};
    const uint32_t quoted = IP_BYTES + UDP_BYTES, bytes = IP_BYTES + ICMP_BYTES + quoted;
    uint8_t *icmp = ip + IP_BYTES;

    put_ip(ip, s->self, s->to, IPPROTO_ICMP, bytes);
    memset(icmp, 0, ICMP_BYTES);
    icmp[0] = 3;
    icmp[1] = s->kind == NARROW ? 4 : codes[s->frames % sizeof(codes)];
    if (s->kind == NARROW)
        nof_put_be16(icmp + 6, 68);
    put_ip(icmp + ICMP_BYTES, s->to, s->peer, IPPROTO_UDP, 1500);
    put_udp(icmp + ICMP_BYTES + IP_BYTES, s->port, s->port, 1472);
    nof_put_be16(icmp + 2, internet_sum(icmp, ICMP_BYTES + quoted));
    return bytes;
}

static unsigned send_some(struct stranger *s, int fd, unsigned n)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(s->to)}};
    struct mmsghdr msg[BATCH];
    struct iovec iov[BATCH];
    int sent;

    memset(msg, 0, sizeof(msg));
    for (unsigned i = 0; i < n; i++) {
        iov[i].iov_base = s->frame[i];
        iov[i].iov_len = s->kind >= UNREACHABLE ? put_error(s, s->frame[i]) : put_datagram(s, s->frame[i]);
        s->frames++;
        msg[i].msg_hdr =
            (struct msghdr){.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &iov[i], .msg_iovlen = 1};
    }
    sent = sendmmsg(fd, msg, n, 0);
    return sent > 0 ? (unsigned)sent : 0;
}

/* At that rate, until SIGTERM. Returns how many have gone. */
static uint64_t send_all(struct stranger *s, int fd, uint64_t per_second)
{
    uint64_t start = now_ns(), due_from = start, due = 0, sent = 0;

    while (!over) {
        uint64_t now = now_ns(), want = (now - due_from) * per_second / NS;

        if (want <= due) {
            struct timespec pause = {.tv_nsec = 200000};

            (void)nanosleep(&pause, NULL);
            continue;
        }
        if ((want - due) * NS / per_second > LATE_NS) {
            due_from = now;
            due = 0;
            continue;
        }
        for (uint64_t left = want - due; left > 0;) {
            unsigned n = left < BATCH ? (unsigned)left : BATCH;

            sent += send_some(s, fd, n);
            left -= n;
        }
        due = want;
    }
    return sent;
}

/* The address that this host sends from. */
static uint32_t own_address(uint32_t to)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {.s_addr = htonl(to)}};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof(at)) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) != 0)
        return 0;
    return ntohl(at.sin_addr.s_addr);
}

static int read_arguments(struct stranger *s, char **argv)
{
    struct in_addr to, peer;

    while (s->kind < KINDS && strcmp(argv[1], names[s->kind]) != 0)
        s->kind++;
    if (s->kind == KINDS || inet_pton(AF_INET, argv[2], &to) != 1 || inet_pton(AF_INET, argv[3], &peer) != 1)
        return -1;
    s->to = ntohl(to.s_addr);
    s->peer = ntohl(peer.s_addr);
    s->self = own_address(s->to);
    s->port = (uint16_t)atoi(argv[4]);
    return 0;
}

int main(int argc, char **argv)
{
    static struct stranger s = {.random = 88172645463325252ull};
    double kpps = argc == 6 ? atof(argv[5]) : 0, seconds;
    uint64_t start = now_ns(), sent;
    int fd;

    if (!(kpps > 0) || read_arguments(&s, argv) != 0) {
        fprintf(stderr, "usage: stranger unknown|version|spoofed|unreachable|narrow TO PEER PORT KPPS\n");
        return 2;
    }
    fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
    if (fd < 0) {
        perror("stranger: no raw socket");
        return 1;
    }
    (void)signal(SIGTERM, on_term);
    printf("begun\n");
    fflush(stdout);
    sent = send_all(&s, fd, (uint64_t)(kpps * 1000));
    seconds = (double)(now_ns() - start) / 1e9;
    printf("sent %llu %.3f\n", (unsigned long long)sent, seconds);
    return 0;
}

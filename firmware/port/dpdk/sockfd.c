/* SPDX-License-Identifier: BSD-3-Clause */
#include "port/dpdk/sockfd.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#ifndef SOL_XDP
#define SOL_XDP 283
#endif

static bool is_of_family(int fd, int family)
{
    int domain = 0;
    socklen_t len = sizeof(domain);

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == family;
}

void nof_sockfd_watch_begin(struct nof_sockfd_watch *w, int family)
{
    memset(w, 0, sizeof(*w));
    w->family = family;
    for (unsigned fd = 0; fd < NOF_SOCKFD_MAX; fd++)
        if (is_of_family((int)fd, family))
            w->seen[fd / 64] |= UINT64_C(1) << (fd % 64);
}

unsigned nof_sockfd_watch_end(const struct nof_sockfd_watch *w, int *fds, unsigned max)
{
    unsigned n = 0;

    for (unsigned fd = 0; fd < NOF_SOCKFD_MAX && n < max; fd++)
        if (!(w->seen[fd / 64] >> (fd % 64) & 1u) && is_of_family((int)fd, w->family))
            fds[n++] = (int)fd;
    return n;
}

bool nof_sockfd_zero_copy(int fd)
{
    struct xdp_options options = {0};
    socklen_t len = sizeof(options);

    return getsockopt(fd, SOL_XDP, XDP_OPTIONS, &options, &len) == 0 &&
           (options.flags & XDP_OPTIONS_ZEROCOPY);
}

int nof_sockfd_packet_filter(int fd, uint16_t port, uint32_t n)
{
    /* Jumps count instructions to skip; the last two are "take" and "leave". */
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 11, 0),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0800, 0, 9),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 7),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 20),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, 5, 0),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 14),
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, 16),
        BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, port),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, n, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog prog = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) < 0 ? -errno : 0;
}

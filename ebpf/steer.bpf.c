/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-3-Clause)
 *
 * XDP steering: frames of this project go to the AF_XDP socket of the queue they came in on,
 * malformed ones are dropped and counted, everything else stays the kernel's.
 *
 * Only what can be decided without state is decided here: lengths and version. Connection id and
 * CRC are the firmware's business. Loaded by DPDK's net_af_xdp (xdp_prog=): it opens this object,
 * takes its first program, and puts its sockets into the map "xsks_map" by queue number. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "steer.h"

#define COMMON_BYTES 32 /* NOF_WIRE_COMMON_BYTES; version at 4, length at 6 of it */
#define IP_FRAGMENT 0x3fff /* more-fragments bit and offset */
#define IP_OFFSET 0x1fff

struct {
    __uint(type, BPF_MAP_TYPE_XSKMAP);
    __uint(max_entries, NOF_STEER_QUEUES);
    __type(key, __u32);
    __type(value, __u32);
} xsks_map SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, NOF_STEER_VERDICTS);
    __type(key, __u32);
    __type(value, struct nof_steer_count);
} nof_steer_stats SEC(".maps");

struct vlan_tag {
    __be16 tci;
    __be16 proto;
};

struct common_head {
    __u32 crc;
    __u8 version;
    __u8 type;
    __u8 len[2]; /* little-endian, bytes */
} __attribute__((packed));

static __always_inline void count(__u32 verdict, __u64 bytes)
{
    struct nof_steer_count *c = bpf_map_lookup_elem(&nof_steer_stats, &verdict);
    if (c) {
        c->frames++;
        c->bytes += bytes;
    }
}

/* The verdict over a datagram to our port whose UDP header is complete. udp_room: bytes from the UDP
 * header to the end that IP states. Trailing Ethernet padding lies beyond it and is allowed. */
static __always_inline __u32 judge_datagram(const struct udphdr *udp, __u32 udp_room, const void *end)
{
    const struct common_head *head = (const void *)(udp + 1);
    __u32 udp_len = bpf_ntohs(udp->len);

    if (udp_len != udp_room)
        return NOF_STEER_DROP_LENGTH;
    if (udp_len < sizeof(*udp) + COMMON_BYTES)
        return NOF_STEER_DROP_SHORT;
    if ((const void *)(head + 1) > end)
        return NOF_STEER_DROP_SHORT;
    if (head->version != NOF_STEER_VERSION)
        return NOF_STEER_DROP_VERSION;
    if ((head->len[0] | (__u32)head->len[1] << 8) != udp_len - sizeof(*udp))
        return NOF_STEER_DROP_LENGTH;
    return NOF_STEER_TAKEN;
}

/* The verdict over an IPv4 packet. */
static __always_inline __u32 judge_ip(const struct iphdr *ip, const void *end)
{
    const struct udphdr *udp;
    __u32 head_bytes, total_bytes;

    if ((const void *)(ip + 1) > end)
        return NOF_STEER_PASSED;
    if (ip->version != 4 || ip->protocol != IPPROTO_UDP || ip->ihl < 5)
        return NOF_STEER_PASSED;
    /* Later fragments have no port: whose they are cannot be known. */
    if (bpf_ntohs(ip->frag_off) & IP_OFFSET)
        return NOF_STEER_PASSED;
    head_bytes = ip->ihl * 4u;
    udp = (const void *)((const __u8 *)ip + head_bytes);
    if ((const void *)(udp + 1) > end)
        return NOF_STEER_PASSED;
    if (udp->dest != bpf_htons(NOF_STEER_PORT))
        return NOF_STEER_PASSED;

    if (bpf_ntohs(ip->frag_off) & IP_FRAGMENT)
        return NOF_STEER_DROP_FRAGMENT;
    if (head_bytes != sizeof(*ip))
        return NOF_STEER_DROP_OPTIONS;
    total_bytes = bpf_ntohs(ip->tot_len);
    if ((const __u8 *)ip + total_bytes > (const __u8 *)end)
        return NOF_STEER_DROP_SHORT;
    if (total_bytes < sizeof(*ip) + sizeof(*udp))
        return NOF_STEER_DROP_SHORT;
    return judge_datagram(udp, total_bytes - (__u32)sizeof(*ip), end);
}

static __always_inline __u32 judge_frame(const void *data, const void *end)
{
    const struct ethhdr *eth = data;
    const void *next = eth + 1;
    __be16 proto;

    if (next > end)
        return NOF_STEER_PASSED;
    proto = eth->h_proto;
    if (proto == bpf_htons(ETH_P_8021Q)) {
        const struct vlan_tag *tag = next;
        next = tag + 1;
        if (next > end)
            return NOF_STEER_PASSED;
        proto = tag->proto;
    }
    if (proto != bpf_htons(ETH_P_IP))
        return NOF_STEER_PASSED;
    return judge_ip(next, end);
}

SEC("xdp")
int nof_steer(struct xdp_md *ctx)
{
    const void *data = (const void *)(unsigned long)ctx->data;
    const void *end = (const void *)(unsigned long)ctx->data_end;
    __u64 bytes = (__u64)(ctx->data_end - ctx->data);
    __u32 verdict = judge_frame(data, end);
    long action = XDP_DROP;

    if (verdict == NOF_STEER_TAKEN) {
        /* XDP_PASS when the map has no socket for this queue. */
        action = bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS);
        if (action != XDP_REDIRECT)
            verdict = NOF_STEER_NO_SOCKET;
    } else if (verdict == NOF_STEER_PASSED) {
        action = XDP_PASS;
    }
    count(verdict, bytes);
    return (int)action;
}

char _license[] SEC("license") = "Dual BSD/GPL";

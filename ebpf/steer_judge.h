/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-3-Clause)
 *
 * What becomes of a frame. The steering program includes this, and so do programs that prove it beside the core
 * without a kernel. Whoever includes it says first where the table is:
 *
 *   static inline void *nof_steer_table(void *where, __u32 core);                       NULL: there is none
 *   static inline const union nof_steer_block *nof_steer_block(void *table, __u32 index);
 *
 * The frame begins two bytes behind a multiple of four, or unaligned words are no trouble. */
#ifndef NOF_STEER_JUDGE_H
#define NOF_STEER_JUDGE_H

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/types.h>
#include <linux/udp.h>

#include "steer.h"

#define NOF_STEER_INLINE static inline __attribute__((always_inline))

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define STEER_BE16(x) (x)
#define STEER_BE32(x) (x)
#else
#define STEER_BE16(x) __builtin_bswap16(x)
#define STEER_BE32(x) __builtin_bswap32(x)
#endif

#define STEER_IP_FRAGMENT 0x3fff /* more-fragments bit and offset */
#define STEER_IP_OFFSET 0x1fff
#define STEER_HELLO 1 /* NOF_WIRE_HELLO */
#define STEER_HELLO_FIELDS 80 /* NOF_WIRE_HELLO_BYTES */
#define STEER_MDATA 7 /* NOF_WIRE_MDATA */

struct steer_vlan_tag {
    __be16 tci;
    __be16 proto;
};

/* Little-endian, in bytes and words of 32 bits: those of 64 are not aligned. */
struct steer_common {
    __u32 crc;
    __u8 version;
    __u8 type;
    __u8 len[2]; /* bytes */
    __u32 conn[2];
    __u32 pn;
    __u32 ack;
    __u32 endpoints;
    __u8 flags;
    __u8 fields;
    __u8 ack_delay[2];
};

struct steer_hello {
    __u32 job[2];
    __u32 from_nic[2];
    __u32 to_nic[2];
};

NOF_STEER_INLINE __u64 steer_id(const __u32 word[2])
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (__u64)__builtin_bswap32(word[1]) << 32 | __builtin_bswap32(word[0]);
#else
    return (__u64)word[1] << 32 | word[0];
#endif
}

NOF_STEER_INLINE int steer_is_multicast(__be32 ip4)
{
    return (ip4 & STEER_BE32(0xf0000000u)) == STEER_BE32(0xe0000000u);
}

NOF_STEER_INLINE int steer_has_joined(const struct nof_steer_head *head, __be32 ip4)
{
    for (__u32 i = 0; i < NOF_STEER_GROUPS && i < head->ngroups; i++)
        if (head->group[i] == ip4)
            return 1;
    return 0;
}

/* Is there a path with this id, or has there been one until lately? */
NOF_STEER_INLINE int steer_knows(void *table, __u64 id)
{
    __u32 index = (__u32)id & (NOF_STEER_PATHS - 1);
    const union nof_steer_block *block =
        nof_steer_block(table, NOF_STEER_BLOCK_PATHS + index / NOF_STEER_IDS);

    if (id == 0)
        return 0;
    if (block && block->id[index % NOF_STEER_IDS] == id)
        return 1;
    block = nof_steer_block(table, NOF_STEER_BLOCK_DEAD);
    for (__u32 i = 0; block && i < NOF_STEER_IDS && block->id[i] != 0; i++)
        if (block->id[i] == id)
            return 1;
    return 0;
}

/* The verdict over a datagram to our address whose lengths agree. */
NOF_STEER_INLINE __u32 steer_judge_known(void *table, const struct nof_steer_head *head, int multicast,
                                         const struct steer_common *common, const void *end)
{
    const struct steer_hello *hello = (const void *)(common + 1);
    __u64 id = steer_id(common->conn);

    if (multicast)
        return common->type == STEER_MDATA ? NOF_STEER_TAKEN : NOF_STEER_DROP_GROUP;
    if (common->type != STEER_HELLO || id != 0)
        return steer_knows(table, id) ? NOF_STEER_TAKEN : NOF_STEER_DROP_CONN;
    if (common->fields != STEER_HELLO_FIELDS)
        return NOF_STEER_DROP_LENGTH;
    if ((const void *)(hello + 1) > end)
        return NOF_STEER_DROP_SHORT;
    return steer_id(hello->to_nic) == head->nic_id ? NOF_STEER_TAKEN : NOF_STEER_DROP_HELLO;
}

/* The verdict over a datagram to our port whose UDP header is complete. udp_room: bytes from the UDP
 * header to the end that IP states. Trailing Ethernet padding lies beyond it and is allowed. */
NOF_STEER_INLINE __u32 steer_judge_lengths(const struct udphdr *udp, __u32 udp_room, const void *end)
{
    const struct steer_common *common = (const void *)(udp + 1);
    __u32 udp_len = STEER_BE16(udp->len), len;

    if (udp_len != udp_room)
        return NOF_STEER_DROP_LENGTH;
    if (udp_len < sizeof(*udp) + sizeof(*common))
        return NOF_STEER_DROP_SHORT;
    if ((const void *)(common + 1) > end)
        return NOF_STEER_DROP_SHORT;
    if (common->version != NOF_STEER_VERSION)
        return NOF_STEER_DROP_VERSION;
    len = common->len[0] | (__u32)common->len[1] << 8;
    if (len != udp_len - sizeof(*udp) || common->fields > len - sizeof(*common))
        return NOF_STEER_DROP_LENGTH;
    return NOF_STEER_TAKEN;
}

/* The verdict over an IPv4 packet. */
NOF_STEER_INLINE __u32 steer_judge_ip(void *where, const struct iphdr *ip, const void *end)
{
    const struct nof_steer_head *head = (void *)0;
    const struct udphdr *udp;
    __u32 head_bytes, total_bytes, verdict, core;
    void *table;
    int multicast;

    if ((const void *)(ip + 1) > end)
        return NOF_STEER_PASSED;
    if (ip->version != 4 || ip->protocol != IPPROTO_UDP || ip->ihl < 5)
        return NOF_STEER_PASSED;
    /* Later fragments have no port: whose they are cannot be known. */
    if (STEER_BE16(ip->frag_off) & STEER_IP_OFFSET)
        return NOF_STEER_PASSED;
    head_bytes = ip->ihl * 4u;
    udp = (const void *)((const __u8 *)ip + head_bytes);
    if ((const void *)(udp + 1) > end)
        return NOF_STEER_PASSED;
    core = (__u32)STEER_BE16(udp->dest) - NOF_STEER_PORT;
    if (core >= NOF_STEER_CORES)
        return NOF_STEER_PASSED;

    table = nof_steer_table(where, core);
    if (table)
        head = (const void *)nof_steer_block(table, 0);
    else if (core > 0) /* there is no such core here */
        return NOF_STEER_PASSED;
    multicast = steer_is_multicast(ip->daddr);
    /* Another address of this host, or another host behind it: its daemon's. */
    if (head && !multicast && ip->daddr != head->ip4)
        return NOF_STEER_PASSED;
    if (STEER_BE16(ip->frag_off) & STEER_IP_FRAGMENT)
        return NOF_STEER_DROP_FRAGMENT;
    if (head_bytes != sizeof(*ip))
        return NOF_STEER_DROP_OPTIONS;
    total_bytes = STEER_BE16(ip->tot_len);
    if ((const __u8 *)ip + total_bytes > (const __u8 *)end)
        return NOF_STEER_DROP_SHORT;
    if (total_bytes < sizeof(*ip) + sizeof(*udp))
        return NOF_STEER_DROP_SHORT;
    verdict = steer_judge_lengths(udp, total_bytes - (__u32)sizeof(*ip), end);
    if (verdict != NOF_STEER_TAKEN || !head)
        return verdict;
    if (multicast && !steer_has_joined(head, ip->daddr))
        return NOF_STEER_DROP_GROUP;
    /* Checked before, but the bound of a packet is forgotten where a function is left. */
    if ((const char *)(udp + 1) + sizeof(struct steer_common) > (const char *)end)
        return NOF_STEER_DROP_SHORT;
    return steer_judge_known(table, head, multicast, (const void *)(udp + 1), end);
}

/* The verdict over a frame. Only one VLAN tag is looked behind. */
NOF_STEER_INLINE __u32 nof_steer_judge(void *where, const void *data, const void *end)
{
    const struct ethhdr *eth = data;
    const void *next = eth + 1;
    __be16 proto;

    if (next > end)
        return NOF_STEER_PASSED;
    proto = eth->h_proto;
    if (proto == STEER_BE16(ETH_P_8021Q)) {
        const struct steer_vlan_tag *tag = next;
        next = tag + 1;
        if (next > end)
            return NOF_STEER_PASSED;
        proto = tag->proto;
    }
    if (proto != STEER_BE16(ETH_P_IP))
        return NOF_STEER_PASSED;
    return steer_judge_ip(where, next, end);
}

#endif

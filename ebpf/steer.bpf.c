/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-3-Clause)
 *
 * XDP steering: frames of this project that somebody here waits for go to the AF_XDP socket of the queue they came in
 * on, for the kernel takes them to no other; whose they are is between the NIC cores (firmware/port/dpdk/cores.c).
 * Malformed ones and those of strangers are dropped and counted, everything else stays the kernel's.
 *
 * CRC and the state of paths are the firmware's business. Loaded by DPDK's net_af_xdp (xdp_prog=): it opens this object,
 * takes its first program, and puts its sockets into the map "xsks_map" by queue number. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "steer.h"

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

struct known_table {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
    __uint(max_entries, NOF_STEER_BLOCKS);
    __uint(key_size, sizeof(__u32)); /* of an inner map clang tells no types */
    __uint(value_size, sizeof(union nof_steer_block));
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, NOF_STEER_CORES);
    __type(key, __u32);
    __array(values, struct known_table);
} nof_steer_known SEC(".maps");

static __always_inline void *nof_steer_table(void *where, __u32 core)
{
    (void)where;
    return bpf_map_lookup_elem(&nof_steer_known, &core);
}

static __always_inline const union nof_steer_block *nof_steer_block(void *table, __u32 index)
{
    return bpf_map_lookup_elem(table, &index);
}

#include "steer_judge.h"

static __always_inline void count(__u32 verdict, __u64 bytes)
{
    struct nof_steer_count *c = bpf_map_lookup_elem(&nof_steer_stats, &verdict);
    if (c) {
        c->frames++;
        c->bytes += bytes;
    }
}

SEC("xdp")
int nof_steer(struct xdp_md *ctx)
{
    const void *data = (const void *)(unsigned long)ctx->data;
    const void *end = (const void *)(unsigned long)ctx->data_end;
    __u64 bytes = (__u64)(ctx->data_end - ctx->data);
    __u32 verdict = nof_steer_judge(ctx, data, end);
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

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * usage: xdp_drop IFNAME
 * Puts a program that drops every frame on the interface's generic hook, where nof has its own on virtual devices, and leaves it
 * there: the least that XDP can do with strangers. */
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/if_link.h>

int main(int argc, char **argv)
{
    /* r0 = XDP_DROP; exit */
    static const struct bpf_insn code[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_DROP},
        {.code = BPF_JMP | BPF_EXIT},
    };
    int fd, rc;

    if (argc != 2) {
        fprintf(stderr, "usage: xdp_drop IFNAME\n");
        return 2;
    }
    fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "bare_drop", "GPL", code, sizeof(code) / sizeof(code[0]), NULL);
    rc = fd < 0 ? fd : bpf_xdp_attach((int)if_nametoindex(argv[1]), fd, XDP_FLAGS_SKB_MODE, NULL);
    if (rc < 0)
        fprintf(stderr, "%s cannot have a program: %s\n", argv[1], strerror(-rc));
    return rc < 0;
}

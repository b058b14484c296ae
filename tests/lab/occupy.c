/* SPDX-License-Identifier: BSD-3-Clause
 *
 * usage: occupy IFNAME native|generic PROGRAM-NAME
 * Puts an XDP program of that name, which passes everything, on an interface and leaves it there. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/if_link.h>

int main(int argc, char **argv)
{
    /* r0 = XDP_PASS; exit */
    static const struct bpf_insn code[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
        {.code = BPF_JMP | BPF_EXIT},
    };
    int fd, rc;

    if (argc != 4) {
        fprintf(stderr, "usage: occupy IFNAME native|generic PROGRAM-NAME\n");
        return 2;
    }
    fd = bpf_prog_load(BPF_PROG_TYPE_XDP, argv[3], "GPL", code, sizeof(code) / sizeof(code[0]), NULL);
    rc = fd < 0 ? fd
                : bpf_xdp_attach((int)if_nametoindex(argv[1]), fd,
                                 strcmp(argv[2], "generic") == 0 ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE,
                                 NULL);
    if (rc < 0)
        fprintf(stderr, "%s cannot have a program: %s\n", argv[1], strerror(-rc));
    return rc < 0;
}

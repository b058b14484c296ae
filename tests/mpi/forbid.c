/* SPDX-License-Identifier: BSD-3-Clause */
/* forbid WHAT[,WHAT...] COMMAND [ARG...]: runs the command, to which the kernel does not grant these calls (seccomp). */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Of an ioctl, its number and the bytes of its argument say which. */
static const struct rule {
    const char *name;
    uint32_t call, ioctl; /* ioctl 0: all of that call */
    uint32_t error;
} rules[] = {
    {"procmap-query", SYS_ioctl, 0xc0686611, ENOTTY}, /* Linux 6.11 has it */
    {"pagemap-scan", SYS_ioctl, 0xc0606610, ENOTTY}, /* 6.7 */
    {"uffd-move", SYS_ioctl, 0xc028aa05, EINVAL}, /* 6.8 */
    {"userfaultfd", SYS_userfaultfd, 0, EPERM},        {"other-memory", SYS_process_vm_readv, 0, EPERM},
    {"other-memory", SYS_process_vm_writev, 0, EPERM},
};

static int forbid(const struct rule *rule)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(rule->ioctl == 0 ? BPF_JMP | BPF_JA : BPF_JMP | BPF_JEQ | BPF_K, rule->ioctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | rule->error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        printf("skipped: no seccomp here\n");
        return 77;
    }
    for (char *name = strtok(argv[1], ","); name != NULL; name = strtok(NULL, ",")) {
        int known = 0;
        for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
            if (strcmp(rules[i].name, name) != 0)
                continue;
            known = 1;
            if (forbid(&rules[i]) != 0) {
                printf("skipped: no seccomp here: %s\n", strerror(errno));
                return 77;
            }
        }
        if (!known) {
            fprintf(stderr, "%s: not known\n", name);
            return 2;
        }
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 2;
}

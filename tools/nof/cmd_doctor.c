/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof doctor`: what this machine allows, one line each, and what to type about the rest. Only a missing must is a
 * failure; everything else costs speed or a kind of port, or is there to be known. */
#include "commands.h"
#include "find_daemon.h"

#include "bind/vfio.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum verdict { GOOD, COSTS, FAILS, KNOW };

struct check {
    const char *name;
    /* Fills `text` with what was found, or with what to do about it. */
    enum verdict (*run)(char *text, size_t text_bytes);
};

static enum verdict daemon_there(char *text, size_t n)
{
    char path[4096];

    if (!nof_daemon_find(path, sizeof(path), "nof doctor")) {
        snprintf(text, n, "not found: see above");
        return FAILS;
    }
    snprintf(text, n, "%.200s", path);
    return GOOD;
}

static enum verdict sealed_memory(char *text, size_t n)
{
    int fd = memfd_create("nof-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int rc = fd < 0 ? -1 : fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);

    if (fd >= 0)
        close(fd);
    if (rc != 0) {
        snprintf(text, n, "refused (%s): a Linux kernel of 5.1 or later is needed", strerror(errno));
        return FAILS;
    }
    snprintf(text, n, "memfd with seals");
    return GOOD;
}

static enum verdict cpus(char *text, size_t n)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

    snprintf(text, n, "%d for ranks and NIC cores%s", count,
             count < 2 ? ": everything works, in turns; two or more are faster" : "");
    return count < 2 ? COSTS : GOOD;
}

static enum verdict direct_copies(char *text, size_t n)
{
    struct nof_system m;
    char scope[8];
    char from = 'x';
    char to = 0;
    struct iovec here = {.iov_base = &to, .iov_len = 1};
    struct iovec there = {.iov_base = &from, .iov_len = 1};

    nof_system_open(&m, "nof doctor");
    if (!nof_system_read(&m, scope, sizeof(scope), "/proc/sys/kernel/yama/ptrace_scope"))
        snprintf(scope, sizeof(scope), "0");
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1) {
        snprintf(text, n,
                 "the system call is filtered away (%s): ranks copy themselves, about half as fast; in a "
                 "container: --cap-add=SYS_PTRACE or a newer seccomp profile",
                 strerror(errno));
        return COSTS;
    }
    if (scope[0] > '1') {
        /* Who has set 3 cannot take it back (Documentation/admin-guide/LSM/Yama.rst of Linux). */
        snprintf(text, n, "ptrace_scope is %s: ranks copy themselves, about half as fast; %s", scope,
                 scope[0] == '2' ? "as root: sysctl kernel.yama.ptrace_scope=1"
                                 : "it stays until the next boot: see what sets it in /etc/sysctl.d");
        return COSTS;
    }
    snprintf(text, n, "process_vm_readv, ptrace_scope %s", scope);
    return GOOD;
}

static enum verdict xdp_sockets(char *text, size_t n)
{
    int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        snprintf(text, n,
                 "no AF_XDP socket (%s): only for real ports; needs root and a kernel with XDP_SOCKETS, "
                 "else use net_af_packet, or udp:ADDRESS without root",
                 strerror(errno));
        return COSTS;
    }
    close(fd);
    snprintf(text, n, "AF_XDP sockets");
    return GOOD;
}

/* What the kernel keeps for a socket of a user while its NIC core does not run. */
static unsigned long receive_most(void)
{
    FILE *f = fopen("/proc/sys/net/core/rmem_max", "re");
    unsigned long bytes = 0;

    if (f != NULL) {
        if (fscanf(f, "%lu", &bytes) != 1)
            bytes = 0;
        fclose(f);
    }
    return bytes;
}

static enum verdict udp_sockets(char *text, size_t n)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), segment = 1400;
    bool cuts = fd >= 0 && setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)) == 0;
    int error = errno;
    unsigned long most = receive_most();

    if (fd >= 0)
        close(fd);
    if (fd < 0 || !cuts) {
        snprintf(text, n,
                 fd < 0 ? "no UDP sockets: %s"
                        : "UDP sockets without UDP_SEGMENT (%s): --port udp:ADDRESS is slow",
                 strerror(error));
        return COSTS;
    }
    snprintf(text, n, "UDP sockets with UDP_SEGMENT, %lu KiB kept%s", most >> 10,
             most < 1 << 20 && geteuid() != 0
                 ? ": sysctl -w net.core.rmem_max=8388608 lets paths have more under way"
                 : "");
    return GOOD;
}

/* Of PCI NICs that nofd has for itself: `nof bind`. */
static enum verdict iommu(char *text, size_t n)
{
    struct nof_system m;
    json_t *groups, *nics;
    size_t count;
    bool any;

    nof_system_open(&m, "nof doctor");
    groups = nof_system_names(&m, "/sys/kernel/iommu_groups");
    nics = nof_pci_nics(&m);
    count = json_array_size(groups);
    any = json_array_size(nics) > 0;
    json_decref(groups);
    json_decref(nics);
    if (count > 0 || !any) {
        snprintf(text, n, any ? "%zu IOMMU groups: `nof devices` lists the NICs" : "no PCI NIC here", count);
        return any ? GOOD : KNOW;
    }
    snprintf(text, n,
             "no IOMMU: `nof bind` needs one (intel_iommu=on or amd_iommu=on on the kernel's command line, "
             "VT-d or "
             "AMD-Vi in the firmware), or --no-iommu");
    return COSTS;
}

static enum verdict vfio(char *text, size_t n)
{
    struct nof_system m;
    char *said = NULL;
    size_t said_bytes;
    bool ready;

    nof_system_open(&m, "nof doctor");
    m.err = open_memstream(&said, &said_bytes);
    if (m.err == NULL) {
        snprintf(text, n, "not looked at: no memory");
        return FAILS;
    }
    ready = nof_vfio_ready(&m, false);
    fclose(m.err);
    free(said);
    snprintf(text, n,
             ready
                 ? "vfio-pci, for `nof bind`"
                 : "no vfio-pci: `nof bind` needs the modules of the kernel that runs, with CONFIG_VFIO_PCI");
    return ready ? GOOD : COSTS;
}

static enum verdict hugepages(char *text, size_t n)
{
    struct nof_system m;
    struct nof_pages pages;

    nof_system_open(&m, "nof doctor");
    if (!nof_pages_look(&m, -1, &pages)) {
        snprintf(text, n, "the kernel has none: PCI NICs are slower, and cannot be had without an IOMMU");
        return COSTS;
    }
    snprintf(text, n, "%ld unused of %ld, of %lu kB%s", pages.unused, pages.total, pages.page_kb,
             pages.unused == 0 ? ": for PCI NICs `nof bind --hugepages` makes some" : "");
    return pages.unused == 0 ? KNOW : GOOD;
}

static enum verdict open_files(char *text, size_t n)
{
    long most = sysconf(_SC_OPEN_MAX);

    snprintf(text, n, "%ld open files%s", most,
             most < 1024 ? ": raise it for many ranks (ulimit -n 4096)" : "");
    return most < 1024 ? COSTS : GOOD;
}

static enum verdict wire_in_clear(char *text, size_t n)
{
    snprintf(
        text, n,
        "payload crosses the wire in clear: protected against accident, not against a man in the middle; "
        "use real ports on a network that you trust (docs/WIRE.md)");
    return KNOW;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    if (key == ARGP_KEY_ARG)
        argp_error(state, "'%s' is one argument too many", arg);
    return ARGP_ERR_UNKNOWN;
}

int nof_cmd_doctor(int argc, char **argv)
{
    static const char *const words[] = {[GOOD] = "ok", [COSTS] = "costs", [FAILS] = "FAILS", [KNOW] = "note"};
    static const struct check checks[] = {
        {"daemon", daemon_there},
        {"shared memory", sealed_memory},
        {"CPUs", cpus},
        {"direct copies", direct_copies},
        {"real ports", xdp_sockets},
        {"UDP ports", udp_sockets},
        {"PCI ports", iommu},
        {"PCI ports", vfio},
        {"hugepages", hugepages},
        {"limits", open_files},
        {"privacy", wire_in_clear},
    };
    const struct argp argp = {NULL, parse, NULL, "What this machine allows, and what to do about the rest.",
                              NULL, NULL,  NULL};
    bool failed = false;

    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        char text[512];
        enum verdict verdict = checks[i].run(text, sizeof(text));

        printf("%-6s %-14s %s\n", words[verdict], checks[i].name, text);
        failed |= verdict == FAILS;
    }
    return failed;
}

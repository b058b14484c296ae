/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/sys/eal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include "port/dpdk/dpdk_port.h"
#include "port/udp/udp_port.h"
#include "nofd/sys/limits.h"
#include "nofd/sys/log.h"

#define ARGS_MAX 64
#define TEXT_MAX 8192
#define CPUS_OF_SYSFS "/sys/devices/system/cpu"
#define CPUS_TEXT 4096
#define EAL_MB 16u
#define PORT_MB 32u /* of a port, beside its pool: rings, and what the heap cannot use at its ends */

struct args {
    char *argv[ARGS_MAX];
    int argc;
    char text[TEXT_MAX];
    size_t used;
    bool overflow; /* an argument did not fit */
};

__attribute__((format(printf, 2, 3))) static void add(struct args *args, const char *format, ...)
{
    char *at = args->text + args->used;
    va_list list;
    int n;

    va_start(list, format);
    n = vsnprintf(at, sizeof(args->text) - args->used, format, list);
    va_end(list);
    if (n < 0 || args->used + (size_t)n + 1 > sizeof(args->text) || args->argc == ARGS_MAX - 1) {
        args->overflow = true;
        return;
    }
    args->used += (size_t)n + 1;
    args->argv[args->argc++] = at;
}

/* "(0-3,6)": every CPU that we may use, as ranges. */
static void cpu_list(char *text, size_t text_bytes)
{
    cpu_set_t cpus;
    size_t used = 1;
    int first = -1;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0) {
        CPU_ZERO(&cpus);
        CPU_SET(0, &cpus);
    }
    text[0] = '(';
    text[1] = '\0';
    for (int i = 0; i <= CPU_SETSIZE && used + 16 < text_bytes; i++) {
        bool in = i < CPU_SETSIZE && CPU_ISSET((size_t)i, &cpus);

        if (in && first < 0)
            first = i;
        if (in || first < 0)
            continue;
        used +=
            (size_t)snprintf(text + used, text_bytes - used, "%s%d-%d", used > 1 ? "," : "", first, i - 1);
        first = -1;
    }
    snprintf(text + used, text_bytes - used, ")");
}

static bool is_pci(const char *port)
{
    unsigned domain, bus, device, function;

    return sscanf(port, "%x:%x:%x.%x", &domain, &bus, &device, &function) == 4 ||
           sscanf(port, "%x:%x.%x", &bus, &device, &function) == 3;
}

static unsigned pool_mb(const struct nofd_options *o, const char *devargs)
{
    struct nof_dpdk_port_config cfg = {
        .devargs = devargs, .mtu_bytes = o->mtu_bytes, .ncores = o->cores_per_nic};

    return (unsigned)((o->cores_per_nic * nof_dpdk_queue_mem_bytes(&cfg)) >> 20) + 1;
}

/* Of an interface that is named alone: what either of the two drivers takes, whichever it will be. */
static unsigned port_mb(const struct nofd_options *o, const char *port)
{
    char devargs[NOFD_DEVARGS_BYTES + 32];
    unsigned xdp_mb, packet_mb;

    if (if_nametoindex(port) == 0)
        return pool_mb(o, port);
    snprintf(devargs, sizeof(devargs), "net_af_xdp,iface=%s", port);
    xdp_mb = pool_mb(o, devargs);
    snprintf(devargs, sizeof(devargs), "net_af_packet,iface=%s", port);
    packet_mb = pool_mb(o, devargs);
    return xdp_mb > packet_mb ? xdp_mb : packet_mb;
}

/* Frames of the ports; the fabric brings its own memory. */
static unsigned memory_mb(const struct nofd_options *o)
{
    unsigned mb = EAL_MB;

    if (o->memory_mb != 0)
        return o->memory_mb;
    for (unsigned i = 0; i < o->nports; i++)
        mb += nof_udp_port_is(o->port[i]) ? 0 : PORT_MB + port_mb(o, o->port[i]);
    return mb;
}

/* Bytes of hugepages, of any size, that are free. */
static uint64_t hugepages_free_bytes(void)
{
    static const char folder[] = "/sys/kernel/mm/hugepages";
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    uint64_t bytes = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char path[sizeof(folder) + sizeof(entry->d_name) + 16];
        unsigned long kb, pages;
        FILE *file;

        snprintf(path, sizeof(path), "%s/%s/free_hugepages", folder, entry->d_name);
        if (sscanf(entry->d_name, "hugepages-%lukB", &kb) != 1 || (file = fopen(path, "re")) == NULL)
            continue;
        if (fscanf(file, "%lu", &pages) == 1)
            bytes += (uint64_t)pages * kb << 10;
        (void)fclose(file);
    }
    if (dir != NULL)
        (void)closedir(dir);
    return bytes;
}

/* Where a device reads and writes our memory by itself, small pages cost it a look into its IOMMU's tables for each. */
static bool wants_hugepages(const struct nofd_options *o)
{
    unsigned mb = memory_mb(o);
    uint64_t free_mb;
    bool pci = false;

    for (unsigned i = 0; i < o->nports; i++)
        pci = pci || is_pci(o->port[i]);
    if (!pci)
        return false;
    free_mb = hugepages_free_bytes() >> 20;
    if (free_mb < mb)
        nofd_notice("%u MB of hugepages would serve a PCI device better than pages of 4 KiB do, and %llu MB "
                    "are free; for "
                    "pages of 2 MB type: sysctl -w vm.nr_hugepages=%u",
                    mb, (unsigned long long)free_mb, mb / 2 + 8);
    return free_mb >= mb;
}

static void fill(struct args *args, const struct nofd_options *o)
{
    char cpus[CPUS_TEXT];
    bool debug = o->feature[NOF_F_LOG_LEVEL] >= NOFD_LOG_DEBUG;
    bool pci = false;

    cpu_list(cpus, sizeof(cpus));
    add(args, "nofd");
    add(args, wants_hugepages(o) ? "--in-memory" : "--no-huge");
    add(args, "--no-shconf");
    add(args, "--no-telemetry");
    add(args, "--no-hpet");
    add(args, "-m");
    add(args, "%u", memory_mb(o));
    add(args, "--lcores=0@%s", cpus); /* the main thread alone: NIC cores register (core/core_loop.h) */
    /* EAL itself would speak of the directory that it cannot make; what else it cannot do, we say. */
    add(args, "--log-level=%s", debug ? "info" : "error");
    if (!debug)
        add(args, "--log-level=lib.eal:critical");
    for (unsigned i = 0; i < o->nports; i++) {
        if (!is_pci(o->port[i]))
            continue;
        pci = true;
        add(args, "-a");
        add(args, "%s", o->port[i]);
    }
    if (!pci)
        add(args, "--no-pci");
}

struct start {
    struct args *args;
    int rc, why;
};

static void *start(void *arg)
{
    struct start *s = arg;

    s->rc = rte_eal_init(s->args->argc, s->args->argv);
    s->why = rte_errno; /* each thread has its own */
    return NULL;
}

/* EAL waits for its thread by sleeps of 1 us, over before they begin: in a real-time class that thread never runs if it has the same CPU.
 * So EAL starts on a thread of no such class, which its own inherit. */
static void start_without_class(struct start *s)
{
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    pthread_attr_t attr;
    pthread_t thread;
    bool apart = policy == SCHED_FIFO || policy == SCHED_RR;

    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED); /* SCHED_OTHER */
    if (apart && pthread_create(&thread, &attr, start, s) == 0)
        (void)pthread_join(thread, NULL);
    else
        (void)start(s);
    (void)pthread_attr_destroy(&attr);
}

int nofd_eal_start(const struct nofd_options *options, char *err, size_t err_bytes)
{
    static struct args args; /* DPDK keeps pointers into argv */
    struct start s = {.args = &args};

    if (access(CPUS_OF_SYSFS, X_OK) != 0) { /* it would take its arguments for wrong, and show them all */
        snprintf(err, err_bytes, "DPDK finds CPUs in " CPUS_OF_SYSFS " (%s): mount sysfs at /sys",
                 strerror(errno));
        return -1;
    }
    /* DPDK makes a directory for what is switched off here, and goes on where none can be made: so that a daemon that
     * is killed at any moment leaves none behind. */
    setenv("RUNTIME_DIRECTORY", "/dev/null", 1);
    fill(&args, options);
    if (args.overflow) {
        snprintf(err, err_bytes,
                 "DPDK's arguments are too long for %u ports and this set of CPUs: give "
                 "fewer --port, or bind nofd to a range of CPUs with taskset",
                 options->nports);
        return -1;
    }
    start_without_class(&s);
    if (options->feature[NOF_F_LOG_LEVEL] < NOFD_LOG_DEBUG)
        (void)rte_log_set_level_pattern("lib.eal", RTE_LOG_ERR);
    if (s.rc < 0) {
        snprintf(err, err_bytes,
                 "DPDK does not start: %s%s; try again with --log debug to see its own words, or with less "
                 "--memory",
                 rte_strerror(s.why), nofd_limits_hint(s.why));
        return -1;
    }
    return 0;
}

void nofd_eal_stop(void)
{
    (void)rte_eal_cleanup();
}

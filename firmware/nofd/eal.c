/* SPDX-License-Identifier: BSD-3-Clause */
#include "eal.h"

#include <ctype.h>
#include <errno.h>
#include <ftw.h>
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

#include "log.h"

#define ARGS_MAX 64
#define TEXT_MAX 8192
#define CPUS_TEXT 4096

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
        int in = i < CPU_SETSIZE && CPU_ISSET((size_t)i, &cpus);

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

static int is_pci(const char *port)
{
    unsigned domain, bus, device, function;

    return sscanf(port, "%x:%x:%x.%x", &domain, &bus, &device, &function) == 4 ||
           sscanf(port, "%x:%x.%x", &bus, &device, &function) == 3;
}

/* Frames of the ports, with room for rings and pools; the fabric brings its own memory. */
static unsigned memory_mb(const struct nofd_options *o)
{
    unsigned frame_mb = o->mtu_bytes > 1600 ? 256 : 96;

    if (o->memory_mb != 0)
        return o->memory_mb;
    return 16 + o->nports * frame_mb;
}

static void fill(struct args *args, const struct nofd_options *o)
{
    char cpus[CPUS_TEXT];
    char lcores[TEXT_MAX / 2];
    size_t used = 0;
    int pci = 0;

    cpu_list(cpus, sizeof(cpus));
    for (unsigned i = 0; i <= o->cores && used < sizeof(lcores); i++)
        used += (size_t)snprintf(lcores + used, sizeof(lcores) - used, "%s%u@%s", i > 0 ? "," : "", i, cpus);
    add(args, "nofd");
    add(args, "--no-huge");
    add(args, "--no-shconf");
    add(args, "--no-telemetry");
    add(args, "--no-hpet");
    add(args, "-m");
    add(args, "%u", memory_mb(o));
    args->overflow |= used >= sizeof(lcores);
    add(args, "--lcores=%s", lcores);
    add(args, "--log-level=%s", o->log_level >= NOFD_LOG_DEBUG ? "info" : "error");
    for (unsigned i = 0; i < o->nports; i++) {
        if (!is_pci(o->port[i]))
            continue;
        pci = 1;
        add(args, "-a");
        add(args, "%s", o->port[i]);
    }
    if (!pci)
        add(args, "--no-pci");
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int nofd_eal_start(const struct nofd_options *options, char *err, size_t err_bytes)
{
    static struct args args; /* DPDK keeps pointers into argv */
    const char *tmp = getenv("TMPDIR");
    char directory[256];
    int rc;

    /* DPDK wants a runtime directory; with what is switched off nothing in it is used, so it goes at
     * once, and a daemon that is killed leaves none behind. */
    snprintf(directory, sizeof(directory), "%.200s/nofd.XXXXXX", tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
    if (mkdtemp(directory) == NULL) {
        snprintf(err, err_bytes,
                 "cannot create a directory in %s: %s; set TMPDIR to a place that can be written",
                 tmp != NULL ? tmp : "/tmp", strerror(errno));
        return -1;
    }
    setenv("RUNTIME_DIRECTORY", directory, 1);
    fill(&args, options);
    if (args.overflow) {
        nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
        snprintf(err, err_bytes,
                 "DPDK's arguments are too long for %u cores, %u ports and this set of CPUs: give "
                 "fewer --cores or --port, or bind nofd to a range of CPUs with taskset",
                 options->cores, options->nports);
        return -1;
    }
    rc = rte_eal_init(args.argc, args.argv);
    nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    if (rc < 0) {
        snprintf(
            err, err_bytes,
            "DPDK does not start: %s; try again with --log debug to see its own words, or with less --memory",
            rte_strerror(rte_errno));
        return -1;
    }
    return 0;
}

void nofd_eal_stop(void)
{
    (void)rte_eal_cleanup();
}

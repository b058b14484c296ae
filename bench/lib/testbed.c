/* SPDX-License-Identifier: BSD-3-Clause */
#include "testbed.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "scratch.h"

#define START_MS 60000
#define ASK_MS 20000
#define END_MS 5000
#define BURST_US 250
#define BURST_MOST 32768u /* as NOF_LAB_BURST */

static struct nof_testbed *up; /* what the signal handler and atexit() take down */

void nof_testbed_down(struct nof_testbed *bed)
{
    up = NULL;
    for (unsigned i = 0; i < bed->daemons; i++)
        if (bed->nofd[i].pid > 0)
            (void)kill(bed->nofd[i].pid, SIGTERM);
    for (unsigned i = 0; i < bed->daemons; i++)
        nof_child_end(&bed->nofd[i], END_MS);
    bed->daemons = 0;
    nof_lab_down(&bed->lab);
    nof_lab_down(&bed->peers);
}

static void at_exit(void)
{
    if (up != NULL)
        nof_testbed_down(up);
}

/* Children end with us; the namespaces would not. */
static void on_signal(int number)
{
    if (up != NULL) {
        nof_lab_down(&up->lab);
        nof_lab_down(&up->peers);
    }
    _exit(128 + number);
}

static bool start_nofd(struct nof_testbed *bed, const char *host, const char *kind, const char *what,
                       const char *const *more)
{
    char path[NOF_BENCH_PATH_BYTES], text[256];
    const char *argv[NOF_CHILD_ARGS_MAX] = {path,         kind, what,    "--socket",       bed->socket,
                                            "--ready-fd", "1",  "--set", "compression=off"};
    struct nof_child *child = &bed->nofd[bed->daemons++];
    unsigned n = 9;

    nof_bench_beside("nofd", path);
    while (*more != NULL)
        argv[n++] = *more++;
    return nof_child_start(child, host, argv, NOF_CHILD_STDOUT, bed->log) == 0 &&
           nof_child_read_until(child, text, sizeof(text), "ready", START_MS) == 0;
}

static const char *fabric_up(struct nof_testbed *bed)
{
    char hosts[16], rate[32], buffer[32], mtu[16];
    const char *const more[] = {"--link", rate, "--buffer", buffer, "--mtu", mtu, NULL};

    snprintf(hosts, sizeof(hosts), "%u", bed->config.hosts);
    snprintf(rate, sizeof(rate), "%llu", (unsigned long long)bed->config.rate_bps);
    snprintf(buffer, sizeof(buffer), "%llu", (unsigned long long)bed->config.buffer_bytes);
    snprintf(mtu, sizeof(mtu), "%u", bed->config.mtu_bytes);
    return start_nofd(bed, NULL, "--fabric", hosts, more) ? NULL
                                                          : "nofd does not start; nofd --fabric 2 says why";
}

/* What a timer may be late by, in two frames at least. */
static uint64_t burst_bytes(const struct nof_testbed_config *config)
{
    uint64_t late = config->rate_bps / 8 * BURST_US / 1000000, least = UINT64_C(2) * (config->mtu_bytes + 14);

    if (late > BURST_MOST)
        late = BURST_MOST;
    return late > least ? late : least;
}

static const char *lab_up(struct nof_testbed *bed)
{
    static const char *const none[] = {NULL};
    const char *missing = nof_lab_missing();
    char rate[32], buffer[32], burst[32], port[96];

    if (missing != NULL)
        return missing;
    snprintf(rate, sizeof(rate), "%llubit", (unsigned long long)bed->config.rate_bps);
    snprintf(buffer, sizeof(buffer), "%llub", (unsigned long long)bed->config.buffer_bytes);
    snprintf(burst, sizeof(burst), "%llub", (unsigned long long)burst_bytes(&bed->config));
    snprintf(port, sizeof(port), "net_af_xdp,iface=eth0,rate=%llu", (unsigned long long)bed->config.rate_bps);
    if (nof_lab_up(&bed->lab, bed->config.hosts, rate, buffer, burst, bed->config.mtu_bytes) != 0 ||
        nof_lab_up(&bed->peers, bed->config.hosts, rate, buffer, burst, bed->config.mtu_bytes) != 0)
        return "the network namespaces of the lab cannot be set up";
    for (unsigned i = 0; i < bed->config.hosts; i++)
        if (!start_nofd(bed, bed->lab.host[i], "--port", port, none))
            return "nofd does not start in the lab: nof bench wire tries the same with two hosts";
    return NULL;
}

/* Without it nofd goes on, and its log says so: ranks copy themselves, which is not what is to be measured. */
static bool have_helper(void)
{
    char path[NOF_BENCH_PATH_BYTES];

    nof_bench_beside("nofd-dma", path);
    return access(path, X_OK) == 0;
}

const char *nof_testbed_up(struct nof_testbed *bed, const struct nof_testbed_config *config)
{
    const char *dir = nof_bench_scratch();
    const char *why;

    if (dir == NULL)
        return "no folder for temporary files; set TMPDIR";
    if (!have_helper())
        return "nofd-dma is not beside this program: run this from the build tree, or copy it, too";
    *bed = (struct nof_testbed){.config = *config};
    snprintf(bed->socket, sizeof(bed->socket), "@nof-bench-%d", getpid());
    snprintf(bed->log, sizeof(bed->log), "%s/nofd.log", dir);
    nof_bench_beside("nof", bed->nof);
    if (up == NULL)
        (void)atexit(at_exit);
    up = bed;
    (void)signal(SIGINT, on_signal);
    (void)signal(SIGTERM, on_signal);
    (void)signal(SIGHUP, on_signal);
    (void)signal(SIGPIPE, SIG_IGN);
    why = config->lab ? lab_up(bed) : fabric_up(bed);
    if (why != NULL)
        nof_testbed_down(bed);
    return why;
}

/* Runs `nof WORD... --control` beside daemon i; what it prints is appended to `log`, NULL: nowhere. */
static bool ask(const struct nof_testbed *bed, unsigned i, const char *word, const char *option,
                const char *log)
{
    char control[80];
    const char *const argv[] = {bed->nof, word, option, "--control", control, NULL};
    struct nof_child child;

    snprintf(control, sizeof(control), "%s.ctl", bed->socket);
    return nof_child_start(&child, bed->config.lab ? bed->lab.host[i] : NULL, argv, 0, log) == 0 &&
           nof_child_wait(&child, ASK_MS) == 0;
}

bool nof_testbed_set(const struct nof_testbed *bed, const char *setting)
{
    bool all = true;

    for (unsigned i = 0; i < bed->daemons; i++)
        all = ask(bed, i, "set", setting, NULL) && all;
    return all;
}

static double sum_of(const json_t *rows, const char *inside, const char *key)
{
    const json_t *row;
    double sum = 0;
    size_t i;

    json_array_foreach(rows, i, row) sum +=
        json_number_value(json_object_get(inside != NULL ? json_object_get(row, inside) : row, key));
    return sum;
}

double nof_testbed_drops(const struct nof_testbed *bed)
{
    char path[NOF_BENCH_PATH_BYTES];
    const char *const tc[] = {"tc", "-s", "-j", "qdisc", "show", NULL};
    struct nof_child child;
    json_t *root = NULL;
    double drops = -1;
    bool said;

    snprintf(path, sizeof(path), "%s/drops.json", nof_bench_scratch());
    (void)unlink(path);
    if (bed->config.lab)
        said = nof_child_start(&child, bed->lab.sw, tc, 0, path) == 0 && nof_child_wait(&child, ASK_MS) == 0;
    else
        said = ask(bed, 0, "stats", "--json", path);
    if (said)
        root = json_load_file(path, 0, NULL);
    if (root != NULL)
        drops = bed->config.lab ? sum_of(root, NULL, "drops")
                                : sum_of(json_object_get(root, "rows"), "fabric", "drop_buffer");
    json_decref(root);
    return drops;
}

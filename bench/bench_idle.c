/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench idle`: what waiting costs. CPU of a daemon without work on the fabric and on net_af_xdp, CPU of ranks
 * that wait in MPI_Recv, and the first 8 bytes after a second of silence. */
#include "../tools/nof/commands.h"
#include "../tools/nof/find_daemon.h"
#include "lib/child.h"
#include "lib/lab_net.h"
#include "lib/option.h"
#include "lib/report.h"
#include "lib/spawn.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETTLE_MS 1000
#define WAKES_MAX 32
#define RUN_S 60
#define READY_MS 30000
#define GRACE_MS 5000

enum { OPT_SECONDS = 256, OPT_SILENCES };

struct bench {
    bool json;
    unsigned seconds;
    unsigned silences;
    double rank_percent;
    double wake_us[WAKES_MAX];
    size_t wakes;
};

static void take_line(void *ctx, const char *text)
{
    struct bench *b = ctx;
    double value;

    if (sscanf(text, "idle %lf", &value) == 1)
        b->rank_percent = value;
    else if (sscanf(text, "wake %lf", &value) == 1 && b->wakes < WAKES_MAX)
        b->wake_us[b->wakes++] = value;
}

static bool run_ranks(struct bench *b)
{
    char nof[NOF_BENCH_PATH_BYTES];
    char program[NOF_BENCH_PATH_BYTES];
    char seconds[16];
    char silences[16];
    const char *const argv[] = {"env", "-u", "NOF_SOCKET", nof,     "run",    "--hosts", "2",
                                "-n",  "2",  program,      seconds, silences, NULL};

    nof_bench_beside("nof", nof);
    nof_bench_beside("bench/idle_mpi", program);
    snprintf(seconds, sizeof(seconds), "%u", b->seconds);
    snprintf(silences, sizeof(silences), "%u", b->silences);
    return access(program, X_OK) == 0 && nof_bench_spawn(argv, "/dev/stderr", RUN_S, take_line, b) == 0;
}

/* CPU of a process over the measured time, after it has settled; NAN if it ended. */
static double cpu_percent(pid_t pid, unsigned seconds)
{
    double before;
    double after;
    uint64_t start_ns;

    nof_bench_sleep_ms(SETTLE_MS);
    before = nof_bench_cpu_s(pid);
    start_ns = nof_bench_now_ns();
    nof_bench_sleep_ms(seconds * 1000);
    after = nof_bench_cpu_s(pid);
    if (before < 0 || after < 0)
        return NAN;
    return 100 * (after - before) / ((double)(nof_bench_now_ns() - start_ns) * 1e-9);
}

static void end_daemon(pid_t pid)
{
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
}

static double idle_fabric(unsigned seconds)
{
    const struct nof_daemon_start how = {.background = false};
    struct nof_daemon_args args = {.n = 0};
    char socket[64];
    char control[64];
    double percent;
    pid_t pid;

    snprintf(socket, sizeof(socket), "@nof-bench-idle-%d", getpid());
    snprintf(control, sizeof(control), "@nof-bench-idle-%d-control", getpid());
    nof_daemon_arg(&args, "nofd");
    nof_daemon_option(&args, "--fabric", "2");
    nof_daemon_option(&args, "--socket", socket);
    nof_daemon_option(&args, "--control", control);
    nof_daemon_option(&args, "--log", "warning");
    pid = nof_daemon_start(&args, &how, "nof bench idle");
    if (pid < 0)
        return NAN;
    percent = cpu_percent(pid, seconds);
    end_daemon(pid);
    return percent;
}

/* The same on net_af_xdp, in a network namespace with a link. *why_out: static text when there is none. */
static double idle_af_xdp(unsigned seconds, const char **why_out)
{
    char nofd[NOF_BENCH_PATH_BYTES];
    char text[256];
    struct nof_lab lab = {.nhosts = 0};
    struct nof_child child = {.pid = 0};
    const char *const argv[] = {nofd,       "--port",          "net_af_xdp,iface=eth0",
                                "--socket", "@nof-bench-idle", "--ready-fd",
                                "1",        "--log",           "warning",
                                NULL};
    double percent = NAN;

    *why_out = nof_lab_missing();
    if (*why_out != NULL)
        return NAN;
    *why_out = "the daemon did not start on net_af_xdp";
    nof_bench_beside("nofd", nofd);
    if (nof_lab_up(&lab, 2, NULL, NULL, NULL, 1500) != 0) {
        *why_out = "the network namespaces could not be made";
        return NAN;
    }
    if (nof_child_start(&child, lab.host[0], argv, NOF_CHILD_STDOUT, "/dev/stderr") == 0 &&
        nof_child_read_until(&child, text, sizeof(text), "ready", READY_MS) == 0)
        percent = cpu_percent(child.pid, seconds);
    nof_child_end(&child, GRACE_MS);
    nof_lab_down(&lab);
    return percent;
}

static void put(struct nof_bench_report *report, json_t *result, const char *key, double value,
                const char *why)
{
    json_object_set_new(result, key, nof_bench_number(value));
    if (isnan(value))
        nof_bench_skip(report, key, why);
}

static json_t *measure(struct bench *b, struct nof_bench_report *report)
{
    static const char no_daemon[] = "the daemon did not start";
    static const char no_program[] = "the MPI program failed, or is not there: run this from the build tree";
    json_t *result = json_object();
    const char *why = no_daemon;
    double xdp;
    bool ran;

    nof_bench_progress("a daemon without work...");
    put(report, result, "nofd_fabric_cpu_percent", idle_fabric(b->seconds), no_daemon);
    nof_bench_progress("a daemon without work on net_af_xdp...");
    xdp = idle_af_xdp(b->seconds, &why);
    put(report, result, "nofd_af_xdp_cpu_percent", xdp, why);
    nof_bench_progress("ranks that wait...");
    ran = run_ranks(b);
    put(report, result, "rank_cpu_percent", ran ? b->rank_percent : NAN, no_program);
    put(report, result, "after_silence_latency_us", ran ? nof_bench_median(b->wake_us, b->wakes) : NAN,
        no_program);
    return result;
}

static void print_figures(const json_t *result)
{
    static const char *const lines[][2] = {
        {"nofd_fabric_cpu_percent", "% CPU  nofd without work, simulated network"},
        {"nofd_af_xdp_cpu_percent", "% CPU  nofd without work, net_af_xdp"},
        {"rank_cpu_percent", "% CPU  rank that waits in MPI_Recv"},
        {"after_silence_latency_us", "us     8 bytes, one way, after a second of silence"},
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (!isnan(nof_bench_real(result, lines[i][0])))
            printf("%10.2f %s\n", nof_bench_real(result, lines[i][0]), lines[i][1]);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;

    switch (key) {
    case OPT_SECONDS:
        b->seconds = nof_number_option(arg, 1, 60, "--seconds", state);
        return 0;
    case OPT_SILENCES:
        b->silences = nof_number_option(arg, 1, WAKES_MAX, "--silences", state);
        return 0;
    default:
        return nof_bench_option(key, arg, state, &b->json);
    }
}

int nof_bench_idle(int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"seconds", OPT_SECONDS, "S", 0, "time per measurement (3)", 0},
        {"silences", OPT_SILENCES, "N", 0, "seconds of silence, with a message behind each (5)", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    const struct argp argp = {options, parse, NULL, "What waiting costs.", NULL, NULL, NULL};
    struct bench b = {.seconds = 3, .silences = 5, .rank_percent = NAN};
    struct nof_bench_report report;
    json_t *result;

    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &b);
    nof_bench_begin(&report, argv[0], b.json);
    result = measure(&b, &report);
    if (!b.json)
        print_figures(result);
    return nof_bench_end(&report, result) ? 0 : 1;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench delta`: tasks that compute messages from messages, with delta messages and without, beside a model of them
 * (delta_model.h, docs/DELTA.md). Paper: delta send-recv, section III, figures 4 and 5 and table I. */
#include "../tools/nof/commands.h"
#include "delta_model.h"
#include "delta_plot.h"
#include "delta_print.h"
#include "delta_sim.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/option.h"
#include "lib/our_job.h"
#include "lib/report.h"
#include "lib/testbed.h"
#include "lib/testbed_option.h"
#include "nof_private/units.h"

#define PROGRAM "bench/delta_mpi"
#define PAGE 4096u
#define RING_ROUNDS 4u /* the program's */
#define TASKS_MAX 16u
#define RUNS_MAX 32u
#define COSTS_RUNS 15u
#define JOB_S 480
#define UNSCALED_TASKS 4u /* at most: of more, and of more than there are CPUs, time is stretched */
#define SCALE 20u
#define LINK_BPS 1000000000ull
#define SWEEP_SIZES 8u

enum {
    OPT_TASKS = 256,
    OPT_SIM_TASKS,
    OPT_WHERE,
    OPT_COSTS,
    OPT_BYTES,
    OPT_DELTA,
    OPT_PAGE_US,
    OPT_SCALE,
    OPT_RUNS,
    OPT_SWEEP,
    OPT_PLOT
};

/* Of so many tasks, with increments of so many bytes; pages of which are told by pages. hycom: 16384 row sums. */
static const struct kernel {
    unsigned program, tasks, bytes, delta_bytes;
} kernels[] = {
    {NOF_DELTA_HYCOM, 16, 131072, 16384}, {NOF_DELTA_LU, 16, PAGE, 2048}, {NOF_DELTA_MG, 16, PAGE, 16384},
    {NOF_DELTA_LU, 32, PAGE, 2048},       {NOF_DELTA_LU, 16, PAGE, 1024},
};
#define KERNELS (sizeof(kernels) / sizeof(kernels[0]))

static const char *const triggers[] = {"os", "annotation"};
/* 0: as the library chooses. */
static const unsigned sweep_pages[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 32, 64, 128};
static const unsigned long long sweep_bytes[SWEEP_SIZES] = {8192,   16384,  32768,  65536,
                                                            131072, 262144, 524288, 1048576};
/* Of costs: what is measured, unless it is said. */
static const char *const cost_names[] = {"fault_ns", "read_fault_ns", "call_ns"};

struct bench {
    const char *self, *plot; /* a file; NULL: none */
    bool json, sweep, in_sim, on_machine, costs_said;
    unsigned tasks[TASKS_MAX], ntasks, runs, scale; /* scale 0: by the number of tasks */
    unsigned sim_tasks[TASKS_MAX], nsim_tasks;
    uint64_t bytes, delta_bytes;
    double page_us;
    struct nof_testbed_config config; /* rate_bps: before it is scaled */
    struct nof_testbed bed;
    char program[NOF_BENCH_PATH_BYTES];
    /* Of the job under way. */
    const char *trigger;
    unsigned job_scale;
    bool in_sweep; /* else of a row */
    uint64_t job_delta_bytes; /* 0: as the library chooses */
    unsigned lines;
    json_t *kernel; /* NULL: it is none */
    json_t *rows, *sweeps, *costs, *kernels;
};

/* Tasks that wait for each other's CPUs say nothing of messages. */
static unsigned unscaled_tasks(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    return cpus < 2 ? 2 : cpus < (long)UNSCALED_TASKS ? (unsigned)cpus : UNSCALED_TASKS;
}

static unsigned scale_of(const struct bench *b, unsigned tasks)
{
    return b->scale != 0 ? b->scale : tasks <= unscaled_tasks() ? 1 : SCALE;
}

static json_t *new_row(const struct bench *b, const char *where, const double taken_s[3])
{
    double without_s = taken_s[0] > 0 ? taken_s[0] : taken_s[1];

    return json_pack("{s:s, s:s, s:f, s:o, s:f, s:f}", "where", where, "trigger", b->trigger, "speedup",
                     without_s / taken_s[2], "blocking_s",
                     nof_bench_number(taken_s[0] > 0 ? taken_s[0] : NAN), "nonblocking_s", taken_s[1],
                     "increments_s", taken_s[2]);
}

/* The library's are not more than a quarter of the message, and we give pages: whole ones. */
static double delta_pages(const struct bench *b, unsigned long long bytes)
{
    double asked = (double)b->job_delta_bytes / PAGE, most = (double)bytes / 4 / PAGE;

    if (most < 1)
        most = 1;
    return asked < most ? asked : most;
}

static void set_ideal(const struct bench *b, json_t *row, const char *name, unsigned tasks,
                      unsigned long long bytes)
{
    const struct nof_delta_model model = {
        .pages = (double)(bytes / PAGE),
        .delta_pages = delta_pages(b, bytes),
        .page_us = b->page_us,
        .wire_us = PAGE * 8e6 / (double)b->config.rate_bps,
        .rounds = RING_ROUNDS,
    };

    for (unsigned p = 0; p < NOF_DELTA_PATTERNS; p++)
        if (strcmp(name, nof_delta_pattern_name[p]) == 0)
            json_object_set_new(row, "ideal",
                                json_real(nof_delta_ideal(&model, (enum nof_delta_pattern)p, tasks)));
}

/* What the library's own size gave stands in the row of the fixed one, which comes before it. */
static void take_adaptive(struct bench *b, const char *where, const char *name, unsigned tasks,
                          const double taken_s[3])
{
    json_t *row;
    size_t i;

    json_array_foreach(b->rows, i, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "where")), where) != 0 ||
            strcmp(json_string_value(json_object_get(row, "pattern")), name) != 0 ||
            strcmp(json_string_value(json_object_get(row, "trigger")), b->trigger) != 0 ||
            json_integer_value(json_object_get(row, "tasks")) != (json_int_t)tasks)
            continue;
        json_object_set_new(row, "adaptive_s", json_real(taken_s[2]));
        json_object_set_new(row, "adaptive_speedup",
                            json_real((taken_s[0] > 0 ? taken_s[0] : taken_s[1]) / taken_s[2]));
    }
}

/* taken_s: blocking (of the ring there is none: 0), non-blocking, in increments. */
static void take_row(struct bench *b, const char *where, const char *name, unsigned tasks,
                     unsigned long long bytes, const double taken_s[3])
{
    json_t *row;

    if (!b->in_sweep && b->job_delta_bytes == 0) {
        take_adaptive(b, where, name, tasks, taken_s);
        return;
    }
    row = new_row(b, where, taken_s);
    if (b->job_delta_bytes != 0)
        set_ideal(b, row, name, tasks, bytes);
    if (b->in_sweep) {
        json_object_set_new(row, "bytes", json_integer((json_int_t)bytes));
        json_object_set_new(row, "delta_pages", json_integer((json_int_t)(b->job_delta_bytes / PAGE)));
        json_array_append_new(b->sweeps, row);
        return;
    }
    json_object_set_new(row, "pattern", json_string(name));
    json_object_set_new(row, "tasks", json_integer(tasks));
    json_object_set_new(row, "scale", json_integer(b->job_scale));
    json_array_append_new(b->rows, row);
}

/* Both triggers' have the same base. */
static void take_kernel(struct bench *b, const double taken_s[3])
{
    char name[32];

    json_object_set_new(b->kernel, b->trigger, json_real(taken_s[0] / taken_s[2]));
    snprintf(name, sizeof(name), "%s_s", b->trigger);
    json_object_set_new(b->kernel, name, json_real(taken_s[2]));
    json_object_set_new(b->kernel, "hand_overlapped", json_real(taken_s[0] / taken_s[1]));
    json_object_set_new(b->kernel, "hand_overlapped_s", json_real(taken_s[1]));
    json_object_set_new(b->kernel, "original_s", json_real(taken_s[0]));
}

static void begin_kernel(struct bench *b, const char *where, const struct kernel *kernel)
{
    b->kernel = json_pack("{s:s, s:s, s:i, s:i, s:i}", "where", where, "name",
                          nof_delta_program_name(kernel->program), "tasks", (int)kernel->tasks, "scale",
                          (int)b->job_scale, "delta_bytes", (int)kernel->delta_bytes);
    json_array_append_new(b->kernels, b->kernel);
}

static void take_line(void *ctx, const char *text)
{
    struct bench *b = ctx;
    char name[32];
    unsigned long long bytes;
    double taken_s[3], cost;

    if (sscanf(text, "row %31s %llu %lf %lf %lf", name, &bytes, &taken_s[0], &taken_s[1], &taken_s[2]) == 5) {
        if (b->kernel != NULL)
            take_kernel(b, taken_s);
        else
            take_row(b, "machine", name, b->bed.config.hosts, bytes, taken_s);
        b->lines++;
    } else if (sscanf(text, "cost %31s %lf", name, &cost) == 2) {
        json_object_set_new(b->costs, name, json_real(cost));
        b->lines++;
    }
}

/* delta_bytes 0: as the library chooses. False: it failed, which was told. */
static bool run_job(struct bench *b, const char *trigger, uint64_t delta_bytes, unsigned runs,
                    const char *patterns, const unsigned long long *sizes, unsigned nsizes)
{
    char delta[32], page_ns[32], times[16], size[SWEEP_SIZES][24];
    const char *words[6 + SWEEP_SIZES + 1] = {b->program, trigger, delta, page_ns, times, patterns};

    if (delta_bytes == 0)
        snprintf(delta, sizeof(delta), "auto");
    else
        snprintf(delta, sizeof(delta), "%llu", (unsigned long long)delta_bytes);
    snprintf(page_ns, sizeof(page_ns), "%.0f", b->page_us * 1e3 * b->job_scale);
    snprintf(times, sizeof(times), "%u", runs);
    for (unsigned i = 0; i < nsizes; i++) {
        snprintf(size[i], sizeof(size[i]), "%llu", sizes[i]);
        words[6 + i] = size[i];
    }
    words[6 + nsizes] = NULL;
    b->trigger = trigger;
    b->job_delta_bytes = delta_bytes;
    b->lines = 0;
    if (nof_our_job_run(&b->bed, NULL, words, JOB_S, take_line, b) == 0 && b->lines > 0)
        return true;
    fprintf(stderr, "%s: %u tasks, %s, %s: the program failed or took too long\n", b->self,
            b->bed.config.hosts, trigger, patterns);
    return false;
}

static bool run_sweep(struct bench *b)
{
    bool done = true;

    b->in_sweep = true;
    for (unsigned i = 0; done && i < sizeof(sweep_pages) / sizeof(sweep_pages[0]); i++)
        for (unsigned t = 0; done && t < 2; t++) {
            nof_bench_progress("increments of %u pages (0: adaptive), %s", sweep_pages[i], triggers[t]);
            done = run_job(b, triggers[t], (uint64_t)sweep_pages[i] * PAGE, b->runs, "pair", sweep_bytes,
                           SWEEP_SIZES);
        }
    b->in_sweep = false;
    return done;
}

static const char *up(struct bench *b, unsigned tasks, unsigned scale)
{
    struct nof_testbed_config config = b->config;

    config.hosts = tasks;
    config.rate_bps /= scale;
    b->job_scale = scale;
    return nof_testbed_up(&b->bed, &config);
}

static bool measure_kernels(struct bench *b, unsigned tasks)
{
    bool done = true;

    for (unsigned i = 0; i < KERNELS; i++) {
        const unsigned long long size = kernels[i].bytes;

        if (!done || kernels[i].tasks != tasks)
            continue;
        begin_kernel(b, "machine", &kernels[i]);
        for (unsigned t = 0; done && t < 2; t++)
            done = run_job(b, triggers[t], kernels[i].delta_bytes, b->runs,
                           nof_delta_program_name(kernels[i].program), &size, 1);
    }
    b->kernel = NULL;
    return done;
}

static bool measure_tasks(struct bench *b, unsigned tasks)
{
    const char *why = up(b, tasks, scale_of(b, tasks));
    const unsigned long long size = b->bytes;
    bool done = why == NULL;

    if (!done)
        fprintf(stderr, "%s: %u tasks: %s\n", b->self, tasks, why);
    for (unsigned t = 0; done && t < 4; t++) {
        nof_bench_progress("%u tasks, %s%s", tasks, triggers[t / 2], t % 2 == 0 ? "" : ", adaptive");
        done = run_job(b, triggers[t / 2], t % 2 == 0 ? b->delta_bytes : 0, b->runs,
                       tasks == 2 ? "pair,cascade,ring,reduce" : "cascade,ring,reduce", &size, 1);
    }
    done = done && measure_kernels(b, tasks);
    if (why == NULL)
        nof_testbed_down(&b->bed);
    return done;
}

/* Two tasks, unscaled. */
static bool measure_two(struct bench *b)
{
    const char *why = up(b, 2, 1);
    const unsigned long long size = b->bytes;
    bool done = why == NULL;

    if (!done)
        fprintf(stderr, "%s: %s\n", b->self, why);
    for (unsigned t = 0; done && t < 2 && !b->costs_said; t++) {
        nof_bench_progress("what %s costs", triggers[t]);
        done = run_job(b, triggers[t], PAGE, COSTS_RUNS, "costs", &size, 1);
    }
    if (done && b->sweep && b->on_machine)
        done = run_sweep(b);
    if (why == NULL)
        nof_testbed_down(&b->bed);
    return done;
}

static struct nof_delta_sim simulation_of(const struct bench *b, unsigned program, unsigned tasks,
                                          unsigned long long bytes, uint64_t delta_bytes)
{
    return (struct nof_delta_sim){
        .tasks = tasks,
        .pattern = program,
        .bytes = bytes,
        .delta_bytes = delta_bytes,
        .page_us = b->page_us,
        .fault_ns = nof_bench_real(b->costs, cost_names[0]),
        .read_fault_ns = nof_bench_real(b->costs, cost_names[1]),
        .call_ns = nof_bench_real(b->costs, cost_names[2]),
        .rate_bps = b->config.rate_bps,
        .buffer_bytes = b->config.buffer_bytes,
        .mtu_bytes = b->config.mtu_bytes,
    };
}

/* Without increments it takes as long whoever announces them, and whatever their size: base, in taken_s, is kept. */
static bool simulate_one(struct bench *b, unsigned program, unsigned tasks, unsigned long long bytes,
                         uint64_t delta_bytes, bool base, double taken_s[3])
{
    struct nof_delta_sim what = simulation_of(b, program, tasks, bytes, delta_bytes);

    for (unsigned t = 0; t < 2; t++) {
        what.by_os = t == 0;
        what.alone = t == 1 || base;
        nof_bench_progress("%u simulated tasks, %s, %s", tasks, nof_delta_program_name(program), triggers[t]);
        if (!nof_delta_sim_run(&what, taken_s))
            return false;
        b->trigger = triggers[t];
        b->job_delta_bytes = delta_bytes;
        if (b->kernel != NULL)
            take_kernel(b, taken_s);
        else
            take_row(b, "sim", nof_delta_program_name(program), tasks, bytes, taken_s);
    }
    return true;
}

/* A message in pages / as one, without computing. */
static bool simulate_ratio(struct bench *b)
{
    struct nof_delta_sim what = simulation_of(b, NOF_DELTA_PAIR, 2, b->bytes, PAGE);
    double taken_s[3];

    what.page_us = 0;
    if (!nof_delta_sim_run(&what, taken_s))
        return false;
    json_object_set_new(b->costs, "sim_increments_ratio", json_real(taken_s[2] / taken_s[0]));
    return true;
}

static bool simulate_sweep(struct bench *b)
{
    double taken_s[3];
    bool done = true;

    b->in_sweep = true;
    for (unsigned k = 0; k < SWEEP_SIZES; k++)
        for (unsigned i = 0; done && i < sizeof(sweep_pages) / sizeof(sweep_pages[0]); i++)
            done = simulate_one(b, NOF_DELTA_PAIR, 2, sweep_bytes[k], (uint64_t)sweep_pages[i] * PAGE, i > 0,
                                taken_s);
    b->in_sweep = false;
    return done;
}

static bool simulate_tasks(struct bench *b, unsigned tasks)
{
    double taken_s[3];
    bool done = true;

    for (unsigned p = tasks == 2 ? NOF_DELTA_PAIR : NOF_DELTA_CASCADE; done && p < NOF_DELTA_PATTERNS; p++)
        done = simulate_one(b, p, tasks, b->bytes, b->delta_bytes, false, taken_s) &&
               simulate_one(b, p, tasks, b->bytes, 0, true, taken_s);
    for (unsigned i = 0; i < KERNELS; i++) {
        if (!done || kernels[i].tasks != tasks)
            continue;
        begin_kernel(b, "sim", &kernels[i]);
        done = simulate_one(b, kernels[i].program, tasks, kernels[i].bytes, kernels[i].delta_bytes, false,
                            taken_s);
    }
    b->kernel = NULL;
    return done;
}

static bool simulate(struct bench *b)
{
    bool done = true;

    b->job_scale = 1;
    for (unsigned i = 0; done && i < b->nsim_tasks; i++) {
        done = simulate_tasks(b, b->sim_tasks[i]);
        if (b->sim_tasks[i] == 2)
            done = done && simulate_ratio(b) && simulate_sweep(b);
    }
    return done;
}

static json_t *result_of(struct bench *b)
{
    json_t *result = json_pack(
        "{s:O, s:O, s:O, s:i, s:I, s:I, s:f, s:I, s:s, s:i, s:i}", "rows", b->rows, "costs", b->costs,
        "kernels", b->kernels, "runs", (int)b->runs, "message_bytes", (json_int_t)b->bytes, "delta_bytes",
        (json_int_t)b->delta_bytes, "page_us", b->page_us, "link_bps", (json_int_t)b->config.rate_bps,
        "computing", "timed waiting between touches of pages; scale: computing and link slowed", "cpus",
        (int)sysconf(_SC_NPROCESSORS_ONLN), "unscaled_tasks", (int)unscaled_tasks());

    if (json_array_size(b->sweeps) > 0)
        json_object_set(result, "sweep", b->sweeps);
    return result;
}

static void print_table(const struct bench *b)
{
    printf("messages of %llu bytes, increments of %llu, %.1f us of computing a page, %.0f Mbit/s; medians of "
           "%u or more\n"
           "blocking, non-blocking, in increments; speedup, of the model's, as the library sizes increments; "
           "xN: "
           "computing and link slowed N times, by %u where tasks are more than %u (%ld CPUs)\n",
           (unsigned long long)b->bytes, (unsigned long long)b->delta_bytes, b->page_us,
           (double)b->config.rate_bps / 1e6, b->runs, SCALE, unscaled_tasks(), sysconf(_SC_NPROCESSORS_ONLN));
    nof_delta_print_rows(b->rows, false);
    nof_delta_print_kernels(b->kernels);
    nof_delta_print_rows(b->sweeps, true);
    if (b->costs_said)
        return;
    printf("a fault %.0f ns where a page is written, %.0f ns where one is read that has come, a call %.0f "
           "ns, an "
           "increment of a page %.0f ns; a message in pages %.2f times one as a whole\n",
           nof_bench_real(b->costs, "fault_ns"), nof_bench_real(b->costs, "read_fault_ns"),
           nof_bench_real(b->costs, "call_ns"), nof_bench_real(b->costs, "increment_ns"),
           nof_bench_real(b->costs, "increments_ratio"));
}

static uint64_t pages_option(const char *arg, const char *what, const struct argp_state *state)
{
    uint64_t size;

    if (nofd_units_bytes(arg, &size) != 0 || size == 0 || size > 1 << 24 || size % PAGE != 0)
        argp_error(state, "%s: '%s' is no size of whole pages of %u bytes up to 16M, such as 64k", what, arg,
                   PAGE);
    return size;
}

static void costs_option(struct bench *b, const char *arg, const struct argp_state *state)
{
    double ns[3];
    char more;

    if (sscanf(arg, "%lf,%lf,%lf%c", &ns[0], &ns[1], &ns[2], &more) != 3 || !(ns[0] >= 0 && ns[0] <= 1e9) ||
        !(ns[1] >= 0 && ns[1] <= 1e9) || !(ns[2] >= 0 && ns[2] <= 1e9))
        argp_error(state, "--costs: '%s' is no three numbers from 0 to 1e9, such as 5000,6000,40", arg);
    for (unsigned i = 0; i < 3; i++)
        json_object_set_new(b->costs, cost_names[i], json_real(ns[i]));
    b->costs_said = true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;

    switch (key) {
    case OPT_TASKS:
        b->ntasks = nof_numbers_option(arg, 2, NOF_LAB_HOSTS_MAX, b->tasks, TASKS_MAX, "--tasks", state);
        return 0;
    case OPT_SIM_TASKS:
        b->nsim_tasks = nof_numbers_option(arg, 2, NOF_DELTA_SIM_TASKS_MAX, b->sim_tasks, TASKS_MAX,
                                           "--sim-tasks", state);
        return 0;
    case OPT_WHERE:
        b->in_sim = strcmp(arg, "machine") != 0;
        b->on_machine = strcmp(arg, "sim") != 0;
        if (b->in_sim && b->on_machine && strcmp(arg, "both") != 0)
            argp_error(state, "--where is sim, machine or both");
        return 0;
    case OPT_COSTS:
        costs_option(b, arg, state);
        return 0;
    case OPT_BYTES:
        b->bytes = pages_option(arg, "--bytes", state);
        return 0;
    case OPT_DELTA:
        b->delta_bytes = pages_option(arg, "--delta", state);
        return 0;
    case OPT_PAGE_US:
        b->page_us = nof_real_option(arg, 0, 1e6, "--page-us", state);
        return 0;
    case OPT_SCALE:
        b->scale = nof_number_option(arg, 1, 1000, "--scale", state);
        return 0;
    case OPT_RUNS:
        b->runs = nof_number_option(arg, 1, RUNS_MAX, "--runs", state);
        return 0;
    case OPT_PLOT:
        b->plot = arg;
        return 0;
    case OPT_SWEEP:
        b->sweep = true;
        return 0;
    default:
        return nof_testbed_option(key, arg, state, &b->config, &b->json);
    }
}

static void read_arguments(struct bench *b, int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"tasks", OPT_TASKS, "N[,N]", 0, "2 to 32, a host each (2,4,8,16,32)", 0},
        {"sim-tasks", OPT_SIM_TASKS, "N[,N]", 0, "in virtual time: 2 to 256 (2,4,8,16,32,64,128,256)", 0},
        {"where", OPT_WHERE, "WHERE", 0, "sim (in virtual time), machine or both (both)", 0},
        {"costs", OPT_COSTS, "NS,NS,NS", 0,
         "in virtual time: of a fault where a page is written, of one where it is read, of a call (as "
         "measured)",
         0},
        {"bytes", OPT_BYTES, "SIZE", 0, "of a message (400k)", 0},
        {"delta", OPT_DELTA, "SIZE", 0, "of an increment (16k)", 0},
        {"page-us", OPT_PAGE_US, "US", 0, "of computing, a page (91.2)", 0},
        {"link", NOF_OPTION_LINK, "RATE", 0, "rate of their links (1gbit)", 0},
        {"buffer", NOF_OPTION_BUFFER, "SIZE", 0, "of the switch towards each host (60kB)", 0},
        {"mtu", NOF_OPTION_MTU, "BYTES", 0, "IP MTU (1500)", 0},
        {"scale", OPT_SCALE, "N", 0,
         "computing and links are slowed N times (1, and 20 of more tasks than 4 or CPUs)", 0},
        {"runs", OPT_RUNS, "N", 0, "of each pattern, at least; medians are printed (3)", 0},
        {"sweep", OPT_SWEEP, NULL, 0,
         "two tasks, 8 KB to 1 MB in increments of 1 to 128 pages, on this machine, too", 0},
        {"plot", OPT_PLOT, "FILE", 0, "write the speedups of all patterns there, as an SVG", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    const struct argp argp = {options,
                              parse,
                              NULL,
                              "Tasks that compute messages from messages: pair, cascade, ring, reduce on a "
                              "binary tree. With delta messages, told by pages (os) or by calls "
                              "(annotation), beside blocking and non-blocking ones. Computing is "
                              "timed waiting between touches of the pages.",
                              NULL,
                              NULL,
                              NULL};

    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, b);
}

static bool measure(struct bench *b)
{
    bool done = (b->costs_said && !(b->sweep && b->on_machine)) || measure_two(b);

    for (unsigned i = 0; done && b->on_machine && i < b->ntasks; i++)
        done = measure_tasks(b, b->tasks[i]);
    return done && (!b->in_sim || simulate(b));
}

/* False: the picture is asked for, and cannot be written. */
static bool plot(const struct bench *b)
{
    if (b->plot == NULL || nof_delta_plot(b->rows, b->plot))
        return true;
    fprintf(stderr, "%s: --plot %s: %s\n", b->self, b->plot, strerror(errno));
    return false;
}

int nof_bench_delta(int argc, char **argv)
{
    static const unsigned tasks[] = {2, 4, 8, 16, 32}, sim_tasks[] = {2, 4, 8, 16, 32, 64, 128, 256};
    struct bench *b = calloc(1, sizeof(*b));
    struct nof_bench_report report;
    int rc = 1;

    if (b == NULL)
        return 1;
    b->self = argv[0];
    b->config = (struct nof_testbed_config)NOF_TESTBED_DEFAULT;
    b->config.rate_bps = LINK_BPS;
    b->ntasks = sizeof(tasks) / sizeof(tasks[0]);
    memcpy(b->tasks, tasks, sizeof(tasks));
    b->nsim_tasks = sizeof(sim_tasks) / sizeof(sim_tasks[0]);
    memcpy(b->sim_tasks, sim_tasks, sizeof(sim_tasks));
    b->in_sim = b->on_machine = true;
    b->bytes = 100 * PAGE;
    b->delta_bytes = 4 * PAGE;
    b->page_us = 91.2;
    b->runs = 3;
    b->rows = json_array();
    b->sweeps = json_array();
    b->costs = json_object();
    b->kernels = json_array();
    read_arguments(b, argc, argv);
    if (b->in_sim)
        nof_delta_sim_prepare();
    nof_bench_beside(PROGRAM, b->program);
    nof_bench_begin(&report, argv[0], b->json);
    if (access(b->program, X_OK) != 0) {
        fprintf(stderr, "%s: %s is not there: run this from the build tree, with the MPI library built\n",
                argv[0], b->program);
    } else if (plot(b) && measure(b)) { /* a file that cannot be written is told first */
        if (!b->json)
            print_table(b);
        rc = nof_bench_end(&report, result_of(b)) && plot(b) ? 0 : 1;
    }
    json_decref(b->rows);
    json_decref(b->sweeps);
    json_decref(b->costs);
    json_decref(b->kernels);
    free(b);
    return rc;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench replay`: how long the collectives of recorded programs take on a switched network of slow links and short buffers,
 * with what the programs computed between them. Paper: compiled communication, section 5.2, where hosts had a CPU each. */
#include "../tools/nof/commands.h"
#include "jobs.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/option.h"
#include "lib/report.h"
#include "lib/testbed_option.h"
#include "coll_traces.h"
#include "sim.h"

#define PROGRAM "bench/replay_mpi"
#define JOB_S 300
#define ROUNDED 1e-6 /* of a time: naps are of whole ns */
#define LINK_LEAST_BPS 3e6 /* below, a rank's link is full for so long that others take it for dead */

enum { OPT_COMPUTE = 256, OPT_SCALE };

struct bench {
    struct nof_jobs jobs;
    struct nof_recording recording[NOF_JOBS_ROWS_MAX];
    const char *folder[NOF_JOBS_ROWS_MAX];
    unsigned folders;
    double factor, scale; /* computing as asked for, and how many times all is slowed down */
    char about[48];
    char program[NOF_BENCH_PATH_BYTES], path[PATH_MAX], text[32];
    struct nof_sim_replay sim;
};

static const char *command(void *ctx, const struct nof_jobs_row *row, const struct nof_jobs_column *column,
                           const char **words)
{
    struct bench *b = ctx;

    (void)column;
    if (realpath(b->folder[row->what[0]], b->path) == NULL)
        return "its folder is gone";
    snprintf(b->text, sizeof(b->text), "%.9g", b->factor * b->scale);
    words[0] = b->program;
    words[1] = b->path;
    words[2] = b->text;
    words[3] = NULL;
    return NULL;
}

static double seconds(void *ctx, const char *line)
{
    double s;

    (void)ctx;
    return sscanf(line, "run %lf", &s) == 1 ? s : -1;
}

static const char *simulate(void *ctx, const struct nof_jobs_row *row, const struct nof_jobs_column *column,
                            const struct nof_testbed_config *config, struct nof_jobs_figure *figure)
{
    struct bench *b = ctx;
    double limit_s = nof_recording_limit_s(&b->recording[row->what[0]], config->rate_bps);

    b->sim = (struct nof_sim_replay){.hosts = row->hosts,
                                     .by_nic = strcmp(column->sim, "nic") == 0,
                                     .trace = b->recording[row->what[0]].trace,
                                     .factor = 1, /* they are stretched */
                                     .rate_bps = config->rate_bps,
                                     .buffer_bytes = config->buffer_bytes,
                                     .mtu_bytes = config->mtu_bytes};
    nof_sim_run_replay(&b->sim);
    figure->s[0] = b->sim.s;
    figure->drops = (double)b->sim.drops;
    if (b->sim.problem[0] == '\0' && b->sim.s < limit_s * (1 - ROUNDED))
        snprintf(b->sim.problem, sizeof(b->sim.problem),
                 "%.6g s is less than the link and what is computed take, %.6g s: not all of it was sent",
                 b->sim.s, limit_s);
    return b->sim.problem[0] != '\0' ? b->sim.problem : NULL;
}

static void put(void *ctx, const struct nof_jobs_row *row, json_t *object)
{
    static const char *const others[] = {"host", "mpich", "openmpi"};
    const struct bench *b = ctx;
    const struct nof_recording *r = &b->recording[row->what[0]];

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        char theirs[32], name[32];

        snprintf(theirs, sizeof(theirs), "%s_s", others[i]);
        snprintf(name, sizeof(name), "%s_ratio", others[i]);
        json_object_set_new(
            object, name, nof_bench_number(nof_bench_real(object, theirs) / nof_bench_real(object, "nic_s")));
    }
    json_object_set_new(object, "trace", json_string(row->label));
    json_object_set_new(object, "scale", json_real(b->scale));
    json_object_set_new(object, "compute", json_real(b->factor));
    json_object_set_new(object, "hosts", json_integer(row->hosts));
    json_object_set_new(object, "collectives", json_integer((json_int_t)r->collectives));
    json_object_set_new(object, "computed_s", json_real(r->computed_s));
    json_object_set_new(object, "limit_s", json_real(nof_recording_limit_s(r, b->jobs.config.rate_bps)));
}

static void print(const json_t *object)
{
    printf(" %.3f, %.3f", nof_bench_real(object, "computed_s"), nof_bench_real(object, "limit_s"));
}

/* The link; computing is when it is read. */
static void slow_down(struct bench *b, const struct argp_state *state)
{
    double rate_bps = (double)b->jobs.config.rate_bps / b->scale;

    if (rate_bps < LINK_LEAST_BPS)
        argp_error(state,
                   "--link and --scale %g make %.3g Mbit/s of the link: below %.0f Mbit/s frames wait for so "
                   "long that "
                   "ranks are taken for dead; say a faster --link, or a smaller scale",
                   b->scale, rate_bps / 1e6, LINK_LEAST_BPS / 1e6);
    b->jobs.config.rate_bps = (uint64_t)rate_bps;
    if (b->scale != 1)
        snprintf(b->about, sizeof(b->about), "recording, all %g times as slow", b->scale);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;

    switch (key) {
    case OPT_COMPUTE:
        b->factor = nof_real_option(arg, 0, 1000, "--compute", state);
        return 0;
    case OPT_SCALE:
        b->scale = nof_real_option(arg, 1, 100, "--scale", state);
        return 0;
    case ARGP_KEY_ARG:
        if (b->folders == NOF_JOBS_ROWS_MAX)
            argp_error(state, "at most %u recordings at a time", NOF_JOBS_ROWS_MAX);
        b->folder[b->folders++] = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name the folder of a recording: nof record -o FOLDER -n 4 PROGRAM");
        return 0;
    case ARGP_KEY_END:
        slow_down(b, state);
        return nof_jobs_option(key, arg, state, &b->jobs);
    default:
        return nof_jobs_option(key, arg, state, &b->jobs);
    }
}

static void read_arguments(struct bench *b, int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"compute", OPT_COMPUTE, "FACTOR", 0, "times what the ranks computed; 0: communication alone (1)", 0},
        {"scale", OPT_SCALE, "FACTOR", 0,
         "slows link and computing alike: hosts that share CPUs weigh less, and seconds are of the slowed "
         "network (1)",
         0},
        NOF_JOBS_RUN_OPTIONS,
        NOF_JOBS_SIM_OPTION,
        NOF_TESTBED_LINK_OPTIONS,
        {NULL, 0, NULL, 0, NULL, 0},
    };
    const struct argp argp = {
        options,
        parse,
        "FOLDER...",
        "Calls the collectives that `nof record` saw a program call, one rank a host, and sleeps between "
        "them for the CPU time that the rank took: as if each host had a CPU of its own, and computed no "
        "faster or "
        "slower meanwhile. In seconds, from the first collective to the last: with collectives by the NIC "
        "(nic) and "
        "by the host, and with other MPIs over TCP. computed: by the rank that computed most; limit: no rank "
        "can "
        "be done sooner, for what it computes and what passes its link. *_ratio in --json: theirs / "
        "nic.\vWhat "
        "the program did between two collectives by point-to-point messages is in the CPU time, and its "
        "messages "
        "are not sent again: judge by this only programs that hardly send any.",
        NULL,
        NULL,
        NULL};

    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, b);
}

/* The last part of its path. */
static void label_of(const char *folder, char label[NOF_JOBS_LABEL_BYTES])
{
    size_t end = strlen(folder), begin;

    while (end > 1 && folder[end - 1] == '/')
        end--;
    begin = end;
    while (begin > 0 && folder[begin - 1] != '/')
        begin--;
    snprintf(label, NOF_JOBS_LABEL_BYTES, "%.*s", (int)(end - begin), folder + begin);
}

static bool read_recordings(struct bench *b, const char *self)
{
    for (unsigned i = 0; i < b->folders; i++) {
        unsigned most = b->jobs.sim ? NOF_SIM_OVERLAP_HOSTS_MAX : NOF_LAB_HOSTS_MAX;
        const char *why = nof_recording_read(&b->recording[i], b->folder[i], most);
        char label[NOF_JOBS_LABEL_BYTES];

        if (why != NULL) {
            fprintf(stderr, "%s: %s\n", self, why);
            return false;
        }
        nof_recording_stretch(&b->recording[i], b->factor * b->scale);
        label_of(b->folder[i], label);
        (void)nof_jobs_add(&b->jobs, b->recording[i].ranks, i, 0, label);
    }
    return true;
}

int nof_bench_replay(int argc, char **argv)
{
    static const struct nof_jobs_column columns[] = {
        {"nic", NOF_COLL_OURS, {"collectives=nic", NULL, NULL}, "nic"},
        {"host", NOF_COLL_OURS, {"collectives=host", NULL, NULL}, "host"},
        NOF_JOBS_OTHERS,
    };
    struct bench *b = calloc(1, sizeof(*b));
    struct nof_jobs_kind kind = {
        .columns = columns,
        .about = "recording",
        .source = "programs/replay_mpi.c",
        .command = command,
        .simulate = simulate,
        .seconds = seconds,
        .put = put,
        .print = print,
        .printed = "computed, limit",
    };
    int rc = 1;

    if (b == NULL)
        return 1;
    nof_jobs_init(&b->jobs, &kind, b, argv[0]);
    b->factor = b->scale = 1;
    snprintf(b->about, sizeof(b->about), "%s", kind.about);
    kind.about = b->about;
    read_arguments(b, argc, argv);
    kind.timeout_s = (unsigned)(JOB_S * b->scale * (b->factor > 1 ? b->factor : 1));
    nof_bench_beside(PROGRAM, b->program);
    if (access(b->program, X_OK) != 0)
        fprintf(stderr, "%s: %s is not there: run this from the build tree, with the MPI library built\n",
                argv[0], b->program);
    else if (read_recordings(b, argv[0]))
        rc = nof_jobs_run(&b->jobs);
    for (unsigned i = 0; i < b->folders; i++)
        nof_recording_free(&b->recording[i]);
    free(b);
    return rc;
}

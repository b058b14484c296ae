/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench path`: how well a path uses its link, under a virtual clock: loss, incast, fairness
 * between two jobs. The figures are exact for the seed; the machine's speed does not matter.
 *
 * Goodput is payload that reached receive buffers, over the link's rate; frames count from Ethernet
 * on, without preamble and checksum. */
#include "commands.h"
#include "lib/option.h"
#include "lib/report.h"

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nof_private/units.h"
#include "pump.h"

#define RATE_BPS 1000000000ull
#define LINK_DELAY_NS 50000u /* two links each way: 200 us round trip */
#define MS 1000000ull
#define WARM_NS (200 * MS)
#define MEASURE_NS (2000 * MS)
#define MESSAGE_BYTES 1048576u
#define SENDERS 8u
#define PUMPS_MAX (SENDERS + 1)

struct row {
    const char *name;
    uint32_t loss_ppm;
    uint32_t buffer_bytes;
    double goodput_mbps;
    double fraction; /* of the link */
    double jain; /* incast; else negative */
    double share; /* fairness: of the goodput, of the job that does not flood; else negative */
    double target;
    const char *problem; /* NULL: measured */
};

struct setting {
    struct nof_cluster *cluster;
    struct nof_pump pump[PUMPS_MAX];
    unsigned npumps;
    char problem[200];
};

static int set_up(struct setting *s, unsigned nics, uint32_t loss_ppm, uint32_t buffer_bytes, uint64_t seed)
{
    struct nof_cluster_config cfg = {
        .nnics = nics,
        .seed = seed,
        .loop_ns = 1000,
        .pool_frames = 4096,
        .queue_frames = 4096,
        .link = {.rate_bps = RATE_BPS,
                 .delay_ns = LINK_DELAY_NS,
                 .buffer_bytes = buffer_bytes,
                 .loss_ppm = loss_ppm},
        .nic = {.link_rate_bps = RATE_BPS, .max_endpoints = 4, .max_paths = 32, .max_peers = 256},
    };
    memset(s, 0, sizeof(*s));
    return nof_cluster_create(&cfg, &s->cluster);
}

static struct nof_pump *add(struct setting *s, unsigned nic, const struct nof_pump_job *job, uint32_t rank)
{
    struct nof_pump *p = &s->pump[s->npumps++];
    int status = nof_pump_open(p, s->cluster, nic, job, rank, MESSAGE_BYTES, 65536);
    if (status != NOF_OK && s->problem[0] == '\0')
        snprintf(s->problem, sizeof(s->problem), "endpoint: %s", nof_strstatus(status));
    return p;
}

/* `outstanding` long messages from a to b at any time; b has as many receives posted. */
static void stream(struct nof_pump *a, struct nof_pump *b, unsigned outstanding)
{
    nof_pump_peer(a, b);
    nof_pump_peer(b, a);
    nof_pump_recv(b, (int32_t)a->rank, outstanding);
    nof_pump_send(a, b->rank, MESSAGE_BYTES, UINT64_MAX, outstanding);
}

static void run_for(struct setting *s, uint64_t ns)
{
    (void)nof_cluster_run(s->cluster, nof_cluster_now(s->cluster) + ns, NULL, NULL);
    if (nof_cluster_violation(s->cluster) != NULL && s->problem[0] == '\0')
        snprintf(s->problem, sizeof(s->problem), "%s", nof_cluster_violation(s->cluster));
}

static void tear_down(struct setting *s, struct row *row)
{
    static char text[200];
    for (unsigned i = 0; i < s->npumps; i++)
        nof_pump_close(&s->pump[i]);
    nof_cluster_destroy(s->cluster);
    if (s->problem[0] == '\0')
        return;
    memcpy(text, s->problem, sizeof(text));
    row->problem = text;
}

static double mbps(uint64_t bytes)
{
    return (double)bytes * 8e3 / (double)MEASURE_NS;
}

static void finish(struct row *row, uint64_t bytes)
{
    row->goodput_mbps = mbps(bytes);
    row->fraction = row->goodput_mbps / ((double)RATE_BPS / 1e6);
}

static void key_fill(struct nof_pump_job *job)
{
    memset(job->key, (int)(job->id & 0xff), sizeof(job->key));
}

static void measure_loss(struct row *row, uint64_t seed)
{
    struct setting s;
    struct nof_pump_job job = {.id = 1, .size = 2};
    key_fill(&job);
    if (set_up(&s, 2, row->loss_ppm, row->buffer_bytes, seed) != NOF_OK) {
        row->problem = "the cluster does not start";
        return;
    }
    struct nof_pump *a = add(&s, 0, &job, 0), *b = add(&s, 1, &job, 1);
    stream(a, b, 4);
    run_for(&s, WARM_NS);
    uint64_t before = nof_pump_received(b, 0);
    run_for(&s, MEASURE_NS);
    finish(row, nof_pump_received(b, 0) - before);
    tear_down(&s, row);
}

static void measure_incast(struct row *row, uint64_t seed)
{
    struct setting s;
    struct nof_pump_job job = {.id = 2, .size = SENDERS + 1};
    key_fill(&job);
    if (set_up(&s, SENDERS + 1, row->loss_ppm, row->buffer_bytes, seed) != NOF_OK) {
        row->problem = "the cluster does not start";
        return;
    }
    struct nof_pump *to = add(&s, 0, &job, 0);
    for (uint32_t i = 1; i <= SENDERS; i++)
        stream(add(&s, i, &job, i), to, 2);
    run_for(&s, WARM_NS);
    uint64_t before[SENDERS];
    for (uint32_t i = 0; i < SENDERS; i++)
        before[i] = nof_pump_received(to, (int32_t)i + 1);
    run_for(&s, MEASURE_NS);
    double sum = 0, squares = 0;
    uint64_t total = 0;
    for (uint32_t i = 0; i < SENDERS; i++) {
        uint64_t bytes = nof_pump_received(to, (int32_t)i + 1) - before[i];
        total += bytes;
        sum += (double)bytes;
        squares += (double)bytes * (double)bytes;
    }
    finish(row, total);
    row->jain = squares > 0 ? sum * sum / (SENDERS * squares) : 0;
    tear_down(&s, row);
}

/* Two jobs on NIC 0 send to NIC 1: one has 64 messages waiting at any time, the other 4. */
static void measure_fairness(struct row *row, uint64_t seed)
{
    struct setting s;
    struct nof_pump_job flood = {.id = 3, .size = 2}, calm = {.id = 4, .size = 2};
    key_fill(&flood);
    key_fill(&calm);
    if (set_up(&s, 2, row->loss_ppm, row->buffer_bytes, seed) != NOF_OK) {
        row->problem = "the cluster does not start";
        return;
    }
    struct nof_pump *flood_from = add(&s, 0, &flood, 0), *flood_to = add(&s, 1, &flood, 1);
    struct nof_pump *calm_from = add(&s, 0, &calm, 0), *calm_to = add(&s, 1, &calm, 1);
    stream(flood_from, flood_to, 64);
    stream(calm_from, calm_to, 4);
    run_for(&s, WARM_NS);
    uint64_t flood_before = nof_pump_received(flood_to, 0), calm_before = nof_pump_received(calm_to, 0);
    run_for(&s, MEASURE_NS);
    uint64_t flooded = nof_pump_received(flood_to, 0) - flood_before;
    uint64_t kept = nof_pump_received(calm_to, 0) - calm_before;
    finish(row, flooded + kept);
    row->share = flooded + kept > 0 ? (double)kept / (double)(flooded + kept) : 0;
    tear_down(&s, row);
}

static json_t *row_json(const struct row *r)
{
    json_t *o = json_pack("{s:s,s:I,s:i,s:f,s:i,s:f,s:f,s:f}", "case", r->name, "rate_mbps",
                          (json_int_t)(RATE_BPS / 1000000), "round_trip_us", (int)(4 * LINK_DELAY_NS / 1000),
                          "loss_fraction", (double)r->loss_ppm / 1e6, "buffer_bytes", (int)r->buffer_bytes,
                          "goodput_mbps", r->goodput_mbps, "link_fraction", r->fraction, "target_fraction",
                          r->target);
    if (o != NULL && r->jain >= 0)
        json_object_set_new(o, "jain_index", json_real(r->jain));
    if (o != NULL && r->share >= 0)
        json_object_set_new(o, "calm_job_fraction", json_real(r->share));
    return o;
}

static void print_row(const struct row *r, bool first)
{
    if (first)
        printf("%-10s %8s %9s %10s %9s %9s %7s\n", "case", "loss", "buffer_B", "mbps", "of link", "target",
               "");
    printf("%-10s %8.4f %9u %10.1f %9.3f %9.2f", r->name, r->loss_ppm / 1e6, r->buffer_bytes, r->goodput_mbps,
           r->fraction, r->target);
    if (r->jain >= 0)
        printf("  Jain %.3f", r->jain);
    if (r->share >= 0)
        printf("  calm job %.3f", r->share);
    putchar('\n');
}

static int report_rows(const struct row *rows, unsigned n, struct nof_bench_report *report)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < n; i++) {
        if (rows[i].problem != NULL) {
            nof_bench_skip(report, rows[i].name, rows[i].problem);
            continue;
        }
        if (!report->json)
            print_row(&rows[i], json_array_size(list) == 0);
        json_array_append_new(list, row_json(&rows[i]));
    }
    return nof_bench_end(report, json_pack("{s:o}", "rows", list)) ? 0 : 1;
}

struct arguments {
    bool json;
    uint64_t seed;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 's':
        if (nofd_units_number(arg, 0, UINT64_MAX, &a->seed) != 0)
            argp_error(state, "--seed=%s: it is a whole number of 64 bits", arg);
        break;
    default:
        return nof_bench_option(key, arg, state, &a->json);
    }
    return 0;
}

int nof_bench_path(int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"seed", 's', "N", 0, "seed of the losses (default 1)", 0},
        {0},
    };
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Goodput of a path under a virtual clock: 1 Gbit/s, 200 us round trip, with loss; eight "
               "senders to one "
               "receiver through a 64 KiB buffer; two jobs on one NIC, one of them flooding.",
    };
    struct arguments a = {.seed = 1};
    struct nof_bench_report report;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    nof_bench_begin(&report, argv[0], a.json);
    struct row rows[] = {
        {.name = "clean", .buffer_bytes = 262144, .jain = -1, .share = -1, .target = 0.90},
        {.name = "loss_0.1",
         .loss_ppm = 1000,
         .buffer_bytes = 262144,
         .jain = -1,
         .share = -1,
         .target = 0.90},
        {.name = "loss_1",
         .loss_ppm = 10000,
         .buffer_bytes = 262144,
         .jain = -1,
         .share = -1,
         .target = 0.70},
        {.name = "incast", .buffer_bytes = 65536, .jain = -1, .share = -1, .target = 0.85},
        {.name = "fairness", .buffer_bytes = 262144, .jain = -1, .share = -1, .target = 0.40},
    };
    for (unsigned i = 0; i < 3; i++)
        measure_loss(&rows[i], a.seed);
    measure_incast(&rows[3], a.seed);
    measure_fairness(&rows[4], a.seed);
    return report_rows(rows, sizeof(rows) / sizeof(rows[0]), &report);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench wire`: two hosts on a switched link, net_af_xdp on both, one nofd in each. Goodput of 1 MiB
 * messages against what dpdk-testpmd moves in frames of the same size, against what links of 1 Gbit/s and 100 Mbit/s can
 * carry, and against MPICH over TCP, all in one run. Then UDP ports beside MPICH, on the same link with its offloads on. */
#include "../tools/nof/commands.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/wire.h"
#include "lib/child.h"
#include "lib/option.h"
#include "lib/report.h"
#include "wire_peers.h"

#define MTU_BYTES 1500u
#define ETH_BYTES 14u
#define MESSAGE_BYTES (1 << 20)
#define LIMITED_RUNS 3u
#define NSIZES 4u
#define ROW_RUNS 3u
#define TABLE_RUNS (ROW_RUNS * NSIZES)
#define OUTER_IP_BYTES (NOF_WIRE_OUTER_BYTES - ETH_BYTES)

#define NUDP 6u

static const int sizes[NSIZES] = {65536, 262144, MESSAGE_BYTES, 4194304};
static const int udp_sizes[NUDP] = {8, 1024, 65536, 262144, MESSAGE_BYTES, 4194304};

struct options {
    bool json;
    bool keep_logs;
    double seconds;
};

static struct nof_wire_bench bench;

static const struct argp_option argp_options[] = {
    NOF_BENCH_JSON,
    {"seconds", 's', "S", 0, "time per figure (1)", 0},
    {"keep-logs", 'k', NULL, 0, "leave the logs of all programs in " NOF_WIRE_LOGS "*", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case 'k':
        o->keep_logs = true;
        return 0;
    case 's':
        o->seconds = nof_real_option(arg, 0.1, 60, "--seconds", state);
        return 0;
    default:
        return nof_bench_option(key, arg, state, &o->json);
    }
}

static double rounded(double value, double step)
{
    return isnan(value) ? value : (double)(long long)(value / step + 0.5) * step;
}

static void put(struct nof_bench_report *report, json_t *object, const char *key, int rc, double value,
                double step, const char *name, const char *why)
{
    json_object_set_new(object, key, nof_bench_number(rc == 0 ? rounded(value, step) : NAN));
    if (rc != 0)
        nof_bench_skip(report, name, why);
}

/* Rate x payload / (payload + all headers from Ethernet on). */
static double carryable_mbps(double rate_mbps)
{
    double payload = MTU_BYTES - OUTER_IP_BYTES - NOF_WIRE_COMMON_BYTES - NOF_WIRE_DATA_BYTES;

    return rate_mbps * payload / (MTU_BYTES + ETH_BYTES);
}

static void fill_sizes(int *bytes, unsigned n, int value)
{
    for (unsigned i = 0; i < n; i++)
        bytes[i] = value;
}

/* The sizes of the table, ROW_RUNS times. */
static void fill_table(int bytes[TABLE_RUNS])
{
    for (unsigned i = 0; i < TABLE_RUNS; i++)
        bytes[i] = sizes[i % NSIZES];
}

/* Goodput of 1 MiB messages: median of NOF_WIRE_RUNS, beside the runs of the table. */
static int measure_ours(double *goodput_out, double table[TABLE_RUNS], char *why)
{
    int bytes[NOF_WIRE_RUNS + TABLE_RUNS];
    double mbps[NOF_WIRE_RUNS + TABLE_RUNS];
    int rc;

    fill_sizes(bytes, NOF_WIRE_RUNS, MESSAGE_BYTES);
    fill_table(bytes + NOF_WIRE_RUNS);
    rc =
        nof_wire_ours(&bench, NOF_WIRE_XDP, bytes, NOF_WIRE_RUNS + TABLE_RUNS, mbps, why, NOF_WIRE_WHY_BYTES);
    if (rc != 0)
        return rc;
    memcpy(table, mbps + NOF_WIRE_RUNS, TABLE_RUNS * sizeof(*table));
    *goodput_out = nof_bench_median(mbps, NOF_WIRE_RUNS);
    return 0;
}

/* Links that tc limits, and ports that are told so: of an Ethernet that carries as many full frames, as a port reckons 1538 bytes for
 * one, and tc's tbf 1514. (tbf's own overhead counts once for a run of frames, so that a switch would be slower than who sends runs.) */
static const struct limited {
    const char *name, *port, *rate;
    double rate_mbps;
} limits[] = {
    {"net_af_xdp", NOF_WIRE_XDP ",rate=1015m", "1gbit", 1000},
    {"udp", "udp:eth0,rate=1015m", "1gbit", 1000},
    {"net_af_xdp", NOF_WIRE_XDP ",rate=101500k", "100mbit", 100},
    {"udp", "udp:eth0,rate=101500k", "100mbit", 100},
};

static void limited_name(char name[64], const struct limited *l)
{
    snprintf(name, 64, "limited.%s.%.0f", l->name, l->rate_mbps);
}

static json_t *measure_limit(struct nof_bench_report *report, const struct limited *l, const char *missing)
{
    json_t *row = json_object();
    int bytes[LIMITED_RUNS];
    double mbps[LIMITED_RUNS], goodput = 0, carryable = carryable_mbps(l->rate_mbps);
    char name[64], why[NOF_WIRE_WHY_BYTES] = "";
    int rc = missing ? -1 : nof_lab_limit(&bench.lab, l->rate, "60kb", NOF_LAB_BURST);

    fill_sizes(bytes, LIMITED_RUNS, MESSAGE_BYTES);
    limited_name(name, l);
    if (missing)
        snprintf(why, sizeof(why), "%s", missing);
    else if (rc != 0)
        snprintf(why, sizeof(why), "tc cannot limit the links: this kernel may lack tbf");
    else
        rc = nof_wire_ours(&bench, l->port, bytes, LIMITED_RUNS, mbps, why, sizeof(why));
    if (rc == 0)
        goodput = nof_bench_median(mbps, LIMITED_RUNS);
    json_object_set_new(row, "port", json_string(l->name));
    json_object_set_new(row, "rate_mbps", json_integer((json_int_t)l->rate_mbps));
    json_object_set_new(row, "carryable_mbps", json_real(rounded(carryable, 0.1)));
    put(report, row, "goodput_mbps", rc, goodput, 0.1, name, why);
    put(report, row, "fraction", rc, goodput / carryable, 0.001, name, why);
    return row;
}

static void measure_limited(struct nof_bench_report *report, json_t *root, const char *missing)
{
    json_t *rows = json_array();

    for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        json_array_append_new(rows, measure_limit(report, &limits[i], missing));
    json_object_set_new(root, "limited", rows);
}

/* Of one size, out of the runs of the table. */
static void runs_of(double out[ROW_RUNS], const double table[TABLE_RUNS], unsigned size)
{
    for (unsigned i = 0; i < ROW_RUNS; i++)
        out[i] = table[i * NSIZES + size];
}

static void mpich_name(char name[64], int bytes)
{
    snprintf(name, 64, "mpich.%d.mpich_mbps", bytes);
}

static json_t *table(struct nof_bench_report *report, int ours_rc, const double *ours, const char *ours_why,
                     int mpich_rc, const double *mpich, const char *mpich_why)
{
    json_t *rows = json_array();

    for (unsigned i = 0; i < NSIZES; i++) {
        json_t *row = json_object();
        double our_runs[ROW_RUNS], mpich_runs[ROW_RUNS];
        char name[64];

        runs_of(our_runs, ours, i);
        runs_of(mpich_runs, mpich, i);
        mpich_name(name, sizes[i]);
        nof_bench_compared(report, name, mpich_runs, mpich_rc == 0 ? ROW_RUNS : 0, NAN);
        json_object_set_new(row, "bytes", json_integer(sizes[i]));
        put(report, row, "mbps", ours_rc, nof_bench_median(our_runs, ROW_RUNS), 0.1, "mpich.mbps", ours_why);
        put(report, row, "mpich_mbps", mpich_rc, nof_bench_median(mpich_runs, ROW_RUNS), 0.1,
            "mpich.mpich_mbps", mpich_why);
        json_array_append_new(rows, row);
    }
    return rows;
}

/* Medians of one size over the runs, and those runs of MPICH's for whether they prove anything. */
static void put_pair(struct nof_bench_report *report, json_t *row, const char *prefix, int rc,
                     const struct nof_wire_pair *runs, unsigned size, bool compared, const char *why)
{
    double mbps[NOF_WIRE_UDP_RUNS], latency[NOF_WIRE_UDP_RUNS];
    char key[2][32], name[2][64];

    for (unsigned r = 0; r < NOF_WIRE_UDP_RUNS; r++) {
        mbps[r] = runs[r * NUDP + size].mbps;
        latency[r] = runs[r * NUDP + size].latency_us;
    }
    snprintf(key[0], sizeof(key[0]), "%smbps", prefix);
    snprintf(key[1], sizeof(key[1]), "%slatency_us", prefix);
    for (unsigned i = 0; i < 2; i++) {
        double *of = i == 0 ? mbps : latency;

        snprintf(name[i], sizeof(name[i]), "udp.%d.%s", udp_sizes[size], key[i]);
        if (compared)
            nof_bench_compared(report, name[i], of, rc == 0 ? NOF_WIRE_UDP_RUNS : 0, NAN);
        put(report, row, key[i], rc, nof_bench_median(of, NOF_WIRE_UDP_RUNS), i == 0 ? 0.1 : 0.01, name[i],
            why);
    }
}

static void measure_udp(struct nof_bench_report *report, json_t *root, const char *missing)
{
    struct nof_wire_pair ours[NOF_WIRE_UDP_RUNS * NUDP] = {0}, mpich[NOF_WIRE_UDP_RUNS * NUDP] = {0};
    char ours_why[NOF_WIRE_WHY_BYTES] = "", mpich_why[NOF_WIRE_WHY_BYTES] = "";
    double calls[NUDP] = {0};
    int ours_rc = -1, mpich_rc = -1;
    json_t *rows = json_array();

    if (missing) {
        snprintf(ours_why, sizeof(ours_why), "%s", missing);
        snprintf(mpich_why, sizeof(mpich_why), "%s", missing);
    } else {
        (void)nof_lab_limit(&bench.lab, NULL, NULL, NULL);
        nof_lab_offloads(&bench.lab, 1);
        nof_wire_udp(&bench, udp_sizes, NUDP, ours, calls, &ours_rc, ours_why, mpich, &mpich_rc, mpich_why);
    }
    for (unsigned i = 0; i < NUDP; i++) {
        json_t *row = json_object();

        json_object_set_new(row, "bytes", json_integer(udp_sizes[i]));
        put_pair(report, row, "", ours_rc, ours, i, false, ours_why);
        put_pair(report, row, "mpich_", mpich_rc, mpich, i, true, mpich_why);
        put(report, row, "calls_per_message", isnan(calls[i]) ? -1 : ours_rc, calls[i], 0.01,
            "udp.calls_per_message", ours_why);
        json_array_append_new(rows, row);
    }
    json_object_set_new(root, "udp", rows);
}

static json_t *measure(struct nof_bench_report *report, const char *missing)
{
    json_t *root = json_object();
    char pmd_why[NOF_WIRE_WHY_BYTES] = "", ours_why[NOF_WIRE_WHY_BYTES] = "",
         mpich_why[NOF_WIRE_WHY_BYTES] = "";
    double pmd_runs[NOF_WIRE_RUNS] = {0}, ours[TABLE_RUNS] = {0}, mpich[TABLE_RUNS] = {0}, pmd, fraction,
           goodput = 0;
    int bytes[TABLE_RUNS], pmd_rc = -1, ours_rc = -1, mpich_rc = -1;

    if (missing) {
        snprintf(pmd_why, sizeof(pmd_why), "%s", missing);
        snprintf(ours_why, sizeof(ours_why), "%s", missing);
        snprintf(mpich_why, sizeof(mpich_why), "%s", missing);
    } else {
        nof_bench_progress("dpdk-testpmd, txonly to rxonly...");
        pmd_rc = nof_wire_testpmd(&bench, pmd_runs, pmd_why, sizeof(pmd_why));
        nof_bench_progress("nof...");
        ours_rc = measure_ours(&goodput, ours, ours_why);
        nof_bench_progress("MPICH over TCP...");
        fill_table(bytes);
        mpich_rc = nof_wire_mpich(&bench, bytes, TABLE_RUNS, mpich, mpich_why, sizeof(mpich_why));
        nof_bench_progress("nof with limited links...");
    }
    pmd = nof_bench_median(pmd_runs, NOF_WIRE_RUNS);
    fraction = pmd_rc == 0 && ours_rc == 0 && pmd > 0 ? goodput / pmd : NAN;
    nof_bench_compared(report, "testpmd_rx_mbps", pmd_runs, pmd_rc == 0 ? NOF_WIRE_RUNS : 0, fraction);
    json_object_set_new(root, "mtu", json_integer(MTU_BYTES));
    json_object_set_new(root, "frame_bytes", json_integer(MTU_BYTES + ETH_BYTES));
    put(report, root, "testpmd_rx_mbps", pmd_rc, pmd, 0.1, "testpmd_rx_mbps", pmd_why);
    put(report, root, "goodput_mbps", ours_rc, goodput, 0.1, "goodput_mbps", ours_why);
    put(report, root, "fraction", pmd_rc | ours_rc, fraction, 0.001, "fraction", pmd_rc ? pmd_why : ours_why);
    measure_limited(report, root, missing);
    json_object_set_new(root, "mpich", table(report, ours_rc, ours, ours_why, mpich_rc, mpich, mpich_why));
    measure_udp(report, root, missing);
    return root;
}

static void print_table(const struct nof_bench_report *report, const json_t *root)
{
    const json_t *rows = json_object_get(root, "mpich");
    json_t *row;
    size_t i;

    printf("MTU %u, frames of %u bytes, net_af_xdp on both sides\n", MTU_BYTES, MTU_BYTES + ETH_BYTES);
    printf("dpdk-testpmd moves   %9s Mbit/s (frames)\n",
           nof_bench_cell(report, "testpmd_rx_mbps", nof_bench_real(root, "testpmd_rx_mbps"), 1).text);
    printf("nof, 1 MiB messages  %9s Mbit/s (payload): %s of it\n",
           nof_bench_cell(report, NULL, nof_bench_real(root, "goodput_mbps"), 1).text,
           nof_bench_cell(report, NULL, nof_bench_real(root, "fraction"), 3).text);
    json_array_foreach(json_object_get(root, "limited"), i, row)
    {
        printf("links at %4.0f Mbit/s %9s Mbit/s of %.1f that fit, %s: %s\n", limits[i].rate_mbps,
               nof_bench_cell(report, NULL, nof_bench_real(row, "goodput_mbps"), 1).text,
               nof_bench_real(row, "carryable_mbps"), limits[i].name,
               nof_bench_cell(report, NULL, nof_bench_real(row, "fraction"), 3).text);
    }
    printf("%10s %12s %12s\n", "bytes", "nof Mbit/s", "MPICH TCP");
    json_array_foreach(rows, i, row)
    {
        char name[64];

        mpich_name(name, sizes[i]);
        printf("%10d %12s %12s\n", sizes[i],
               nof_bench_cell(report, NULL, nof_bench_real(row, "mbps"), 1).text,
               nof_bench_cell(report, name, nof_bench_real(row, "mpich_mbps"), 1).text);
    }
}

static void print_udp(const struct nof_bench_report *report, const json_t *root)
{
    json_t *row;
    size_t i;

    printf("UDP ports on both sides, offloads on\n%10s %12s %12s %12s %12s %12s\n", "bytes", "nof Mbit/s",
           "MPICH TCP", "nof us", "MPICH us", "calls");
    json_array_foreach(json_object_get(root, "udp"), i, row)
    {
        char mbps[64], latency[64];

        snprintf(mbps, sizeof(mbps), "udp.%d.mpich_mbps", udp_sizes[i]);
        snprintf(latency, sizeof(latency), "udp.%d.mpich_latency_us", udp_sizes[i]);
        printf("%10d %12s %12s %12s %12s %12s\n", udp_sizes[i],
               nof_bench_cell(report, NULL, nof_bench_real(row, "mbps"), 1).text,
               nof_bench_cell(report, mbps, nof_bench_real(row, "mpich_mbps"), 1).text,
               nof_bench_cell(report, NULL, nof_bench_real(row, "latency_us"), 2).text,
               nof_bench_cell(report, latency, nof_bench_real(row, "mpich_latency_us"), 2).text,
               nof_bench_cell(report, NULL, nof_bench_real(row, "calls_per_message"), 2).text);
    }
}

static const char *prepare(const struct options *o)
{
    bench.mtu_bytes = MTU_BYTES;
    bench.seconds = o->seconds;
    bench.keep_logs = o->keep_logs;
    return nof_wire_begin(&bench, NULL);
}

int nof_bench_wire(int argc, char **argv)
{
    static const char doc[] =
        "Two hosts (network namespaces) on a switched link, net_af_xdp on both, one nofd in each: goodput of "
        "1 MiB messages beside dpdk-testpmd's received frames and beside MPICH over TCP; that and UDP "
        "ports at limited links; then UDP ports beside MPICH with the link's offloads on. Needs root.";
    const struct argp argp = {argp_options, parse, NULL, doc, NULL, NULL, NULL};
    struct options o = {.seconds = 1};
    struct nof_bench_report report;
    const char *missing;
    json_t *root;
    bool all;

    argp_parse(&argp, argc, argv, 0, NULL, &o);
    nof_bench_begin(&report, argv[0], o.json);
    missing = prepare(&o);
    root = measure(&report, missing);
    if (!o.json && missing == NULL) {
        print_table(&report, root);
        print_udp(&report, root);
    }
    all = nof_bench_end(&report, root);
    nof_wire_end();
    return all ? 0 : 1;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench wire`: two hosts on a switched link, net_af_xdp on both, one nofd in each. Goodput of 1 MiB
 * messages against what dpdk-testpmd moves in frames of the same size, against what a link of 1 Gbit/s can
 * carry, and against MPICH over TCP, all in one run. */
#include "../tools/nof/commands.h"

#include <argp.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../firmware/transport/wire.h"
#include "child.h"
#include "option.h"
#include "wire_peers.h"

#define MTU_BYTES 1500u
#define ETH_BYTES 14u
#define MESSAGE_BYTES (1 << 20)
#define LIMIT_MBPS 1000.0
#define NSIZES 4u
#define OUTER_IP_BYTES (NOF_WIRE_OUTER_BYTES - ETH_BYTES)

static const int sizes[NSIZES] = {65536, 262144, MESSAGE_BYTES, 4194304};

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
        o->seconds = atof(arg);
        if (!(o->seconds >= 0.1 && o->seconds <= 60))
            argp_error(state, "--seconds=%s: it is a time from 0.1 to 60", arg);
        return 0;
    default:
        return nof_bench_option(key, arg, state, &o->json);
    }
}

static double rounded(double value, double step)
{
    return (double)(long long)(value / step + 0.5) * step;
}

static void put(json_t *object, const char *key, int rc, double value, double step, json_t *skipped,
                const char *skip_key, const char *why)
{
    if (rc == 0) {
        json_object_set_new(object, key, json_real(rounded(value, step)));
    } else {
        json_object_set_new(object, key, json_null());
        json_object_set_new(skipped, skip_key, json_string(why));
    }
}

/* Rate x payload / (payload + all headers from Ethernet on). */
static double carryable_mbps(void)
{
    double payload = MTU_BYTES - OUTER_IP_BYTES - NOF_WIRE_COMMON_BYTES - NOF_WIRE_DATA_BYTES;

    return LIMIT_MBPS * payload / (MTU_BYTES + ETH_BYTES);
}

static void progress(const struct options *o, const char *text)
{
    if (!o->json)
        fprintf(stderr, "%s...\n", text);
}

static void fill_sizes(int *bytes, unsigned n, int value)
{
    for (unsigned i = 0; i < n; i++)
        bytes[i] = value;
}

/* Goodput of 1 MiB messages: median of NOF_WIRE_RUNS, beside one figure per size of the table. */
static int measure_ours(double *goodput_out, double rows[NSIZES], char *why)
{
    int bytes[NOF_WIRE_RUNS + NSIZES];
    double mbps[NOF_WIRE_RUNS + NSIZES];
    int rc;

    fill_sizes(bytes, NOF_WIRE_RUNS, MESSAGE_BYTES);
    memcpy(bytes + NOF_WIRE_RUNS, sizes, sizeof(sizes));
    rc = nof_wire_ours(&bench, "", bytes, NOF_WIRE_RUNS + NSIZES, mbps, why, NOF_WIRE_WHY_BYTES);
    if (rc != 0)
        return rc;
    memcpy(rows, mbps + NOF_WIRE_RUNS, NSIZES * sizeof(*rows));
    *goodput_out = nof_wire_median(mbps, NOF_WIRE_RUNS);
    return 0;
}

static void measure_limited(json_t *root, json_t *skipped, const char *missing, char *why)
{
    json_t *limited = json_object();
    int bytes[NOF_WIRE_RUNS];
    double mbps[NOF_WIRE_RUNS], goodput = 0;
    int rc = missing ? -1 : nof_lab_limit(&bench.lab, "1gbit", "60kb");

    fill_sizes(bytes, NOF_WIRE_RUNS, MESSAGE_BYTES);
    if (missing)
        snprintf(why, NOF_WIRE_WHY_BYTES, "%s", missing);
    else if (rc != 0)
        snprintf(why, NOF_WIRE_WHY_BYTES, "tc cannot limit the links: this kernel may lack tbf");
    else
        rc = nof_wire_ours(&bench, "rate=1g", bytes, NOF_WIRE_RUNS, mbps, why, NOF_WIRE_WHY_BYTES);
    if (rc == 0)
        goodput = nof_wire_median(mbps, NOF_WIRE_RUNS);
    json_object_set_new(limited, "rate_mbps", json_integer((json_int_t)LIMIT_MBPS));
    json_object_set_new(limited, "carryable_mbps", json_real(rounded(carryable_mbps(), 0.1)));
    put(limited, "goodput_mbps", rc, goodput, 0.1, skipped, "limited.goodput_mbps", why);
    put(limited, "fraction", rc, goodput / carryable_mbps(), 0.001, skipped, "limited.fraction", why);
    json_object_set_new(root, "limited", limited);
}

static json_t *table(int ours_rc, const double *ours, const char *ours_why, int mpich_rc, const double *mpich,
                     const char *mpich_why, json_t *skipped)
{
    json_t *rows = json_array();

    for (unsigned i = 0; i < NSIZES; i++) {
        json_t *row = json_object();

        json_object_set_new(row, "bytes", json_integer(sizes[i]));
        put(row, "mbps", ours_rc, ours[i], 0.1, skipped, "mpich.mbps", ours_why);
        put(row, "mpich_mbps", mpich_rc, mpich[i], 0.1, skipped, "mpich.mpich_mbps", mpich_why);
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *measure(const struct options *o, const char *missing)
{
    json_t *root = json_object(), *skipped = json_object();
    char pmd_why[NOF_WIRE_WHY_BYTES] = "", ours_why[NOF_WIRE_WHY_BYTES] = "",
         mpich_why[NOF_WIRE_WHY_BYTES] = "";
    char limited_why[NOF_WIRE_WHY_BYTES] = "";
    double pmd = 0, goodput = 0, ours[NSIZES] = {0}, mpich[NSIZES] = {0};
    int pmd_rc = -1, ours_rc = -1, mpich_rc = -1;

    if (missing) {
        snprintf(pmd_why, sizeof(pmd_why), "%s", missing);
        snprintf(ours_why, sizeof(ours_why), "%s", missing);
        snprintf(mpich_why, sizeof(mpich_why), "%s", missing);
    } else {
        progress(o, "dpdk-testpmd, txonly to rxonly");
        pmd_rc = nof_wire_testpmd(&bench, &pmd, pmd_why, sizeof(pmd_why));
        progress(o, "nof");
        ours_rc = measure_ours(&goodput, ours, ours_why);
        progress(o, "MPICH over TCP");
        mpich_rc = nof_wire_mpich(&bench, sizes, NSIZES, mpich, mpich_why, sizeof(mpich_why));
    }
    json_object_set_new(root, "mtu", json_integer(MTU_BYTES));
    json_object_set_new(root, "frame_bytes", json_integer(MTU_BYTES + ETH_BYTES));
    put(root, "testpmd_rx_mbps", pmd_rc, pmd, 0.1, skipped, "testpmd_rx_mbps", pmd_why);
    put(root, "goodput_mbps", ours_rc, goodput, 0.1, skipped, "goodput_mbps", ours_why);
    put(root, "fraction", pmd_rc | ours_rc, pmd > 0 ? goodput / pmd : 0, 0.001, skipped, "fraction",
        pmd_rc ? pmd_why : ours_why);
    progress(o, "nof with the links at 1 Gbit/s");
    measure_limited(root, skipped, missing, limited_why);
    json_object_set_new(root, "mpich", table(ours_rc, ours, ours_why, mpich_rc, mpich, mpich_why, skipped));
    if (json_object_size(skipped) > 0)
        json_object_set_new(root, "skipped", skipped);
    else
        json_decref(skipped);
    return root;
}

static double real(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void print_table(json_t *root)
{
    const json_t *limited = json_object_get(root, "limited"), *rows = json_object_get(root, "mpich");
    json_t *skipped = json_object_get(root, "skipped"), *row, *why;
    const char *key;
    size_t i;

    printf("MTU %u, frames of %u bytes, net_af_xdp on both sides\n", MTU_BYTES, MTU_BYTES + ETH_BYTES);
    printf("dpdk-testpmd moves   %9.1f Mbit/s (frames)\n", real(root, "testpmd_rx_mbps"));
    printf("nof, 1 MiB messages  %9.1f Mbit/s (payload): %.3f of it\n", real(root, "goodput_mbps"),
           real(root, "fraction"));
    printf("links at 1 Gbit/s    %9.1f Mbit/s of %.1f that fit: %.3f\n", real(limited, "goodput_mbps"),
           real(limited, "carryable_mbps"), real(limited, "fraction"));
    printf("%10s %12s %12s\n", "bytes", "nof Mbit/s", "MPICH TCP");
    json_array_foreach(rows, i, row)
        printf("%10lld %12.1f %12.1f\n", (long long)json_integer_value(json_object_get(row, "bytes")),
               real(row, "mbps"), real(row, "mpich_mbps"));
    json_object_foreach(skipped, key, why) printf("not measured: %s: %s\n", key, json_string_value(why));
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
        "1 MiB messages beside dpdk-testpmd's received frames, at a limited link, and beside MPICH over TCP. "
        "Needs root.";
    const struct argp argp = {argp_options, parse, NULL, doc, NULL, NULL, NULL};
    struct options o = {.seconds = 1};
    json_t *root;
    bool all;

    argp_parse(&argp, argc, argv, 0, NULL, &o);
    root = measure(&o, prepare(&o));
    all = json_object_get(root, "skipped") == NULL;
    if (o.json) {
        json_dumpf(root, stdout, JSON_REAL_PRECISION(7) | JSON_COMPACT);
        printf("\n");
    } else {
        print_table(root);
    }
    json_decref(root);
    nof_wire_end();
    return all ? 0 : 1;
}

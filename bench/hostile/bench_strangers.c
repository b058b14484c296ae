/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench strangers`: a stream of 1 MiB messages between two hosts on net_af_xdp, while a third host sends frames of unknown
 * connections, once to one of the two, whose XDP program drops them, and once to a fourth host whose program drops
 * everything; in turn, and undisturbed between. */
#include "../tools/nof/commands.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hostile_lab.h"
#include "lib/child.h"
#include "lib/option.h"
#include "lib/report.h"
#include "wire_peers.h"

#define MTU_BYTES 1500u
#define MESSAGE_BYTES (1 << 20)
#define ROUNDS 7u
#define STREAMS 2u /* of a round and a case */
#define KPPS 500
#define TARGET 1u
#define BARE 3u

/* Who gets the strangers' frames. */
enum aim { NOBODY, PROGRAM, BARE_DROP, AIMS };

static const char *const aim_keys[AIMS] = {"undisturbed_mbps", "mbps", "bare_drop_mbps"};

struct options {
    bool json, keep_logs;
    double seconds, kpps;
};

struct results {
    double mbps[AIMS][ROUNDS], sent_kpps[AIMS][ROUNDS], fraction[ROUNDS];
    double dropped; /* counted by the program */
};

static struct nof_wire_bench bench;

static const struct argp_option argp_options[] = {
    NOF_BENCH_JSON,
    {"seconds", 's', "S", 0, "time per figure (1)", 0},
    {"kpps", 'r', "N", 0, "thousands of frames a second that are sent (500)", 0},
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
    case 'r':
        o->kpps = nof_real_option(arg, 0.1, 2000, "--kpps", state);
        return 0;
    default:
        return nof_bench_option(key, arg, state, &o->json);
    }
}

static int one(struct nof_hostile_net *net, enum aim aim, double *mbps_out, double *kpps_out, char *why)
{
    const struct nof_hostile h = {
        .kind = NOF_HOSTILE_SENDER, .what = "version", .at = aim == PROGRAM ? TARGET : BARE};
    int bytes[STREAMS], rc = 0;
    double mbps[STREAMS];

    for (unsigned i = 0; i < STREAMS; i++)
        bytes[i] = MESSAGE_BYTES;
    if (aim != NOBODY)
        rc = nof_hostile_begin(net, &h, why);
    if (rc == 0)
        rc = nof_wire_stream(&bench, bytes, STREAMS, mbps, why, NOF_WIRE_WHY_BYTES);
    if (aim != NOBODY)
        nof_hostile_end(net, &h);
    if (rc == 0)
        *mbps_out = nof_bench_median(mbps, STREAMS);
    *kpps_out = net->sent_kpps;
    return rc;
}

static int all_rounds(struct nof_hostile_net *net, struct results *r, char *why)
{
    double before = nof_wire_counter(&bench, TARGET, "xdp.drop_conn");
    int rc = 0;

    for (unsigned i = 0; i < ROUNDS && rc == 0; i++) {
        nof_bench_progress("round %u of %u...", i + 1, ROUNDS);
        for (unsigned k = 0; k < AIMS && rc == 0; k++) {
            /* Who comes first gains nothing by it. */
            enum aim aim = (enum aim)((i + k) % AIMS);

            rc = one(net, aim, &r->mbps[aim][i], &r->sent_kpps[aim][i], why);
        }
        r->fraction[i] = r->mbps[PROGRAM][i] / r->mbps[BARE_DROP][i];
    }
    r->dropped = nof_wire_counter(&bench, TARGET, "xdp.drop_conn") - before;
    return rc;
}

/* A program that drops everything drops ARP too: the stranger and the switch are told where that host is. */
static int set_up_bare(char *why)
{
    const struct nof_lab *lab = &bench.lab;
    const char *mac = "02:00:00:00:00:fe";

    if (nof_run("ip -n %s link set eth0 address %s", lab->host[BARE], mac) != 0 ||
        nof_run("ip -n %s neigh replace 10.9.0.%u lladdr %s dev eth0", lab->host[BARE - 1], BARE + 1, mac) !=
            0 ||
        nof_run("ip netns exec %s bridge fdb replace %s dev p%u master static", lab->sw, mac, BARE) != 0 ||
        nof_run("ip netns exec %s %s/bench/xdp_drop eth0", lab->host[BARE], bench.bin_dir) != 0) {
        snprintf(
            why, NOF_WIRE_WHY_BYTES,
            "this kernel takes no XDP program, or bench/xdp_drop is not beside nof; run: ninja -C BUILD");
        return -1;
    }
    return 0;
}

static int measure(struct nof_hostile_net *net, struct results *r, char *why)
{
    struct nof_child nofd[2] = {{.in_fd = -1, .out_fd = -1}, {.in_fd = -1, .out_fd = -1}};
    int rc = set_up_bare(why);

    for (unsigned side = 0; side < 2 && rc == 0; side++)
        rc = nof_wire_start_nofd(&bench, side, "net_af_xdp,iface=eth0", "compression=off", NULL, &nofd[side],
                                 why, NOF_WIRE_WHY_BYTES);
    if (rc == 0)
        rc = all_rounds(net, r, why);
    for (unsigned side = 0; side < 2; side++)
        nof_child_end(&nofd[side], 5000);
    return rc;
}

static void put(struct nof_bench_report *report, json_t *root, const char *key, int rc, double value,
                double step, const char *why)
{
    json_object_set_new(root, key,
                        nof_bench_number(rc == 0 ? (double)(long long)(value / step + 0.5) * step : NAN));
    if (rc != 0)
        nof_bench_skip(report, key, why);
}

static json_t *report_of(struct nof_bench_report *report, const struct options *o, struct results *r, int rc,
                         const char *why)
{
    json_t *root = json_object();

    json_object_set_new(root, "asked_kpps", json_real(o->kpps));
    put(report, root, "kpps", rc, nof_bench_median(r->sent_kpps[PROGRAM], ROUNDS), 0.1, why);
    put(report, root, "bare_drop_kpps", rc, nof_bench_median(r->sent_kpps[BARE_DROP], ROUNDS), 0.1, why);
    put(report, root, "dropped_frames", rc, r->dropped, 1, why);
    for (unsigned aim = 0; aim < AIMS; aim++)
        put(report, root, aim_keys[aim], rc, nof_bench_median(r->mbps[aim], ROUNDS), 0.1, why);
    put(report, root, "fraction", rc, nof_bench_median(r->fraction, ROUNDS), 0.001, why);
    return root;
}

static void print(const json_t *root)
{
    printf("1 MiB messages, net_af_xdp on both sides; medians of %u rounds in turn\n", ROUNDS);
    printf("undisturbed                        %9.1f Mbit/s\n", nof_bench_real(root, "undisturbed_mbps"));
    printf("strangers dropped by nof's program %9.1f Mbit/s, %.0f frames/s, %.0f dropped in all\n",
           nof_bench_real(root, "mbps"), nof_bench_real(root, "kpps") * 1e3,
           nof_bench_real(root, "dropped_frames"));
    printf("the same to a bare XDP_DROP        %9.1f Mbit/s, %.0f frames/s\n",
           nof_bench_real(root, "bare_drop_mbps"), nof_bench_real(root, "bare_drop_kpps") * 1e3);
    printf("fraction                           %9.3f\n", nof_bench_real(root, "fraction"));
}

int nof_bench_strangers(int argc, char **argv)
{
    static const char doc[] =
        "A stream between two hosts (network namespaces) on net_af_xdp beside frames of strangers that its "
        "XDP program drops, "
        "against the same frames and a program that drops everything on another host. Needs root.";
    const struct argp argp = {argp_options, parse, NULL, doc, NULL, NULL, NULL};
    struct options o = {.seconds = 1, .kpps = KPPS};
    struct nof_hostile_net net = {.bench = &bench};
    static struct results results;
    struct nof_bench_report report;
    char why[NOF_WIRE_WHY_BYTES] = "";
    const char *missing;
    json_t *root;
    bool all;
    int rc = -1;

    argp_parse(&argp, argc, argv, 0, NULL, &o);
    nof_bench_begin(&report, argv[0], o.json);
    net.kpps = o.kpps;
    bench.nhosts = BARE + 1;
    bench.mtu_bytes = MTU_BYTES;
    bench.seconds = o.seconds;
    bench.keep_logs = o.keep_logs;
    missing = nof_wire_begin(&bench, NULL);
    if (missing != NULL)
        snprintf(why, sizeof(why), "%s", missing);
    else
        rc = measure(&net, &results, why);
    root = report_of(&report, &o, &results, rc, why);
    if (!o.json && rc == 0)
        print(root);
    all = nof_bench_end(&report, root);
    nof_wire_end();
    return all ? 0 : 1;
}
